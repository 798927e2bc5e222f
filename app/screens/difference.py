"""What a change will do, before it is done."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from agentic_rl_tui.app.present.difference import diff_lines
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.diff import DiffLine, DiffView
from agentic_rl_tui.widgets.panels import Note

_FRAME_LINES = 9
"""Title, buttons, the gaps and the edges of the dialog."""
_SHARE = 0.9
"""How much of the screen a dialog may take."""
"""Lines that fit on the smallest screen; more get a dialog of full height."""


class Difference(Dialog[bool]):
    """Answers whether to apply. Without `yes` it only shows."""

    dismissed = False
    BINDINGS = [
        Binding("y", "answer(True)", N_("Yes"), show=False),
        Binding("n", "answer(False)", N_("No"), show=False),
        Binding("left,right", "other", N_("Other button"), show=False),
    ]

    def __init__(
        self,
        title: str,
        before: str,
        after: str,
        *,
        reasons: Sequence[tuple[Span, ...]] = (),
        yes: str = "",
        no: str = "",
        lines: Sequence[DiffLine] | None = None,
    ) -> None:
        super().__init__()
        self._question = title
        self._lines = diff_lines(before, after) if lines is None else tuple(lines)
        self._reasons = tuple(reasons)
        self._yes = yes
        self._no = no or _("Close")

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-diff"):
            yield Static(self._question, id="dialog-title", markup=False)
            if self._reasons:
                note = Note(id="diff-reasons")
                note.lines = self._reasons
                yield note
            yield DiffView(id="diff-view")
            with Horizontal(id="dialog-buttons"):
                yield Button(self._no, id="no", compact=True)
                if self._yes:
                    yield Button(self._yes, id="yes", compact=True, classes="-primary")

    def on_mount(self) -> None:
        self.query_one(DiffView).lines = self._lines
        room = int(self.app.size.height * _SHARE) - _FRAME_LINES
        self.query_one("#dialog").set_class(len(self._lines) + len(self._reasons) > room, "-long")
        self.query_one("#yes" if self._yes else "#no", Button).focus()

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer and bool(self._yes))

    def action_other(self) -> None:
        self.focus_next(Button)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
