"""Random access, search, and rows as conversations."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.datasets import CheckCanceled, ToolCall, conversation, open_rows
from agentic_rl_tui.core.datasets.blocks import BLOCK, MAX_LINE
from agentic_rl_tui.core.datasets.rows import RowIndex, RowUnreadable
from agentic_rl_tui.core.models.errors import InputError


def line(number: int) -> str:
    return json.dumps({"messages": [{"role": "user", "content": "x" * (number % 700)}], "id": number})


@pytest.fixture
def many(tmp_path: Path) -> Iterator[RowIndex]:
    """3,000 rows over several blocks, a blank line after every hundredth."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(line(number) + ("\n\n" if number % 100 == 99 else "\n") for number in range(3000)))
    assert path.stat().st_size > 4 * BLOCK
    with open_rows(path) as index:
        yield index


def test_rows_are_reached_in_any_order(many: RowIndex) -> None:
    assert (len(many), many.lines) == (3000, 3030)
    for number in (0, 2999, 1500, 99, 100, 2000, 1):
        assert many[number]["id"] == number
        assert many.raw(number) == line(number).encode()
        assert many.line_number(number) == number + 1 + number // 100
        assert many.row_at_line(many.line_number(number)) == number
    assert many[-1]["id"] == 2999
    assert many.row_at_line(101) is None
    assert many.row_at_line(0) is None
    assert many.row_at_line(3031) is None
    for number in (3000, -3001):
        with pytest.raises(IndexError):
            many[number]


def test_bad_rows_are_named_and_their_bytes_are_there(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n\n[1]\nno\n" + b'{"a": "' + b"x" * MAX_LINE + b'"}')
    with open_rows(path) as index:
        assert len(index) == 4
        assert index[0] == {}
        assert index.raw(0) == b"{}"
        with pytest.raises(RowUnreadable, match=r"bad.jsonl:3 is no JSON object"):
            index[1]
        with pytest.raises(RowUnreadable, match=r"bad.jsonl:4 is no JSON"):
            index[2]
        assert index.raw(2) == b"no"
        assert len(index[3]["a"]) == MAX_LINE
        assert not index.is_stale()
        path.write_bytes(b"{}\n")
        assert index.is_stale()
        path.unlink()
        assert index.is_stale()


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_rows(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="is a directory"):
        open_rows(tmp_path)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with open_rows(empty) as index:
        assert len(index) == 0
        assert list(index.search("x")) == []


def test_opening_reports_progress_and_can_be_canceled(many: RowIndex) -> None:
    seen: list[tuple[int, int]] = []
    size = many.path.stat().st_size
    open_rows(many.path, progress=lambda done, total: seen.append((done, total))).close()
    assert seen[-1] == (size, size)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CheckCanceled):
        open_rows(many.path, cancel=cancel)


def test_search_finds_rows_in_order_from_a_start(many: RowIndex) -> None:
    found = [hit.row for hit in many.search('"id": 29')]
    assert found == [29, *range(290, 300), *range(2900, 3000)]
    assert [hit.row for hit in many.search('"id": 29', start=295)] == [*range(295, 300), *range(2900, 3000)]
    (hit,) = many.search('"id": 2017}')
    assert (hit.line, hit.match, hit.after) == (2017 + 1 + 20, '"id": 2017}', "")
    assert hit.col == line(2017).index('"id": 2017') + 1
    assert hit.before.endswith("], ")
    assert list(many.search("")) == []
    assert list(many.search("x", start=5000)) == []


def test_search_by_expression(many: RowIndex) -> None:
    assert [hit.row for hit in many.search(r'"id": 1[05]00}$', regex=True)] == [1000, 1500]
    assert [hit.row for hit in many.search(r'"ID": 77}', regex=True, ignore_case=True)] == [77]
    assert [hit.row for hit in many.search(r'^\{(?=.*"id": 7}$)', regex=True)] == [7]
    assert [hit.row for hit in many.search(r"x++\"}\], \"id\": 12}\Z", regex=True)] == [12]
    assert list(many.search("nowhere.*", regex=True)) == []
    with pytest.raises(InputError, match="no regular expression"):
        many.search("(", regex=True)


def test_search_stops_when_canceled(many: RowIndex) -> None:
    cancel = threading.Event()
    hits = many.search('"id"', cancel=cancel)
    assert next(hits).row == 0
    cancel.set()
    assert sum(1 for _ in hits) < 2999


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    ("text", "ignore_case"),
    [
        ("奖励", False),
        ('say "hi"', False),
        ("a\nb", False),
        ("ÉTÉ", True),
        ("SAY", True),
        ("奖励: été", True),
        ("😀", False),
    ],
)
def test_text_is_found_however_it_is_written(tmp_path: Path, ascii_only: bool, text: str, ignore_case: bool) -> None:
    path = tmp_path / "data.jsonl"
    row = {"messages": [{"role": "user", "content": '奖励: été say "hi" a\nb 😀'}]}
    path.write_text(json.dumps({}) + "\n" + json.dumps(row, ensure_ascii=ascii_only) + "\n", encoding="utf-8")
    with open_rows(path) as index:
        assert [hit.row for hit in index.search(text, ignore_case=ignore_case)] == [1]
        assert list(index.search(text + "!", ignore_case=ignore_case)) == []


def test_upper_case_escapes_are_found(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"a": "\\u5956\\u52B1"}\n')
    with open_rows(path) as index:
        assert [hit.row for hit in index.search("奖励", ignore_case=True)] == [0]
    path.write_text('{"a": "\\u5956\\u52B1\\u7B54"}\n'.replace("52B1", "52B1"))
    with open_rows(path) as index:
        assert [hit.row for hit in index.search("励答")] == [0]


def test_a_row_reads_as_a_conversation() -> None:
    arguments = '{"city": "Paris"}'
    shown = conversation(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}]},
                {
                    "role": "assistant",
                    "content": None,
                    "reasoning_content": "hm",
                    "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": arguments}}],
                },
                {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "sunny", "score": 1},
            ],
            "tools": [{"type": "function", "function": {"name": "weather"}}],
            "rollout_extra": {"solution": 7, "level": 2},
            "source": "web",
        }
    )
    system, user, assistant, tool = shown.turns
    assert (system.role, system.text, system.chars, system.tokens) == ("system", "Be brief.", 9, 7)
    assert user.text == "Look\n[image_url]"
    assert assistant.tool_calls == (ToolCall("weather", '{\n  "city": "Paris"\n}', "c1"),)
    assert (assistant.text, assistant.reasoning) == ("", "hm")
    assert (tool.name, tool.tool_call_id, tool.extra) == ("weather", "c1", (("score", "1"),))
    assert (shown.solution, shown.extra, shown.other_keys) == ("7", (("level", "2"),), (("source", "web"),))
    assert shown.tool_names == ("weather",)
    assert shown.chars == sum(turn.chars for turn in shown.turns)


@pytest.mark.parametrize(
    "row",
    [None, 3, [], {"messages": "hi"}, {"messages": [1, {"role": 2}, {"content": {"a": 1}}], "rollout_extra": [1]}],
)
def test_rows_of_any_shape_are_shown(row: Any) -> None:
    shown = conversation(row)
    if not isinstance(row, dict):
        assert shown.other_keys == (("", json.dumps(row)),)
    elif row["messages"] == "hi":
        assert shown.other_keys == (("messages", "hi"),)
    else:
        assert [(turn.role, turn.text) for turn in shown.turns] == [("?", "1"), ("?", ""), ("?", '{\n  "a": 1\n}')]
        assert shown.other_keys == (("rollout_extra", "[\n  1\n]"),)
