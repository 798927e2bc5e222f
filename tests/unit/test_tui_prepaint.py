"""The first sight: exact, in the theme's colours, and gone without a trace."""

import os
import pty
import re
import sys
import termios
from contextlib import suppress

import pytest
from rich.cells import cell_len

from agentic_rl_tui.app.places import place_name
from agentic_rl_tui.app.prepaint import FirstSight, frame

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize("columns", [1, 10, 40, 80, 120, 200])
@pytest.mark.parametrize("theme", ["arl-dark", "arl-light", "arl-ansi", "unknown"])
def test_header_and_footer_fill_their_lines(columns: int, theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    text = frame("jobs", theme, columns, 24)
    assert text.count("\x1b[24;1H") == 1
    header, footer = (CONTROL.sub("", part) for part in text.split("\x1b[24;1H"))
    assert cell_len(header) == columns
    assert footer == " " * columns


def test_the_active_place_is_named_and_others_where_there_is_room() -> None:
    assert "Jobs" in frame("jobs", "arl-dark", 80, 24)
    assert "Workspace" not in frame("jobs", "arl-dark", 80, 24)
    assert "Workspace" in frame("jobs", "arl-dark", 120, 40)


def test_no_colours_where_the_terminal_or_the_user_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert "38;2;" in frame("jobs", "arl-dark", 80, 24)
    assert "38;2;" not in frame("jobs", "arl-ansi", 80, 24)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "38;2;" not in frame("jobs", "arl-dark", 80, 24)


def test_what_is_not_a_terminal_stays_clean(capfd: pytest.CaptureFixture[str]) -> None:
    sight = FirstSight()
    sight.paint("jobs", "arl-dark")
    sight.restore()
    assert capfd.readouterr() == ("", "")


def test_a_start_that_fails_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch) -> None:
    main, terminal = pty.openpty()
    with (
        open(terminal, encoding="utf-8") as file_in,
        open(os.dup(terminal), "w", encoding="utf-8") as file_out,
    ):
        monkeypatch.setattr(sys, "__stdin__", file_in)
        monkeypatch.setattr(sys, "__stderr__", file_out)
        before = termios.tcgetattr(terminal)
        sight = FirstSight()
        sight.paint("jobs", "arl-dark")
        assert not termios.tcgetattr(terminal)[3] & termios.ECHO
        sight.restore()
        sight.restore()
        assert termios.tcgetattr(terminal) == before
    shown = _all_of(main).decode()
    assert shown.startswith("\x1b[?1049h")
    assert shown.endswith("\x1b[?1049l")
    os.close(main)


def _all_of(main: int) -> bytes:
    """What was written to a terminal that is closed by now: reading it ends with an error, not with nothing."""
    found = b""
    with suppress(OSError):
        while piece := os.read(main, 65536):
            found += piece
    return found


def test_places_by_any_spelling() -> None:
    assert place_name("job-file") == place_name("Job file") == place_name("jobfile") == "jobfile"
    assert place_name(None) is None
    assert place_name("nowhere") is None
