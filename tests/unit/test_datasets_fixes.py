"""Repairs: what they change, what they leave alone, and that nothing happens unasked."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.datasets import Fix, apply, check_file, plan_fixes, preview
from agentic_rl_tui.core.models.errors import InputError

GOOD = '{"messages": [{"role": "user", "content": "1 + 1?"}], "rollout_extra": {"solution": "2"}}'
OLD = GOOD.replace("rollout_extra", "extra_params")
SLIP = '{ "mesages":[{"Role": "user","contents" : "\\u5956 messages"}], "rollout_extra": {"solution": "2"}}'
SLIP_FIXED = '{ "messages":[{"role": "user","content" : "\\u5956 messages"}], "rollout_extra": {"solution": "2"}}'


def saved(tmp_path: Path, content: bytes | str) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def fixed(path: Path) -> bytes:
    target = path.with_name("fixed.jsonl")
    apply(plan_fixes(check_file(path)), target, overwrite=True)
    return target.read_bytes()


CASES = [
    ("bom", f"\ufeff{GOOD}\n{GOOD}\n", f"{GOOD}\n{GOOD}\n"),
    ("crlf", f"{GOOD}\r\n{GOOD}\r\n", f"{GOOD}\n{GOOD}\n"),
    ("blank-lines", f"\n{GOOD}\n \t\n{GOOD}\n\n", f"{GOOD}\n{GOOD}\n"),
    ("key-names", f"{GOOD}\n{SLIP}\n", f"{GOOD}\n{SLIP_FIXED}\n"),
    ("key-names", f"{OLD}\n{GOOD}\n", f"{GOOD}\n{GOOD}\n"),
    ("final-newline", f"{GOOD}\n{GOOD}", f"{GOOD}\n{GOOD}\n"),
]


@pytest.mark.parametrize(("kind", "before", "after"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_each_fix_repairs_its_problem_and_nothing_else(tmp_path: Path, kind: str, before: str, after: str) -> None:
    path = saved(tmp_path, before)
    (fix,) = plan_fixes(check_file(path))
    assert fix.kind == kind
    done = apply(fix, tmp_path / "new.jsonl")
    assert (tmp_path / "new.jsonl").read_bytes() == after.encode()
    assert done.bytes == len(after.encode())
    assert done.changed_lines >= 1
    assert path.read_bytes() == before.encode()
    again = check_file(tmp_path / "new.jsonl")
    assert again.problem_count == 0
    assert plan_fixes(again) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_become_utf8(tmp_path: Path, encoding: str) -> None:
    text = f"{GOOD}\r\n{GOOD.replace('1?', '奖励😀')}\n{GOOD}"
    path = saved(tmp_path, text.encode(encoding))
    (fix,) = plan_fixes(check_file(path))
    assert fix.kind == "utf-8"
    apply(fix, path, overwrite=True)
    assert path.read_bytes() == text.encode()


def test_broken_utf16_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    path = saved(tmp_path, f"{GOOD}\n".encode("utf-16") + b"\x00\xd8\x00\x00" + b"x")
    fixes = plan_fixes(check_file(path))
    with pytest.raises(InputError, match="no sound utf-16"):
        apply(fixes, tmp_path / "new.jsonl")
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["data.jsonl"]


def test_all_fixes_at_once(tmp_path: Path) -> None:
    path = saved(tmp_path, f"\ufeff{SLIP}\r\n\r\n{OLD}")
    fixes = plan_fixes(check_file(path))
    assert [fix.kind for fix in fixes] == ["bom", "crlf", "blank-lines", "key-names", "final-newline"]
    assert [fix.count for fix in fixes] == [1, 2, 1, 4, 1]
    assert fixed(path).decode() == f"{SLIP_FIXED}\n{GOOD}\n"
    assert check_file(path.with_name("fixed.jsonl")).problem_count == 0


def test_preview_shows_lines_before_and_after(tmp_path: Path) -> None:
    path = saved(tmp_path, f"{GOOD}\n{OLD}\n\n{GOOD}\r\n{OLD}\n")
    fixes = plan_fixes(check_file(path))
    lines = preview(fixes, 3)
    assert [line for line in lines if line.startswith("@@")] == ["@@ line 2 @@", "@@ line 3 @@", "@@ line 4 @@"]
    assert lines[1] == f"-{OLD}␊"
    assert lines[2] == f"+{GOOD}␊"
    assert lines[4] == "-␊"
    assert lines[6:] == [f"-{GOOD}␍␊", f"+{GOOD}␊"]
    crlf = next(fix for fix in fixes if fix.kind == "crlf")
    assert preview(crlf)[0] == "@@ line 4 @@"
    assert preview(fixes, 0) == []


def test_preview_cuts_long_lines_to_the_change(tmp_path: Path) -> None:
    padding = "y" * 5000
    path = saved(tmp_path, OLD.replace("1 + 1?", padding) + "\n")
    _, minus, plus = preview(plan_fixes(check_file(path)))
    assert len(minus) < 120
    assert "extra_params" in minus
    assert "rollout_extra" in plus
    assert minus.startswith("-…")


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    path = saved(tmp_path, GOOD)
    fixes = plan_fixes(check_file(path))
    with pytest.raises(InputError, match="exists"):
        apply(fixes, path)
    assert path.read_text() == GOOD
    path.chmod(0o640)
    apply(fixes, path, overwrite=True)
    assert path.read_text() == GOOD + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_file()) == ["data.jsonl"]


def test_unusable_requests_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, GOOD)
    (fix,) = plan_fixes(check_file(path))
    with pytest.raises(InputError, match="nothing to fix"):
        apply([], tmp_path / "new.jsonl")
    other = Fix(fix.kind, fix.label, tmp_path / "other.jsonl", 1, fix.rules)
    with pytest.raises(InputError, match="several files"):
        apply([fix, other], tmp_path / "new.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        apply(fix, tmp_path / "no" / "such" / "folder.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        preview(other)


pieces = st.sampled_from(
    [
        GOOD,
        OLD,
        SLIP,
        "no",
        '{"a": "\ufeff"}',
        "\ufeff" + GOOD,
        " ",
        "",
        "\u2028",
        json.dumps({"messages": [{"rol": 1}]}),
    ]
)
ends = st.sampled_from(["\n", "\r\n", "\r\r\n", "\n\n"])


@given(parts=st.lists(st.tuples(pieces, ends), max_size=8), last=pieces)
@settings(max_examples=120, deadline=None)
def test_fixes_leave_no_fixable_problem_and_add_none(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, str]], last: str
) -> None:
    path = saved(tmp_path_factory.mktemp("fix"), "".join(map("".join, parts)) + last)
    report = check_file(path)
    if not (fixes := plan_fixes(report)):
        return
    fixed(path)
    again = check_file(path.with_name("fixed.jsonl"))
    removed = {rule for fix in fixes for rule in fix.rules}
    assert not removed & set(again.rule_counts)
    # What a fix brings to light was hidden by the fault before: a row behind a mark, an end after blank lines.
    hidden = {"empty-file", "no-rows", "crlf"}
    assert set(again.rule_counts) <= set(report.rule_counts) | hidden | {
        "messages-missing",
        "not-an-object",
        "bad-json",
        "solution-missing",
        "role-type",
        "content-missing",
        "rollout-extra-missing",
    }
