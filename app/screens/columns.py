"""The columns of a table: which, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Static

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Cell
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.table import Table


@dataclass(frozen=True, slots=True)
class Picked:
    """One column that can be had."""

    key: str
    title: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """What the dialog answers. order: the column to sort by and whether from high to low, None for the usual order."""

    columns: tuple[str, ...]
    order: tuple[str, bool] | None


class ColumnPicker(Dialog[Layout | None]):
    """In: every column, those shown first and in their order. Answers the new layout, or None."""

    BINDINGS = [
        Binding("space,x", "turn", "Show", show=False, priority=True),
        Binding("K,shift+up,left", "shift(-1)", "Earlier", show=False, priority=True),
        Binding("J,shift+down,right", "shift(1)", "Later", show=False, priority=True),
        Binding("o", "order", "Sort", show=False, priority=True),
        Binding("u", "usual", "Usual", show=False, priority=True),
        Binding("enter", "done", "Take", show=False, priority=True),
    ]

    def __init__(self, items: Sequence[Picked], order: tuple[str, bool] | None, usual: Sequence[str]) -> None:
        super().__init__()
        self._items = list(items)
        self._order = order
        self._usual = tuple(usual)

    def compose(self) -> ComposeResult:
        columns: tuple[Column[Picked], ...] = (
            Column("shown", "", self._mark, 3),
            Column("title", "", lambda item, _width: [(item.title, "$ink" if item.is_shown else "$faint")], 16, 30),
            Column("order", "", self._sorted, 20),
        )
        with Vertical(id="dialog", classes="-columns"):
            yield Static(_("Columns of the jobs"), id="dialog-title", markup=False)
            table: Table[Picked] = Table(columns, lambda item: item.key, id="columns-table")
            yield table
            yield Static(
                _("space shows or hides · ← → moves · o sorts · u usual ones · ↵ takes it · esc gives up"),
                id="dialog-foot",
                markup=False,
            )

    def _mark(self, item: Picked, _width: int) -> Cell:
        return [("✔" if item.is_shown else "·", "$succeeded" if item.is_shown else "$faint")]

    def _sorted(self, item: Picked, _width: int) -> Cell:
        if self._order is None or self._order[0] != item.key:
            return ""
        return [(_("sorted, high to low") if self._order[1] else _("sorted, low to high"), "$accent")]

    @property
    def table(self) -> Table[Picked]:
        return self.query_one("#columns-table", Table)

    def on_mount(self) -> None:
        self._show()
        self.table.focus()

    def _show(self) -> None:
        self.table.items = tuple(self._items)

    def action_turn(self) -> None:
        """The last column stays: a table of none would show nothing."""
        at = self.table.cursor
        item = self._items[at]
        if item.is_shown and sum(other.is_shown for other in self._items) == 1:
            self.arl.refuse(_("One column has to stay"))
            return
        self._items[at] = replace(item, is_shown=not item.is_shown)
        self._show()

    def action_shift(self, step: int) -> None:
        at = self.table.cursor
        to = at + step
        if 0 <= to < len(self._items):
            self._items[at], self._items[to] = self._items[to], self._items[at]
            self._show()
            self.table.cursor = to

    def action_order(self) -> None:
        """By this column, the other way round, not at all."""
        key = self._items[self.table.cursor].key
        if self._order is None or self._order[0] != key:
            self._order = (key, False)
        else:
            self._order = (key, True) if not self._order[1] else None
        self._show()

    def action_usual(self) -> None:
        rank = {key: number for number, key in enumerate(self._usual)}
        self._items = sorted(
            (replace(item, is_shown=item.key in rank) for item in self._items),
            key=lambda item: rank.get(item.key, len(rank)),
        )
        self._order = None
        self._show()

    def action_done(self) -> None:
        self.dismiss(Layout(tuple(item.key for item in self._items if item.is_shown), self._order))
