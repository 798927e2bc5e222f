"""Notes and pins: kept whole, by several programs, on a disk that is not always kind."""

import json
import multiprocessing
import stat
from pathlib import Path

import pytest

from agentic_rl_tui.core.notes import LONGEST, JobNote, Notes


def test_notes_and_pins_are_there_for_the_next_program(tmp_path: Path) -> None:
    notes = Notes("http://one", tmp_path)
    notes.write("ft-1", "  学习率太高\nsecond line ")
    notes.pin(["ft-1", "ft-2"], is_pinned=True)
    again = Notes("http://one", tmp_path)
    assert again.get("ft-1").text == "学习率太高\nsecond line"
    assert again.get("ft-1").is_pinned
    assert again.get("ft-2").is_pinned
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o600


def test_profiles_do_not_see_each_other(tmp_path: Path) -> None:
    Notes("http://one", tmp_path).write("ft-1", "mine")
    assert Notes("http://two", tmp_path).all() == {}


def test_an_empty_note_without_a_pin_is_forgotten(tmp_path: Path) -> None:
    notes = Notes("p", tmp_path)
    notes.write("ft-1", "x")
    notes.write("ft-1", "   ")
    assert notes.get("ft-1") == JobNote()
    assert json.loads(notes.path.read_text())["notes"] == {}


def test_the_note_of_a_deleted_job_stays_for_a_while_and_loses_its_pin(tmp_path: Path) -> None:
    now = [1000.0]
    notes = Notes("p", tmp_path, clock=lambda: now[0])
    notes.write("ft-1", "why it failed")
    notes.pin(["ft-1"], is_pinned=True)
    notes.job_gone("ft-1")
    assert notes.get("ft-1").text == "why it failed"
    assert not notes.get("ft-1").is_pinned
    now[0] += 100 * 24 * 3600
    notes.write("ft-2", "x")
    assert "ft-1" not in notes.all()


def test_a_broken_file_is_set_aside_and_not_written_over(tmp_path: Path) -> None:
    notes = Notes("p", tmp_path)
    notes.write("ft-1", "x")
    notes.path.write_text("{ torn")
    assert Notes("p", tmp_path).all() == {}
    Notes("p", tmp_path).write("ft-2", "y")
    assert notes.path.with_suffix(".broken").read_text() == "{ torn"
    assert Notes("p", tmp_path).get("ft-2").text == "y"


def test_a_long_note_is_cut(tmp_path: Path) -> None:
    assert len(Notes("p", tmp_path).write("ft-1", "x" * (LONGEST + 9)).text) == LONGEST


def _write_many(root: str, first: int) -> None:
    notes = Notes("p", Path(root))
    for number in range(first, first + 15):
        notes.write(f"ft-{number}", f"note {number}")


def test_two_programs_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), first)) for first in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert len(Notes("p", tmp_path).all()) == 30


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r".+"):
        Notes("p", tmp_path / "file" / "below").write("ft-1", "x")
