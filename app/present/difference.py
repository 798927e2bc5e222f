"""Two texts as the lines of a difference."""

from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.textfile import unified
from agentic_rl_tui.widgets.diff import DiffLine


def diff_lines(before: str, after: str) -> tuple[DiffLine, ...]:
    return tuple(
        DiffLine(tag, old, new, plain(text, keep_newlines=False)) for tag, old, new, text in unified(before, after)
    )
