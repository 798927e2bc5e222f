"""Line sources: memory and files give the same answers."""

import random
import re
from pathlib import Path

import pytest

from agentic_rl_tui.widgets import lines as lines_module
from agentic_rl_tui.widgets.lines import FileLines, LineBuffer


def never() -> bool:
    return False


@pytest.fixture(params=[1 << 20, 256])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Small blocks too, so that every case meets their edges."""
    monkeypatch.setattr(lines_module, "BLOCK", request.param)
    return int(request.param)


def written(path: Path, rows: list[str], *, end: str = "\n") -> FileLines:
    path.write_bytes(("\n".join(rows) + end).encode())
    source = FileLines(path)
    source.index()
    return source


def rows_of(count: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [
        f"{number} " + "x" * dice.randrange(0, 90) + ("NEEDLE" if number % 97 == 13 else "") for number in range(count)
    ]


def test_a_file_reads_like_memory(tmp_path: Path, block: int) -> None:
    rows = rows_of(500)
    source = written(tmp_path / "log", rows)
    memory = LineBuffer(rows)
    assert len(source) == len(memory) == 500
    for start, stop in ((0, 5), (1, 2), (250, 300), (495, 600), (499, 500), (500, 510)):
        assert list(source.lines(start, stop)) == list(memory.lines(start, stop))
    source.close()


def test_search_in_a_file_finds_what_memory_finds(tmp_path: Path, block: int) -> None:
    rows = rows_of(500)
    source = written(tmp_path / "log", rows)
    memory = LineBuffer(rows)
    for text in ("NEEDLE", "needle", r"^4\d\d .*NEEDLE", r"1\s+2", "nothing"):
        pattern = re.compile(text, re.IGNORECASE if text.islower() else re.MULTILINE)
        for start in (0, 13, 14, 250, 499):
            for backwards in (False, True):
                expected = memory.find(re.compile(text, pattern.flags), start, backwards=backwards, stop=never)
                assert source.find(pattern, start, backwards=backwards, stop=never) == expected, (
                    text,
                    start,
                    backwards,
                )
    source.close()


def test_a_last_line_without_a_break_counts(tmp_path: Path, block: int) -> None:
    source = written(tmp_path / "log", ["one", "two"], end="")
    assert len(source) == 2
    assert list(source.lines(0, 5)) == ["one", "two"]
    source.close()


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    source = written(tmp_path / "log", [""], end="")
    assert len(source) == 0
    assert list(source.lines(0, 5)) == []
    assert source.find(re.compile("x"), 0, backwards=False, stop=never) is None
    source.close()


def test_growth_is_counted_from_where_it_ended(tmp_path: Path, block: int) -> None:
    path = tmp_path / "log"
    source = written(path, rows_of(100))
    with path.open("a") as file:
        file.write("late\nlater")
    source.index()
    assert len(source) == 102
    assert list(source.lines(100, 102)) == ["late", "later"]
    source.close()


def test_very_long_lines_are_cut_and_the_next_one_is_right(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"y" * 3_000_000 + b"\nlast\n")
    source = FileLines(path, longest=1000)
    source.index()
    first, long, last = source.lines(0, 3)
    assert (first, len(long), last) == ("first", 1000, "last")
    source.close()


def test_windows_breaks_and_broken_utf8_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\r\nb\xff\r\n")
    source = FileLines(path)
    source.index()
    assert list(source.lines(0, 2)) == ["a", "b\ufffd"]
    source.close()


def test_a_search_stops_when_told() -> None:
    memory = LineBuffer(["x"] * 5000)
    assert memory.find(re.compile("y"), 0, backwards=False, stop=lambda: True) is None
