"""The line between program and screen: how slow it is, and what a slow one is spared."""

import os
import time
from collections.abc import Callable

from textual import events

from agentic_rl_tui.app.refitting import Refitting
from agentic_rl_tui.core.i18n import _

SLOW_S = 0.3
"""A terminal that takes longer to answer is at the end of a slow line."""
_WHERE_IS_THE_CURSOR = "\x1b[6n"


class SlowLine(Refitting):
    """A slow line is offered, never chosen for somebody."""

    is_slow: bool = False
    is_still: bool = False
    """Whether nothing is to move in any case."""
    now_s: Callable[[], float] = staticmethod(time.monotonic)
    _asked_at: float | None = None

    def measure_line(self) -> None:
        """Ask the terminal something over SSH and see how long the answer takes."""
        is_far = bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
        if is_far and not self.is_slow and self._asked_at is None:
            self._asked_at = self.now_s()
            self.to_terminal(_WHERE_IS_THE_CURSOR)

    def on_cursor_position(self, _event: events.CursorPosition) -> None:
        if self._asked_at is None or self.is_slow:
            return
        took = self.now_s() - self._asked_at
        if took > SLOW_S:
            text = _("The terminal took {seconds:.1f} s to answer. alt+l spares a slow line: less moves, less is sent")
            self.say_long(text.format(seconds=took))

    def say_long(self, text: str) -> None:
        self.notify(text, timeout=12, markup=False)

    def action_bandwidth(self) -> None:
        """Spare the line from now on, or no longer."""
        self.is_slow = not self.is_slow
        self.animation_level = "none" if self.is_slow or self.is_still else "full"
        if (screen := self.jobs_screen()) is not None and screen.is_mounted:
            screen.line_changed()
        self.say(_("Sparing a slow line") if self.is_slow else _("Every update is shown at once"))
