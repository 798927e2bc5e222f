import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.models.text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;aGk=\x1b\\after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("a\x9b2Jb", "ab"),
        ("\x1bc reset", " reset"),
        ("bell\x07", "bell␇"),
        ("back\x08space", "back␈space"),
        ("over\rwrite", "over␍write"),
        ("tab\tstays\nline", "tab\tstays\nline"),
        ("crlf\r\nline", "crlf\nline"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("中文 ✓ é", "中文 ✓ é"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
    ],
)
def test_what_a_terminal_would_obey_is_dropped_or_shown(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_name_is_kept_on_one_line() -> None:
    assert plain("a\nb", keep_newlines=False) == "a⏎b"


@given(st.text())
def test_nothing_that_comes_out_can_act_on_a_terminal(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", plain(text))
