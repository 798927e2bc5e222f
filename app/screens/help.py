"""The keys that work here, out of the table of actions."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from agentic_rl_tui.app.keymap import SCOPES, by_id
from agentic_rl_tui.app.keynames import key_label
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Fact, Facts, Section


def help_sections(screen: "Screen[object]") -> tuple[Section, ...]:
    """The active bindings of a screen, nearest scope first."""
    keys: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        if active.binding.id and by_id(active.binding.id):
            keys.setdefault(active.binding.id, []).append(key_label(key))
    scopes: dict[str, list[Fact]] = {}
    for action_id, labels in keys.items():
        action = by_id(action_id)
        if action is not None:
            style = "$warn" if action.dangerous else "$ink"
            value: list[Span] = [(_(action.help), style)]
            scopes.setdefault(action.scope, []).append(Fact("  ".join(labels[:3]), value))
    order = ["jobs", "job", "jobfile", "workspace", "functions", "log", "table", "view", "app"]
    ranked = sorted(scopes, key=lambda scope: order.index(scope) if scope in order else 0)
    return tuple(Section(_(SCOPES.get(scope, scope)), tuple(scopes[scope])) for scope in ranked)


class Help(Dialog[None]):
    BINDINGS = [Binding("question_mark,f1,q", "dismiss_dialog", "Close", show=False)]

    def __init__(self, sections: tuple[Section, ...]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-wide"):
            yield Static(_("Keys that work here"), id="dialog-title", markup=False)
            with VerticalScroll(id="help-body"):
                facts = Facts()
                facts.sections = self._sections
                yield facts
            yield Static(
                _("esc closes · keys are changed in the settings, under Keys"),
                id="dialog-foot",
                markup=False,
            )

    def on_mount(self) -> None:
        self.query_one("#help-body").focus()
