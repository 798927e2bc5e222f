"""A terminal that changes its size again and again, as a dragged window does, while files are looked at and edited."""

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

pytestmark = pytest.mark.terminal

STORM = [(40, 10), (200, 60), (79, 23), (12, 4), (120, 40), (300, 80), (81, 25), (1, 1), (99, 31), (100, 32)]
PLACES = {"1": r"rl-job\.yaml", "2": "AnswerReward", "3": "name: calc-agent"}
"""Keys of the places, and what stands there."""


def resize(program: Any, columns: int, rows: int) -> None:
    program.screen.resize(rows, columns)
    fcntl.ioctl(program.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.killpg(program.process.pid, signal.SIGWINCH)


@pytest.mark.parametrize("exported", [{}, {"COLUMNS": "80", "LINES": "24"}], ids=["", "with-a-size-exported"])
def test_a_storm_of_sizes_leaves_the_screen_whole(terminal: Callable, tmp_path: Path, exported: dict[str, str]) -> None:
    root = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], root)
    program = terminal("--workspace", str(root), **exported)
    for place, shown in PLACES.items():
        program.press(place)
        program.wait_for(shown)
        for columns, rows in STORM:
            resize(program, columns, rows)
            program.press("down", "up")
        for columns, rows in ((200, 60), (80, 24), (120, 40)):
            resize(program, columns, rows)
            text = program.wait_for(
                lambda text: "agentic-rl" in text.splitlines()[0] and " help" in text.splitlines()[-1]
            )
            assert max(map(len, text.splitlines())) <= columns
            program.wait_for(shown)
    program.press("ctrl+q")
    assert program.wait_for_exit() == 0
