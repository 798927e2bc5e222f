"""Every error of this session, in full and to copy."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.app.surfaces import Problem
from agentic_rl_tui.core.i18n import _, pgettext
from agentic_rl_tui.widgets.cells import Cell, Span
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.panels import Empty, Note
from agentic_rl_tui.widgets.table import Table

Numbered = tuple[int, Problem]


def _when(item: Numbered, _width: int) -> Cell:
    return [(item[1].at.strftime("%H:%M:%S") if item[1].at else _("start"), "$muted")]


def _why(item: Numbered, _width: int) -> Cell:
    return [(item[1].message.partition("\n")[0], "$ink")]


def _columns() -> tuple[Column[Numbered], ...]:
    return (
        Column("at", pgettext("of a clock", "TIME"), _when, 8),
        Column("doing", _("WHAT"), lambda item, _width: [(item[1].title, "$failed")], 26, 44),
        Column("message", _("WHY"), _why, 20, 100, fold=1),
    )


class Problems(Dialog[None]):
    BINDINGS = [
        Binding("y,c", "copy", "Copy", show=False),
        Binding("q,exclamation_mark", "dismiss_dialog", "Close", show=False),
    ]

    def __init__(self, items: Sequence[Problem]) -> None:
        super().__init__()
        self._items: tuple[Numbered, ...] = tuple(reversed(list(enumerate(items))))

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-tall"):
            yield Static(_("Problems of this session"), id="dialog-title", markup=False)
            if not self._items:
                empty = Empty()
                empty.title = _("No problems so far")
                yield empty
                return
            table: Table[Numbered] = Table(_columns(), lambda item: str(item[0]), id="problems-table")
            yield table
            with VerticalScroll(id="problems-detail"):
                yield Note(id="problems-text")
            yield Static(_("y copies · esc closes"), id="dialog-foot", markup=False)

    def on_mount(self) -> None:
        if self._items:
            table = self.query_one("#problems-table", Table)
            table.items = self._items
            table.focus()
            self._show()

    @property
    def current(self) -> Problem | None:
        item = self.query_one("#problems-table", Table).current if self._items else None
        return None if item is None else item[1]

    @on(Table.Highlighted)
    def _show(self) -> None:
        item = self.current
        if item is None:
            return
        lines: list[tuple[Span, ...]] = [((item.title, "$failed bold"),), ((item.message, "$ink"),)]
        if item.advice:
            lines.append(((f"→ {item.advice}", "$muted"),))
        if item.detail and item.detail != item.message:
            lines += [(("", ""),), *(((line, "$faint"),) for line in item.detail.splitlines())]
        self.query_one("#problems-text", Note).lines = tuple(lines)

    def action_copy(self) -> None:
        item = self.current
        if item is not None:
            self.arl.copy(item.text, _("problem"))
