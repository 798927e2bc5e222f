"""The question before something that cannot be taken back."""

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note


class Confirm(Dialog[bool]):
    """Names the object and what will happen; the focus rests where nothing is lost.

    type_first: a text that must be typed before the answer can be yes; None where a button is enough.
    """

    BINDINGS = [
        Binding("y", "answer(True)", N_("Yes"), show=False),
        Binding("n", "answer(False)", N_("No"), show=False),
        Binding("left,h,right,l", "other", N_("Other button"), show=False),
    ]
    dismissed = False

    def __init__(
        self, title: str, lines: tuple[tuple[Span, ...], ...], *, yes: str, no: str, type_first: str | None = None
    ) -> None:
        super().__init__()
        self._question = title
        self._lines = lines
        self._yes = yes
        self._no = no
        self._type_first = type_first

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self._question, id="dialog-title", markup=False)
            note = Note(id="dialog-text")
            note.lines = self._lines
            yield note
            if self._type_first is not None:
                yield Input(
                    placeholder=_("type {word} to go on").format(word=self._type_first), id="dialog-input", compact=True
                )
            with Horizontal(id="dialog-buttons"):
                yield Button(self._no, id="no", compact=True)
                yield Button(self._yes, id="yes", compact=True, classes="-danger", disabled=not self._is_free)

    @property
    def _is_free(self) -> bool:
        if self._type_first is None:
            return True
        typed = self.query(Input)
        return bool(typed) and typed.first(Input).value.strip() == self._type_first

    def on_mount(self) -> None:
        self.query_one("#no" if self._type_first is None else "#dialog-input").focus()

    @on(Input.Changed)
    def _typed(self) -> None:
        self.query_one("#yes", Button).disabled = not self._is_free

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.query_one("#yes" if self._is_free else "#no", Button).focus()

    def action_answer(self, answer: bool) -> None:
        if not answer or self._is_free:
            self.dismiss(answer)

    def action_other(self) -> None:
        self.focus_next(Button)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
