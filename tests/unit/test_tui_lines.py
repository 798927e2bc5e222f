"""Line sources: memory and files give the same answers."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.widgets import lines as lines_module
from agentic_rl_tui.widgets import lines_sieve
from agentic_rl_tui.widgets.highlight import seconds_of
from agentic_rl_tui.widgets.lines import FileLines, LineBuffer
from agentic_rl_tui.widgets.lines_sieve import LevelSieve, Sieve, Sifted, TextSieve, nearest_error


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


# Filters

LOG = [
    "2026-12-01 21:00:00,104 - INFO - starts",
    "2026-12-01 21:00:01,104 - DEBUG - detail",
    "    more detail",
    "2026-12-01 21:00:02,104 - \x1b[33mWARNING\x1b[0m - slow, no ERROR yet",
    "print of a user",
    "2026-12-01 21:00:03,104 - ERROR - rollout raised",
    "Traceback (most recent call last):",
    '  File "agent.py", line 41, in process',
    "\tanswer = row['solution']",
    "KeyError: 'solution'",
    "后来 2026-12-01 - INFO - goes on",
    "x" * 300 + " ERROR far to the right",
    "FATAL",
    "",
]
BY_LEVEL = {"info": {1, 2}, "warning": {3, 5, 6, 7, 8, 9, 12}, "error": {5, 6, 7, 8, 9, 12}}


def numbers_of(sifted: Sifted) -> list[int]:
    return [sifted.number(index) for index in range(len(sifted))]


@pytest.mark.parametrize("level", ["info", "warning", "error"])
@pytest.mark.parametrize("repeats", [1, 40])
def test_a_level_shows_its_lines_with_what_belongs_to_them(
    tmp_path: Path, block: int, level: str, repeats: int
) -> None:
    rows = LOG * repeats
    expected = {
        turn * len(LOG) + number
        for turn in range(repeats)
        for number in range(len(LOG))
        if (number in BY_LEVEL[level]) != (level == "info")
    }
    for source in (written(tmp_path / "log", rows), LineBuffer(rows)):
        sifted = Sifted(source, [LevelSieve(level)])
        sifted.extend(never)
        assert sifted.is_complete
        assert set(numbers_of(sifted)) == expected
        assert list(sifted.lines(0, 10_000)) == [rows[number] for number in sorted(expected)]


@given(
    st.lists(st.sampled_from(["INFO a", "DEBUG b", "  in", "ERROR c", "plain", "ValueError: d", "WARN needle", ""])),
    st.sampled_from(["info", "warning", "error", ""]),
    st.sampled_from(["needle", "[ac]$", "NEEDLE", ""]),
    st.integers(1, 7),
)
def test_filtered_lines_are_the_same_whenever_they_were_read(rows: list[str], level: str, text: str, cut: int) -> None:
    def sieves() -> list[Sieve]:
        found: list[Sieve] = [LevelSieve(level)] if level else []
        return [*found, *([TextSieve(re.compile(text, re.IGNORECASE))] if text else [])]

    if not sieves():
        return
    at_once = Sifted(LineBuffer(rows), sieves())
    at_once.extend(never)
    growing = LineBuffer()
    bit_by_bit = Sifted(growing, sieves())
    for start in range(0, len(rows), cut):
        growing.append(rows[start : start + cut])
        bit_by_bit.extend(never)
    assert numbers_of(at_once) == numbers_of(bit_by_bit)
    assert [rows[number] for number in numbers_of(at_once)] == list(at_once.lines(0, len(rows)))
    for line in range(len(rows) + 1):
        assert at_once.index_of(line) == sum(number < line for number in numbers_of(at_once))


def test_a_text_filter_keeps_what_a_search_line_by_line_keeps(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_sieve, "_CHUNK", 64)
    monkeypatch.setattr(lines_sieve, "_STRETCH", 50)
    rows = rows_of(500)
    source = written(tmp_path / "log", rows)
    for text in ("NEEDLE", "needle", r"^4\d\d .*x", r"1\s+2", "nothing", "x"):
        pattern = re.compile(text, re.IGNORECASE if text.islower() else 0)
        sifted = Sifted(source, [TextSieve(pattern)])
        sifted.extend(never)
        assert numbers_of(sifted) == [number for number, row in enumerate(rows) if pattern.search(row)]
        kept = list(sifted.lines(0, 500))
        inner = re.compile("NEEDLE")
        for start in (0, 3, len(kept) - 1):
            for backwards in (False, True):
                expected = LineBuffer(kept).find(inner, start, backwards=backwards, stop=never) if kept else None
                assert sifted.find(inner, start, backwards=backwards, stop=never) == expected
    source.close()


def test_a_line_longer_than_memory_allows_is_one_line_for_a_filter_too(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"ERROR first\n" + b"y" * 5_000_000 + b"\nERROR last\n")
    source = FileLines(path)
    source.index()
    sifted = Sifted(source, [LevelSieve("error")])
    sifted.extend(never)
    assert numbers_of(sifted) == [0, 2]
    source.close()


def test_a_filter_of_many_lines_takes_a_bit_a_line() -> None:
    sifted = Sifted(LineBuffer(), [LevelSieve("info")])
    sifted._take(b"INFO\n" * 200_000)
    assert len(sifted) == sifted.scanned == 200_000
    assert len(sifted._bits) == 25_000
    assert sifted.number(150_001) == 150_001


def test_a_filter_stops_when_told() -> None:
    sifted = Sifted(LineBuffer(["ERROR"] * 50_000), [LevelSieve("error")])
    sifted.extend(lambda: True)
    assert sifted.scanned == 0


def test_times_of_lines() -> None:
    first, later = seconds_of("[2026-12-01T21:00:00Z] x"), seconds_of("\x1b[2m2026-12-02 00:00:30,5 y")
    assert first is not None
    assert later is not None
    assert later - first == 3 * 3600 + 30
    assert seconds_of("2026-13-45 99:99:99") is None
    assert seconds_of("no time") is None


def test_the_nearest_error_both_ways_in_all_lines_and_among_filtered_ones(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_sieve, "_STRETCH", 10)
    rows = LOG * 8
    errors = [number for number in range(len(rows)) if number % len(LOG) in (5, 6, 9, 12)]
    source = written(tmp_path / "log", rows)
    for start in (0, 6, 7, 60, len(rows) - 1):
        later = next((number for number in errors if number >= start), None)
        earlier = next((number for number in reversed(errors) if number <= start), None)
        assert nearest_error(source, start, backwards=False, stop=never) == later
        assert nearest_error(source, start, backwards=True, stop=never) == earlier
    sifted = Sifted(source, [TextSieve(re.compile("KeyError"))])
    sifted.extend(never)
    assert nearest_error(sifted, 3, backwards=False, stop=never) == 3
    assert nearest_error(sifted, len(sifted), backwards=False, stop=never) is None
    source.close()
