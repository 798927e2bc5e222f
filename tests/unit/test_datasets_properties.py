"""Whatever bytes a file holds, it is read without an exception, and alike however it is split up."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.datasets import blocks as blocks_module
from agentic_rl_tui.core.datasets import check_file, conversation, open_rows
from agentic_rl_tui.core.datasets.findings import Findings, Options
from agentic_rl_tui.core.datasets.jsonscan import duplicate_keys, scan
from agentic_rl_tui.core.datasets.report import DatasetReport
from agentic_rl_tui.core.datasets.rowrules import check_row
from agentic_rl_tui.core.datasets.rowshape import has_duplicates
from agentic_rl_tui.core.datasets.scan import RangeScanner

SMALL_BLOCK = 64

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "\\", 'a": 1', '{"role": "user", "content": "x"}', '", "content": "', "推理 答案", "\x00", "\ud800"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "usr"]) | scalars, "content": texts | values},
    optional={"tool_calls": values, "tool_call_id": texts, "rol": texts},
)
plain_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": texts.filter(bool)}
)
plain_rows = st.fixed_dictionaries(
    {"messages": st.lists(plain_messages, min_size=1, max_size=3), "rollout_extra": st.just({"solution": "2"})}
)
wild_rows = st.fixed_dictionaries(
    {"messages": st.lists(messages | values, max_size=3) | values},
    optional={"rollout_extra": values, "ground_truth": values, "id": scalars, "mesages": values, "tools": values},
)
styles = st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")])


def written(row: Any, style: tuple[str, str], ascii_only: bool) -> bytes:
    return json.dumps(row, separators=style, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


def doubled(line: bytes, key: bytes) -> bytes:
    """The line with one more member of a name that may be there already, wherever an object begins or goes on."""
    return line.replace(b"{", b'{"' + key + b'": "user", ', 1) if key else line


def cut(line: bytes, place: int, piece: bytes) -> bytes:
    at = place % (len(line) + 1)
    return line[:at] + piece + line[at + len(piece) :]


rows = st.builds(written, plain_rows | wild_rows, styles, st.booleans())
damaged = st.builds(doubled, rows, st.sampled_from([b"messages", b"role", b"x"])) | st.builds(
    cut,
    rows,
    st.integers(0, 10_000),
    st.sampled_from([b"", b"\xff", b"}", b'"', b" ", b"e", b"\r", b"\xef\xbb\xbf", b"1"]),
)
lines = st.builds(written, plain_rows, st.just((", ", ": ")), st.booleans()) | rows | damaged | st.binary(max_size=20)
files = st.builds(
    lambda parts, ends: b"".join(line + end for line, end in zip(parts, ends, strict=False)),
    st.lists(lines, max_size=12),
    st.lists(st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b""]), min_size=12, max_size=12),
)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks of a few bytes, so that a small file has many."""
    with (
        patch.object(blocks_module, "BLOCK", SMALL_BLOCK),
        patch("agentic_rl_tui.core.datasets.scan.BLOCK", SMALL_BLOCK),
    ):
        yield


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], Path]:
    path = tmp_path_factory.mktemp("files") / "data.jsonl"

    def write(content: bytes) -> Path:
        path.write_bytes(content)
        return path

    return write


def exact(found: Findings) -> tuple[Any, ...]:
    """Everything that does not depend on which rows were measured."""
    kept = {rule: problems for rule, problems in found.kept.items() if problems}
    long_rows = (found.long_count, found.long_rows, found.longest)
    return found.lines, found.rows, found.counts, kept, found.turns.pack(), found.roles, found.keys, long_rows


@given(content=files | st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read_and_lines_are_counted_as_by_a_naive_reader(
    save: Callable[[bytes], Path], content: bytes
) -> None:
    path = save(content)
    report = check_file(path, max_problems=10_000, max_prompt_length=5)
    assert report.bytes == len(content)
    assert sum(report.rule_counts.values()) == report.problem_count == report.errors + report.warnings + report.infos
    naive = content.split(b"\n")
    if naive[-1] == b"":
        naive.pop()
    for problem in report.problems:
        assert 1 <= problem.line <= max(1, len(naive))
        assert problem.col >= 1
    found = RangeScanner(Options()).scan(str(path), 0, len(content))
    assert found.lines == len(naive)
    head = [line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line for number, line in enumerate(naive)]
    expected = [(number, line) for number, line in enumerate(head, 1) if line.strip(b" \t\r")]
    assert found.rows == len(expected)
    with open_rows(path) as index:
        assert (len(index), index.lines) == (len(expected), len(naive))
        for place, (number, line) in enumerate(expected):
            assert index.line_number(place) == number
            assert index.row_at_line(number) == place
            assert index.raw(place) == line.rstrip(b"\r")


@given(content=files)
@settings(max_examples=250, deadline=None)
def test_the_fast_way_finds_what_the_full_check_finds(save: Callable[[bytes], Path], content: bytes) -> None:
    sound = b'{"messages": [{"role": "user", "content": "x"}], "rollout_extra": {"solution": "2"}}\n' * 2
    path = save(sound + content)
    size = len(sound) + len(content)
    with small_blocks():
        with patch("agentic_rl_tui.core.datasets.scan.learn", return_value=None):
            full = RangeScanner(Options(1000, 5, 1)).scan(str(path), 0, size)
        measured = RangeScanner(Options(1000, 5, 1)).scan(str(path), 0, size)
        fast = RangeScanner(Options(1000, 5, 1 << 30)).scan(str(path), 0, size)
    assert exact(fast) == exact(measured) == exact(full)
    assert (measured.chars.pack(), measured.tokens.pack()) == (full.chars.pack(), full.tokens.pack())


@given(content=files, every=st.sampled_from([1, 3]), width=st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_ranges_merged_are_the_whole(save: Callable[[bytes], Path], content: bytes, every: int, width: int) -> None:
    path = str(save(content))
    options = Options(3, 5, every)
    with small_blocks():
        whole = RangeScanner(options).scan(path, 0, len(content))
        merged = Findings(options.keep)
        step = width * SMALL_BLOCK
        for start in range(0, len(content), step):
            part = RangeScanner(options).scan(path, start, min(start + step, len(content)))
            merged.merge(Findings.unpack(options.keep, part.pack()))
    assert exact(merged) == exact(whole)
    assert (merged.chars.pack(), merged.tokens.pack()) == (whole.chars.pack(), whole.tokens.pack())


def report_facts(report: DatasetReport) -> tuple[Any, ...]:
    return report.rows, report.lines, report.bytes, report.problems, dict(report.rule_counts), report.stats


def test_two_processes_report_what_one_does(tmp_path: Path) -> None:
    sound = '{"messages": [{"role": "user", "content": "%s"}], "rollout_extra": {"solution": "%d"}}'
    content = "\n".join(
        "no" if number % 997 == 0 else sound % ("x奖" * (number % 90), number) for number in range(1, 12_000)
    )
    path = tmp_path / "data.jsonl"
    path.write_text(content + "\n\n{}\n", encoding="utf-8")
    assert path.stat().st_size > 5 * blocks_module.BLOCK
    one = check_file(path, max_problems=8, workers=1, max_prompt_length=80)
    two = check_file(path, max_problems=8, workers=2, max_prompt_length=80)
    assert report_facts(two) == report_facts(one)
    assert one.rule_counts["bad-json"] == 12


@given(text=st.text(max_size=30) | values.map(lambda value: json.dumps(value, allow_nan=True)))
@example('{"a": "\\ud83d\\ude00"}')
@example('{"a": "\\ude00\\ud83d"}')
@example("-")
@settings(max_examples=300, deadline=None)
def test_the_scanner_refuses_what_strict_json_refuses(text: str) -> None:
    def refuse(word: str) -> float:
        raise ValueError(word)

    def number(token: str) -> float:
        if math.isinf(float(token)):
            raise ValueError(token)
        return float(token)

    try:
        json.dumps(json.loads(text, parse_constant=refuse, parse_float=number), ensure_ascii=False).encode()
        is_strict = True
    except ValueError:
        is_strict = False
    faults = [fault for fault in scan(text).faults if fault.kind != "duplicate"]
    assert (not faults) == is_strict


@given(value=values, style=styles, ascii_only=st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_scanner_knows_where_each_value_is(value: Any, style: tuple[str, str], ascii_only: bool) -> None:
    text = json.dumps(value, separators=style, ensure_ascii=ascii_only)
    scanned = scan(text)
    for path, start in scanned.values.items():
        inner = value
        for part in path:
            inner = inner[part]
        assert json.dumps(json.loads(text[start : scanned.ends[path]], strict=False)) == json.dumps(inner)


@given(line=rows | damaged)
@settings(max_examples=200, deadline=None)
def test_duplicate_keys_are_found_by_counting(line: bytes) -> None:
    try:
        text = line.decode()
        value = json.loads(text)
    except ValueError:
        return
    assert has_duplicates(line, value) == duplicate_keys(text)
    assert duplicate_keys(text) == any(fault.kind == "duplicate" for fault in scan(text).faults)


@given(row=wild_rows | values)
@settings(max_examples=150, deadline=None)
def test_any_row_can_be_checked_and_shown(row: Any) -> None:
    check_row(row)
    shown = conversation(row)
    assert shown.chars == sum(turn.chars for turn in shown.turns)
    if isinstance(row, dict) and isinstance(row.get("messages"), list):
        assert len(shown.turns) == len(row["messages"])


@pytest.mark.parametrize("style", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("first", ["role", "content"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_ordinary_rows_are_proven_and_not_parsed(
    save: Callable[[bytes], Path], style: tuple[str, str], first: str, ascii_only: bool
) -> None:
    def row(number: int) -> dict[str, Any]:
        message = {"role": "user", "content": f"奖励 {number}\n"}
        if first == "content":
            message = dict(reversed(message.items()))
        return {
            "id": number,
            "messages": [message, {**message, "role": "assistant"}],
            "rollout_extra": {"solution": str(number)},
            "meta": {"level": number % 3},
        }

    content = b"".join(written(row(number), style, ascii_only) + b"\n" for number in range(200))
    scanner = RangeScanner(Options(measure_every=1 << 30))
    with small_blocks(), patch.object(scanner, "_row", wraps=scanner._row) as full_check:
        found = scanner.scan(str(save(content)), 0, len(content))
    assert found.counts == {}
    assert (found.rows, found.roles) == (200, {"user": 200, "assistant": 200})
    # The first block, and each row that is longer than any before.
    assert full_check.call_count < 10
