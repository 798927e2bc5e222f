"""Going from place to place while typing: what ordinary terminals send for alt and a digit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

pytestmark = pytest.mark.terminal


def test_alt_and_a_digit_leave_the_editor_and_type_nothing(terminal: Callable, tmp_path: Path) -> None:
    root = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], root)
    program = terminal("--workspace", str(root))
    program.press("3")
    program.wait_for("ready to submit")
    program.press("#")
    program.wait_for("not saved")
    program.press("\x1b1")
    program.wait_for(r"answer\.py")
    program.press("\x1b2")
    program.wait_for("AnswerReward")
    program.press("\x1b3")
    program.wait_for("not saved")
    assert "¡" not in program.wait_for("## A reinforcement learning job")
    # The character itself, as keyboards send it that have it, is typed like any other.
    program.press("¡")
    program.wait_for("#¡# A reinforcement")
    program.press("\x1b4")
    program.wait_for(r"no jobs|No jobs|STATUS")
    program.press("ctrl+q")
    assert program.wait_for_exit() == 0
