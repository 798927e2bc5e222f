"""Each rule of the data set check, with the place it reports."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.datasets import CheckCanceled, DatasetReport, Severity, check_file, statistics
from agentic_rl_tui.core.datasets.blocks import MAX_LINE
from agentic_rl_tui.core.datasets.jsonscan import show_path
from agentic_rl_tui.core.datasets.rulebook import RULES

GOOD = '{"messages": [{"role": "user", "content": "1+1?"}], "rollout_extra": {"solution": "2"}}'


def checked(tmp_path: Path, content: bytes | str, **options: Any) -> DatasetReport:
    path = tmp_path / "data.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return check_file(path, **options)


def places(report: DatasetReport) -> list[tuple[str, int, int, str]]:
    return [(problem.rule, problem.line, problem.col, problem.json_path) for problem in report.problems]


def row(**changes: Any) -> str:
    return json.dumps({**json.loads(GOOD), **changes}, ensure_ascii=False)


def with_message(*messages: Any) -> str:
    return row(messages=list(messages))


USER = {"role": "user", "content": "x"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    report = checked(tmp_path, GOOD + "\n" + row(messages=[USER], tools=[{"type": "function"}]) + "\n")
    assert report.problems == ()
    assert (report.rows, report.lines, report.is_ok, report.problem_count) == (2, 2, True, 0)


EXTRA = '"rollout_extra": {"solution": 1}'
HELLO = '{"messages": [{"role": "user", "content": "x"}]'


def calling(*calls: Any, content: Any = None) -> str:
    return with_message({"role": "assistant", "content": content, "tool_calls": list(calls)})


LINE_CASES: list[tuple[str, str, str, str]] = [
    # line, rule, path, text that begins at the reported column ("" for the end of the line)
    ('{"messages": [}', "bad-json", "messages[0]", "}"),
    ('{"a": 1,}', "bad-json", "", ",}"),
    ('{"a" 1}', "bad-json", "a", "1}"),
    ("{'a': 1}", "bad-json", "", "'a'"),
    ('{"a": True}', "bad-json", "a", "True"),
    ('{"a": 01}', "bad-json", "a", "01"),
    ('{"a": "\\x"}', "bad-json", "a", "\\x"),
    ('{"a": "b', "bad-json", "a", '"b'),
    ('{"奖励": "模型", "a": tru}', "bad-json", "a", "tru"),
    (GOOD + " " + GOOD.replace("1+1", "2+2"), "bad-json", "", GOOD.replace("1+1", "2+2")),
    ('{"messages": [{"role": "user", "content": "x"', "bad-json", "messages[0]", ""),
    (GOOD[:-1] + ', "x": [1, NaN]}', "nan", "x[1]", "NaN"),
    (GOOD[:-1] + ', "x": -Infinity}', "nan", "x", "-Infinity"),
    (GOOD[:-1] + ', "x": 1e999}', "number-range", "x", "1e999"),
    (GOOD[:-1] + ', "x": "a\\ud83d!"}', "lone-surrogate", "x", "\\ud83d"),
    (GOOD[:-1] + ', "x": "a\tb"}', "control-character", "x", "\t"),
    (GOOD[:-1] + ', "x": "a\0b"}', "nul-byte", "", "\0"),
    (GOOD[:-1] + ', "messages": []}', "duplicate-key", "messages", '"messages": []'),
    (
        HELLO.replace('"user"', '"user", "role" : "user"') + f", {EXTRA}}}",
        "duplicate-key",
        "messages[0].role",
        '"role" :',
    ),
    (
        GOOD[:-1] + ', "x": ' + "[" * 1500 + "]" * 1500 + "}",
        "too-deep",
        show_path(("x", *[0] * 511)),
        "[" * (1500 - 511) + "]",
    ),
    ("[1, 2]", "not-an-object", "", "[1"),
    (' "text"', "not-an-object", "", '"text"'),
    ("7", "not-an-object", "", "7"),
    (f"{{{EXTRA}}}", "messages-missing", "messages", "{"),
    (f'{{{EXTRA}, "conversations": []}}', "messages-missing", "messages", "{"),
    (row(messages=[]), "messages-empty", "messages", "[]"),
    (row(messages="hi"), "messages-type", "messages", '"hi"'),
    (HELLO.replace("messages", "mesages") + f", {EXTRA}}}", "mistyped-key", "mesages", '"mesages"'),
    (f'{{"Messages": [], {EXTRA}}}', "mistyped-key", "Messages", '"Messages"'),
    (HELLO + ', "rolout_extra": {}}', "mistyped-key", "rolout_extra", '"rolout_extra"'),
    ("  " + HELLO + "}", "rollout-extra-missing", "rollout_extra", HELLO),
    (HELLO + ', "rollout_extra": []}', "rollout-extra-type", "rollout_extra", "[]"),
    (HELLO + ', "rollout_extra": {}}', "solution-missing", "rollout_extra.solution", "{}"),
    (HELLO + ', "rollout_extra": {"solution": ""}}', "solution-missing", "rollout_extra.solution", '""'),
    (HELLO + ', "extra_params": {}}', "extra-params", "extra_params", '"extra_params"'),
    (row(tools={}), "tools-type", "tools", "{}"),
    (with_message("hi"), "message-type", "messages[0]", '"hi"'),
    (with_message({"content": "x"}), "role-missing", "messages[0].role", '{"content"'),
    (with_message(USER, {"rol": "user", "content": "x"}), "mistyped-key", "messages[1].rol", '"rol":'),
    (with_message(USER, {"role": "user", "contents": "x"}), "mistyped-key", "messages[1].contents", '"contents":'),
    (with_message({"role": 1, "content": "x"}), "role-type", "messages[0].role", "1,"),
    (with_message({"role": "usr", "content": "x"}), "role-unknown", "messages[0].role", '"usr"'),
    (with_message({"role": "user"}), "content-missing", "messages[0].content", '{"role"'),
    (with_message({"role": "user", "content": None}), "content-null", "messages[0].content", "null"),
    (with_message({"role": "user", "content": 5}), "content-type", "messages[0].content", "5}"),
    (with_message({"role": "user", "content": ""}), "content-empty", "messages[0].content", '""'),
    (with_message({"role": "user", "content": []}), "content-empty", "messages[0].content", "[]"),
    (with_message({"role": "user", "content": ["x"]}), "content-part", "messages[0].content[0]", '"x"'),
    (
        with_message({"role": "user", "content": [{"text": "t"}]}),
        "content-part",
        "messages[0].content[0].type",
        '{"text"',
    ),
    (
        with_message({"role": "user", "content": [{"type": "text"}]}),
        "content-part",
        "messages[0].content[0].text",
        '{"type"',
    ),
    (calling(), "content-null", "messages[0].content", "null"),
    (calling(content="x"), "tool-calls-type", "messages[0].tool_calls", "[]"),
    (with_message({**USER, "tool_calls": [CALL]}), "tool-calls-role", "messages[0].tool_calls", '"tool_calls"'),
    (calling("c"), "tool-call", "messages[0].tool_calls[0]", '"c"'),
    (calling({**CALL, "id": ""}), "tool-call-id", "messages[0].tool_calls[0].id", '""'),
    (calling({**CALL, "type": "tool"}), "tool-call", "messages[0].tool_calls[0].type", '"tool"'),
    (calling({"id": "c1"}), "tool-call", "messages[0].tool_calls[0].function", '{"id"'),
    (
        calling({**CALL, "function": {"arguments": "{}"}}),
        "tool-call",
        "messages[0].tool_calls[0].function.name",
        '{"arg',
    ),
    (
        calling({"id": "c1", "function": {"name": "f"}}),
        "tool-arguments",
        "messages[0].tool_calls[0].function.arguments",
        '{"name"',
    ),
    (with_message({"role": "tool", "content": "3"}), "tool-call-id", "messages[0].tool_call_id", '{"role"'),
    (
        with_message({"role": "tool", "content": "3", "tool_call_id": "zz"}),
        "tool-call-unknown",
        "messages[0].tool_call_id",
        '"zz"',
    ),
]


@pytest.mark.parametrize(
    ("line", "rule", "path", "at"), LINE_CASES, ids=[f"{case[1]}-{i}" for i, case in enumerate(LINE_CASES)]
)
def test_a_bad_line_is_placed(tmp_path: Path, line: str, rule: str, path: str, at: str) -> None:
    report = checked(tmp_path, f"{GOOD}\n{line}\n{GOOD}\n")
    col = line.index(at) + 1 if at else len(line) + 1
    (problem,) = [problem for problem in report.problems if problem.rule == rule]
    assert (problem.line, problem.col, problem.json_path) == (2, col, path)
    assert {problem.line for problem in report.problems} == {2}
    assert problem.message
    assert problem.fix
    assert problem.severity is RULES[rule][0]
    assert str(problem).startswith(f"{report.path}:2:{col}: ")


@pytest.mark.parametrize("arguments", [{"a": 1}, "{a: 1}", "[1]", 5])
def test_tool_arguments_are_a_text_with_an_object(tmp_path: Path, arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    report = checked(tmp_path, with_message(USER, {"role": "assistant", "content": None, "tool_calls": [call]}) + "\n")
    assert [problem.rule for problem in report.problems] == ["tool-arguments"]
    assert report.problems[0].json_path == "messages[1].tool_calls[0].function.arguments"


def test_a_sound_tool_conversation_passes(tmp_path: Path) -> None:
    line = with_message(
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "3", "tool_call_id": "c1"},
        {"role": "assistant", "content": "3"},
    )
    assert checked(tmp_path, line + "\n").problems == ()


def test_every_problem_of_a_line_is_told(tmp_path: Path) -> None:
    line = with_message({"role": "usr"}, {"content": 5}, "x")
    assert {problem.rule for problem in checked(tmp_path, line + "\n").problems} == {
        "content-missing",
        "role-unknown",
        "content-type",
        "role-missing",
        "message-type",
    }


def test_a_mistyped_key_names_what_was_meant(tmp_path: Path) -> None:
    report = checked(tmp_path, '{"mesages": [{"role": "user", "content": "x"}], "rollout_extra": {"solution": 1}}\n')
    assert "messages was meant" in report.problems[0].message
    assert report.rule_counts == {"mistyped-key": 1}


def test_invalid_utf8_has_its_column_in_characters(tmp_path: Path) -> None:
    report = checked(tmp_path, GOOD.replace("1+1", "奖励").encode().replace(b"?", b"\xff\xfe") + b"\n")
    assert places(report) == [("invalid-utf8", 1, 46, "")]
    assert "ff fe" in report.problems[0].message


def test_line_ends_marks_and_blank_lines(tmp_path: Path) -> None:
    report = checked(tmp_path, f"\ufeff{GOOD}\r\n\n  \n{GOOD}\n\ufeff{GOOD}")
    assert places(report) == [
        ("bom", 1, 1, ""),
        ("crlf", 1, len(GOOD) + 1, ""),
        ("blank-line", 2, 1, ""),
        ("blank-line", 3, 1, ""),
        ("bom", 5, 1, ""),
        ("no-final-newline", 5, len(GOOD) + 2, ""),
    ]
    assert (report.rows, report.lines) == (3, 5)


def test_a_huge_line_is_passed_over_and_the_rest_still_checked(tmp_path: Path) -> None:
    huge = with_message({"role": "user", "content": "x" * MAX_LINE})
    report = checked(tmp_path, f"{GOOD}\n{huge}\nno\n{huge}")
    assert [(problem.rule, problem.line) for problem in report.problems] == [
        ("huge-line", 2),
        ("bad-json", 3),
        ("huge-line", 4),
        ("no-final-newline", 4),
    ]
    assert (report.rows, report.lines) == (4, 4)


FILE_CASES = [
    (b"", "empty-file"),
    (b"\n \n", "no-rows"),
    (gzip.compress(GOOD.encode()), "compressed"),
    (b"PK\x03\x04....", "compressed"),
    (b"PAR1....", "binary-file"),
    (f"{GOOD}\n".encode("utf-16"), "utf-16"),
    (f"{GOOD}\n".encode("utf-16-le"), "utf-16"),
    (f"{GOOD}\n".encode("utf-16-be"), "utf-16"),
    (f"{GOOD}\n".encode("utf-32"), "utf-32"),
    (f"[{GOOD}, {GOOD}]".encode(), "json-array"),
    (f"[\n  {GOOD},\n  {GOOD}\n]\n".encode(), "json-array"),
    (json.dumps(json.loads(GOOD), indent=2).encode(), "json-document"),
    (b"prompt,solution\n1+1?,2\n", "csv"),
    (b'"prompt","solution"\n"1+1?","2"\n', "csv"),
    (b"prompt\tsolution\n1+1?\t2\n", "csv"),
]


@pytest.mark.parametrize(("content", "rule"), FILE_CASES, ids=[f"{case[1]}-{i}" for i, case in enumerate(FILE_CASES)])
def test_a_file_of_another_kind_gets_one_clear_problem(tmp_path: Path, content: bytes, rule: str) -> None:
    report = checked(tmp_path, content)
    errors = [problem for problem in report.problems if problem.severity is Severity.ERROR]
    assert [problem.rule for problem in errors] == [rule]
    assert not report.is_ok


@pytest.mark.parametrize("odd", [f"[{GOOD}]", "prompt, solution"])
def test_one_odd_first_line_does_not_hide_the_rows(tmp_path: Path, odd: str) -> None:
    report = checked(tmp_path, f"{odd}\n{GOOD}\nno\n")
    assert report.rows == 3
    assert [problem.line for problem in report.problems] == [1, 3]


def test_what_is_no_file_is_a_problem_not_an_exception(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing.jsonl", tmp_path, tmp_path / "pipe"):
        report = check_file(path)
        assert [problem.rule for problem in report.problems] == ["not-a-file"]
        assert not report.is_ok


def test_totals_are_true_when_few_problems_are_kept(tmp_path: Path) -> None:
    bad = with_message({"role": "usr", "content": "x"})
    report = checked(tmp_path, f"{bad}\n" * 500 + "no\n" + "\n" * 30, max_problems=10)
    assert report.rule_counts == {"role-unknown": 500, "bad-json": 1, "blank-line": 30}
    assert (report.errors, report.warnings, report.problem_count) == (501, 30, 531)
    assert len(report.problems) == 10
    # A rule that fired once is not crowded out by one that fired 500 times.
    assert {problem.rule for problem in report.problems} == set(report.rule_counts)
    assert checked(tmp_path, f"{bad}\n", max_problems=0).problems == ()


def test_severities_decide_whether_a_file_may_be_sent(tmp_path: Path) -> None:
    assert checked(tmp_path, GOOD).is_ok  # no final line feed: an info
    assert checked(tmp_path, GOOD + "\r\n").is_ok  # a warning
    assert not checked(tmp_path, "{}\n").is_ok


def test_statistics_count_rows_turns_roles_and_lengths(tmp_path: Path) -> None:
    lines = [
        with_message({"role": "system", "content": "ab"}, {"role": "user", "content": "c" * 38}),
        with_message({"role": "user", "content": "奖" * 40}),
        row(id=3),
    ]
    report = checked(tmp_path, "\n".join(lines) + "\n", max_prompt_length=20)
    stats = report.stats
    assert (stats.rows, stats.measured_rows) == (3, 3)
    assert stats.roles == {"user": 3, "system": 1}
    assert stats.keys == {"messages": 3, "rollout_extra": 3, "id": 1}
    assert (stats.turns.count, stats.turns.total, stats.turns.minimum, stats.turns.maximum) == (3, 4, 1, 2)
    assert (stats.chars.total, stats.chars.minimum, stats.chars.maximum) == (40 + 40 + 4, 4, 40)
    # 40 bytes and two messages; 120 bytes and one; 4 bytes and one.
    assert (stats.tokens.total, stats.tokens.minimum, stats.tokens.maximum) == (18 + 34 + 5, 5, 34)
    assert [(long.line, long.tokens) for long in stats.long_rows] == [(2, 34)]
    assert stats.long_row_count == 1
    assert report.rule_counts == {"prompt-too-long": 1}
    assert "4 bytes" in stats.token_basis
    path = report.path
    assert statistics(path, max_prompt_length=20) == stats


def test_histograms_keep_counts_and_tell_percentiles(tmp_path: Path) -> None:
    lines = [with_message({"role": "user", "content": "x" * size}) for size in range(1, 1001)]
    chars = checked(tmp_path, "\n".join(lines) + "\n").stats.chars
    assert sum(bucket.count for bucket in chars.buckets) == 1000
    assert chars.mean == 500.5
    assert chars.percentile(50) == pytest.approx(500, rel=0.07)
    assert chars.percentile(100) == 1000
    bars = chars.grouped(10)
    assert len(bars) == 10
    assert sum(bar.count for bar in bars) == 1000
    assert (bars[0].low, bars[-1].high) == (1, 1000)


def test_progress_reaches_the_end_and_cancel_stops(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    size = checked(tmp_path, f"{GOOD}\n" * 10_000, progress=lambda done, total: seen.append((done, total))).bytes
    assert seen[0] == (0, size)
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    cancel = threading.Event()

    def stop(done: int, _: int) -> None:
        if done:
            cancel.set()

    with pytest.raises(CheckCanceled):
        check_file(tmp_path / "data.jsonl", progress=stop, cancel=cancel)


def test_a_file_that_changes_meanwhile_is_told(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"

    def touch(done: int, _: int) -> None:
        if not done:
            path.write_text(GOOD + "\n" + GOOD + "\n")

    path.write_text(GOOD + "\n")
    assert "changed-while-read" in check_file(path, progress=touch).rule_counts


def test_the_supplied_files_are_sound(shared: Path) -> None:
    report = check_file(shared / "data/calc_train.jsonl")
    assert (report.rows, report.problems, report.stats.roles) == (8192, (), {"user": 8192})
    small = check_file(shared / "data/calc_train_min.jsonl")
    assert small.rows == 128
    assert [problem.rule for problem in small.problems] in ([], ["no-final-newline"])


def test_long_names_and_deep_places_are_cut(tmp_path: Path) -> None:
    line = GOOD[:-1] + f', "{"k" * 5000}": 1, "{"k" * 5000}": 2}}'
    (problem,) = checked(tmp_path, line + "\n").problems
    assert problem.rule == "duplicate-key"
    assert len(problem.message) < 120
    assert len(problem.json_path) < 60
    assert show_path(("messages", 2, "role")) == "messages[2].role"
    assert show_path(("a b", "\x1b", "c")) == '["a b"]["\\u001b"].c'
    assert len(show_path((0,) * 5000)) == 401
