"""A note on a job, written in a small dialog."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import _


class NoteDialog(Dialog[str | None]):
    """Answers the text, which may be empty to take the note away; None where it was given up."""

    BINDINGS = [Binding("ctrl+s,ctrl+j", "keep", "Keep", show=False, priority=True)]

    def __init__(self, name: str, text: str) -> None:
        super().__init__()
        self._name = name
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(_("Note on {name}").format(name=self._name), id="dialog-title", markup=False)
            yield TextArea(self._text, id="note-text", show_line_numbers=False, soft_wrap=True, compact=True)
            yield Static(_("ctrl+s keeps it, an empty one is removed · esc gives up"), id="dialog-foot", markup=False)

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        area.focus()

    def action_keep(self) -> None:
        self.dismiss(self.query_one(TextArea).text)
