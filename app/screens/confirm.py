"""The question before something that cannot be taken back."""

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note


class Confirm(Dialog[bool]):
    """Names the object and what will happen; the focus rests on the safe button."""

    BINDINGS = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n", "answer(False)", "No", show=False),
        Binding("left,h,right,l", "other", "Other button", show=False),
    ]
    dismissed = False

    def __init__(self, title: str, lines: tuple[tuple[Span, ...], ...], *, yes: str, no: str) -> None:
        super().__init__()
        self._question = title
        self._lines = lines
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self._question, id="dialog-title", markup=False)
            note = Note(id="dialog-text")
            note.lines = self._lines
            yield note
            with Horizontal(id="dialog-buttons"):
                yield Button(self._no, id="no", compact=True)
                yield Button(self._yes, id="yes", compact=True, classes="-danger")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_other(self) -> None:
        self.focus_next()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
