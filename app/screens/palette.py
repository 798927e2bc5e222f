"""Every command by name: opened by the palette key and by the colon."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.fuzzy import Matcher
from textual.widgets import Input

from agentic_rl_tui.app.keymap import by_id
from agentic_rl_tui.app.keynames import key_label
from agentic_rl_tui.app.scopes import SCOPES
from agentic_rl_tui.app.screens.base import Dialog, PlaceScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Cell
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.table import Table


@dataclass(frozen=True, slots=True)
class Command:
    """An action with the node that carries it out. reason: why it has nothing to act on now."""

    action_id: str
    name: str
    help: str
    scope: str
    key: str
    run: str
    node: DOMNode
    reason: str | None = None

    @property
    def haystack(self) -> str:
        return f"{self.name} {self.help} {self.scope}"


def commands(screen: PlaceScreen) -> tuple[Command, ...]:
    """What can be done on a screen now, the screen's own verbs first."""
    found: dict[str, Command] = {}
    for key, active in screen.active_bindings.items():
        action = by_id(active.binding.id or "")
        if action is None or not action.palette or action.id in found:
            continue
        found[action.id] = Command(
            action.id,
            _(action.label),
            _(action.help),
            _(SCOPES[action.scope]),
            key_label(key),
            active.binding.action,
            active.node,
            screen.blocked(action.id),
        )
    return tuple(sorted(found.values(), key=lambda command: _RANKS.get(command.action_id.partition(".")[0], 0)))


_RANKS = {"table": 1, "view": 2, "app": 3}


def _help(command: Command, _width: int) -> Cell:
    return [((command.reason or command.help).replace("`", ""), "$faint" if command.reason else "$muted")]


def _columns() -> tuple[Column[Command], ...]:
    return (
        Column("name", _("COMMAND"), lambda c, _width: [(c.name, "$faint" if c.reason else "$ink")], 16),
        Column("help", _("WHAT IT DOES"), _help, 24, 80),
        Column("scope", _("WHERE"), lambda c, _width: [(c.scope, "$faint")], 12, fold=1),
        Column("key", _("KEY"), lambda c, _width: [(c.key, "$accent")], 6, align="right"),
    )


def search(items: Sequence[Command], query: str) -> tuple[Command, ...]:
    """The commands that match, best first; all of them for an empty query."""
    if not query.strip():
        return tuple(items)
    matcher = Matcher(query.strip())
    scored = [(max(matcher.match(item.name) * 1.5, matcher.match(item.haystack)), item) for item in items]
    return tuple(item for score, item in sorted(scored, key=lambda pair: -pair[0]) if score > 0)


class Palette(Dialog["Command | None"]):
    BINDINGS = [
        Binding("down,ctrl+n", "move(1)", "Down", show=False),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
    ]

    def __init__(self, items: Sequence[Command]) -> None:
        super().__init__()
        self._items = tuple(items)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-palette"):
            yield Input(placeholder=_("Type what you want to do"), id="palette-input", compact=True)
            table: Table[Command] = Table(_columns(), lambda command: command.action_id, id="palette-table")
            table.can_focus = False
            yield table

    @property
    def table(self) -> Table[Command]:
        return self.query_one("#palette-table", Table)

    def on_mount(self) -> None:
        self.table.items = self._items
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.table.items = search(self._items, event.value)
        self.table.cursor = 0

    def action_move(self, rows: int) -> None:
        self.table.cursor += rows

    @on(Input.Submitted)
    def _chosen(self) -> None:
        self.dismiss(self.table.current)

    @on(Table.Opened)
    def _clicked(self) -> None:
        self.dismiss(self.table.current)
