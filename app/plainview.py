"""Text on the terminal's normal screen, without frames, so that its own selection can take it."""

import sys
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

if TYPE_CHECKING:
    from textual.app import App

LONGEST = 1 << 20


def show_plain(app: "App[int]", text: str) -> bool:
    """Print a text and wait for enter; False where this terminal cannot be handed over."""
    shown = redact(plain(text[:LONGEST])).rstrip("\n")
    foot = _("── enter goes back ──")
    try:
        with app.suspend():
            stream = sys.__stdout__
            if stream is None or sys.__stdin__ is None:
                return False
            encoding = stream.encoding or "utf-8"
            whole = f"\n{shown}\n\n{foot} "
            stream.write(whole.encode(encoding, "replace").decode(encoding))
            stream.flush()
            try:
                sys.__stdin__.readline()
            except KeyboardInterrupt:
                stream.write("\n")
    except SuspendNotSupported:
        return False
    return True
