"""All that is known of one key, and of what is wrong there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from agentic_rl_tui.app.present.jobfile import key_help
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.panels import Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Diagnostic, KeyDoc


class KeyHelp(Dialog[None]):
    BINDINGS = [
        Binding("f3,q,enter", "dismiss_dialog", N_("Close"), show=False),
        Binding("y", "copy", N_("Copy"), show=False),
    ]

    def __init__(self, doc: "KeyDoc | None", problems: "Sequence[Diagnostic]" = ()) -> None:
        super().__init__()
        self._doc = doc
        self._problems = tuple(problems)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-wide"):
            yield Static(self._doc.path if self._doc else _("Problems"), id="dialog-title", markup=False)
            with VerticalScroll(id="help-body"):
                note = Note()
                note.lines = key_help(self._doc, self._problems)
                yield note
            yield Static(_("esc closes · y copies"), id="dialog-foot", markup=False)

    def on_mount(self) -> None:
        self.query_one("#help-body").focus()

    def action_copy(self) -> None:
        lines = key_help(self._doc, self._problems)
        self.arl.copy("\n".join("".join(text for text, _style in line) for line in lines), _("text"))
