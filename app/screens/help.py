"""The keys that work here, out of the table of actions."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from agentic_rl_tui.app.keymap import by_id
from agentic_rl_tui.app.keynames import key_label
from agentic_rl_tui.app.scopes import SCOPES
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
            value: list[Span] = [(action.meaning, style)]
            scopes.setdefault(action.scope, []).append(Fact("  ".join(labels[:3]), value))
    order = ["jobs", "job", "jobfile", "workspace", "functions", "log", "table", "view", "app"]
    ranked = sorted(scopes, key=lambda scope: order.index(scope) if scope in order else 0)
    return tuple(Section(_(SCOPES.get(scope, scope)), tuple(scopes[scope])) for scope in ranked)


def halves(sections: Sequence[Section]) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """Cut between two sections, where both columns come nearest to the same height."""
    heights = [len(section.facts) + 2 for section in sections]
    cut = min(range(1, len(sections) + 1), key=lambda at: max(sum(heights[:at]), sum(heights[at:])), default=0)
    return tuple(sections[:cut]), tuple(sections[cut:])


class Help(Dialog[None]):
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (170, "-wide")]
    BINDINGS = [Binding("question_mark,f1,q", "dismiss_dialog", "Close", show=False)]

    def __init__(self, sections: tuple[Section, ...]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-help"):
            yield Static(_("Keys that work here"), id="dialog-title", markup=False)
            with VerticalScroll(id="help-body"), Container(id="help-columns"):
                widest = max((cell_len(fact.label) for section in self._sections for fact in section.facts), default=0)
                for sections in halves(self._sections):
                    facts = Facts()
                    facts.sections = sections
                    facts.label_width = widest
                    facts.label_style = "$accent bold"
                    yield facts
            yield Static(
                _("esc closes · keys are changed in the settings, under Keys"),
                id="dialog-foot",
                markup=False,
            )

    def on_mount(self) -> None:
        self.query_one("#help-body").focus()
