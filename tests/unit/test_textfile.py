"""Text files keep every byte that was not changed; drafts and recent folders come back."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.drafts import Drafts
from agentic_rl_tui.core.textfile import ChangedOnDisk, TextFile, smallest_change, unified
from agentic_rl_tui.core.workspaces import Recent, job_files


@given(st.binary(max_size=200))
def test_an_unchanged_text_is_the_same_bytes(raw: bytes) -> None:
    file = TextFile(Path("x"), raw)
    if not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert file.encode(file.text) == raw


@pytest.mark.parametrize(
    "raw", [b"a\r\nb\nc\r\n", b"a\rb\r\nc", b"\xff\xfea\x00"[2:] + b"\xc3\n\xe4\n", "a\u2028b\nc\n".encode()]
)
def test_odd_lines_stay_when_another_is_changed(raw: bytes) -> None:
    file = TextFile(Path("x"), raw)
    lines = file.text.split(file.newline)
    changed = file.newline.join([*lines[:-1], lines[-1] + "new"])
    assert file.encode(changed) == raw + b"new"


def test_saving_refuses_what_others_changed(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"a: 1\n")
    path.chmod(0o640)
    file = TextFile.read(path)
    path.write_bytes(b"a: 2\n")
    with pytest.raises(ChangedOnDisk):
        file.save("a: 3\n")
    assert path.read_bytes() == b"a: 2\n"
    saved = file.save("a: 3\n", overwrite=True)
    assert path.read_bytes() == b"a: 3\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert saved.changed_on_disk() is None
    assert [item.name for item in tmp_path.iterdir() if item.name.endswith(".part")] == []


@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=30))
def test_the_smallest_change_leads_to_the_other_text(before: str, after: str) -> None:
    start, end, text = smallest_change(before, after)
    assert before[:start] + text + before[end:] == after
    gone = [line for tag, _, _, line in unified(before, after) if tag == "-"]
    assert len(gone) <= len(before.splitlines())


def test_drafts_come_back_and_go(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "drafts")
    path = tmp_path / "任务.yaml"
    assert drafts.find(path) is None
    drafts.keep(path, "文本", "digest")
    found = drafts.find(path)
    assert found is not None
    assert (found.text, found.base_digest, found.path) == ("文本", "digest", path)
    assert stat.S_IMODE((tmp_path / "drafts").stat().st_mode) == 0o700
    drafts.drop(path)
    assert drafts.find(path) is None


def test_recent_folders_are_remembered_newest_first(tmp_path: Path) -> None:
    recent = Recent(tmp_path / "state" / "recent.json")
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        recent.add(tmp_path / name)
    assert [visit.path.name for visit in recent.visits()] == ["a", "b"]
    (tmp_path / "a").rmdir()
    assert [visit.path.name for visit in recent.visits()] == ["b"]


def test_job_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("z.yaml", "opd-job.yml", "rl-job.yaml"):
        (tmp_path / name).touch()
    assert [path.name for path in job_files(tmp_path)] == ["rl-job.yaml", "opd-job.yml", "z.yaml"]
