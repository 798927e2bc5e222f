"""A table that draws only what is seen, over the line API."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import fit
from agentic_rl_tui.widgets.columns import GAP, Column, Place, place
from agentic_rl_tui.widgets.paint import Painted

T = TypeVar("T")

GUTTER = 3
"""Cells left of the first column: the cursor bar, the mark, a space."""
HEADER = 1


class Table(Painted, ScrollView, Generic[T], can_focus=True):
    """Rows of T under named columns; the cost depends on the rows seen, not on the rows there are.

    In: `items` (a sequence, replaced as a whole), `match` (which rows are shown), `order` (column key, reverse).
    Out: `Highlighted`, `Opened`, `MarksChanged`, `OrderChanged`.
    The cursor, the marks and the scroll position belong to row keys, so they survive every change of the items.
    """

    DEFAULT_CSS = """
    Table {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS = [
        Binding("down,j", "move(1)", "Down", id="table.down", show=False),
        Binding("up,k", "move(-1)", "Up", id="table.up", show=False),
        Binding("home,g", "first", "First row", id="table.first", show=False),
        Binding("end,G", "last", "Last row", id="table.last", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", id="table.page_down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", id="table.page_up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", id="table.half_down", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", id="table.half_up", show=False),
        Binding("enter", "open", "Open", id="table.open"),
        Binding("space", "mark", "Mark", id="table.mark", show=False),
        Binding("v", "mark_range", "Mark to here", id="table.mark_range", show=False),
        Binding("o", "order", "Sort by next column", id="table.order", show=False),
        Binding("O", "reverse", "Reverse order", id="table.reverse", show=False),
    ]

    # None of these repaints the whole: what changed on the screen is found and painted by itself.
    items: reactive[Sequence[T]] = reactive((), init=False, always_update=True, repaint=False)
    match: reactive[Callable[[T], bool] | None] = reactive[Callable[[T], bool] | None](None, init=False, repaint=False)
    order: reactive[tuple[str, bool] | None] = reactive[tuple[str, bool] | None](None, init=False, repaint=False)
    cursor: reactive[int] = reactive(0, init=False, repaint=False)

    @dataclass
    class Highlighted(Message):
        table: "Table[Any]"
        key: str | None

        @property
        def control(self) -> "Table[Any]":
            return self.table

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Table.Highlighted)

    @dataclass
    class Opened(Message):
        table: "Table[Any]"
        key: str

        @property
        def control(self) -> "Table[Any]":
            return self.table

    @dataclass
    class MarksChanged(Message):
        table: "Table[Any]"

        @property
        def control(self) -> "Table[Any]":
            return self.table

    @dataclass
    class OrderChanged(Message):
        table: "Table[Any]"

        @property
        def control(self) -> "Table[Any]":
            return self.table

    def __init__(
        self,
        columns: Sequence[Column[T]],
        key: Callable[[T], str],
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.columns = tuple(columns)
        self.key = key
        self.marks: frozenset[str] = frozenset()
        self._top: Callable[[T], bool] | None = None
        self._view: list[int] | None = None
        self._placed: tuple[int, tuple[Place[T], ...]] = (-1, ())
        self._anchor: str | None = None
        self._shown: dict[int, Strip] = {}

    # What is shown

    @property
    def row_count(self) -> int:
        """Rows that pass the filter."""
        return len(self.items) if self._view is None else len(self._view)

    def row(self, index: int) -> T:
        return self.items[index if self._view is None else self._view[index]]

    def rows(self) -> Iterator[T]:
        return (self.row(index) for index in range(self.row_count))

    @property
    def current(self) -> T | None:
        return self.row(self.cursor) if 0 <= self.cursor < self.row_count else None

    @property
    def chosen(self) -> tuple[T, ...]:
        """The marked rows in their order, or else the one under the cursor: what a verb acts on."""
        if self.marks:
            return tuple(item for item in self.items if self.key(item) in self.marks)
        return () if self.current is None else (self.current,)

    # Changes from outside

    def show(self, items: Sequence[T], *, top: Callable[[T], bool] | None = None) -> None:
        """Replace the items; rows for which `top` holds stand first in every order."""
        self._top = top
        self.items = items

    def set_columns(self, columns: Sequence[Column[T]]) -> None:
        """Show other columns; an order by a column that is gone ends."""
        self.columns = tuple(columns)
        self._placed = (-1, ())
        if self.order is not None and self._order_column() is None:
            self.order = None
        self._shown.clear()
        self.refresh()

    def watch_items(self, old: Sequence[T], new: Sequence[T]) -> None:
        if self.marks:
            alive = self.marks & {self.key(item) for item in new}
            if alive != self.marks:
                self.marks = alive
                self.post_message(self.MarksChanged(self))
        self._rebuild(old, self._view)

    def watch_match(self) -> None:
        self._rebuild(self.items, self._view)

    def watch_order(self) -> None:
        self._rebuild(self.items, self._view)
        self.post_message(self.OrderChanged(self))

    def _rebuild(self, old: Sequence[T], old_view: list[int] | None) -> None:
        """Filter and sort again, and put the cursor back on the row it was on, at the same height of the screen."""
        old_count = len(old) if old_view is None else len(old_view)
        before = self.cursor
        kept = None
        if 0 <= before < old_count:
            kept = self.key(old[before if old_view is None else old_view[before]])
        self._view = self._arrange()
        at = self._find(kept, near=before) if kept is not None else None
        if at is None:
            at = min(before, max(0, self.row_count - 1))
        height = round(self.scroll_offset.y)
        self.virtual_size = Size(self.size.width, self.row_count + HEADER)
        if at != before:
            self.set_reactive(Table.cursor, at)
            if height:
                self.scroll_to(y=max(0, height + at - before), animate=False, immediate=True, force=True)
        self._refresh_changed()
        current = self.current
        self.post_message(self.Highlighted(self, None if current is None else self.key(current)))

    def _arrange(self) -> list[int] | None:
        column = self._order_column()
        top = self._top
        if self.match is None and column is None and top is None:
            return None
        match = self.match
        view = [index for index, item in enumerate(self.items) if match is None or match(item)]
        if column is not None and column.sort is not None and self.order is not None:
            sort = column.sort
            view.sort(key=lambda index: sort(self.items[index]), reverse=self.order[1])
        if top is not None:
            first = [index for index in view if top(self.items[index])]
            if first:
                rest = set(first)
                view = first + [index for index in view if index not in rest]
        return view

    def _order_column(self) -> Column[T] | None:
        if self.order is None:
            return None
        return next((column for column in self.columns if column.key == self.order[0] and column.sort), None)

    def _find(self, key: str, *, near: int) -> int | None:
        """The index of a row by key; rows rarely move far, so the neighbourhood is searched first."""
        count = self.row_count
        for index in range(max(0, near - 64), min(count, near + 64)):
            if self.key(self.row(index)) == key:
                return index
        return next((index for index in range(count) if self.key(self.row(index)) == key), None)

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row with this key; False where it is not shown."""
        found = self._find(key, near=self.cursor)
        if found is not None:
            self.cursor = found
        return found is not None

    # The cursor

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.row_count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        self._reveal()
        self._repaint(old)
        self._repaint(new)
        current = self.current
        self.post_message(self.Highlighted(self, None if current is None else self.key(current)))

    def _reveal(self) -> None:
        top = round(self.scroll_offset.y)
        visible = max(1, self.size.height - HEADER)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True, force=True)
        elif self.cursor >= top + visible:
            self.scroll_to(y=self.cursor - visible + 1, animate=False, immediate=True, force=True)

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.row_count - 1

    def action_page(self, pages: float) -> None:
        self.cursor += round(max(1, self.size.height - HEADER) * pages)

    def action_open(self) -> None:
        current = self.current
        if current is not None:
            self.post_message(self.Opened(self, self.key(current)))

    # Marks and order

    def action_mark(self) -> None:
        current = self.current
        if current is None:
            return
        key = self.key(current)
        self._anchor = key
        self._set_marks(self.marks ^ {key})
        self.cursor += 1

    def action_mark_range(self) -> None:
        """Mark every row between the last one marked and the cursor."""
        if self.current is None:
            return
        start = self._find(self._anchor, near=self.cursor) if self._anchor is not None else None
        first, last = sorted((self.cursor if start is None else start, self.cursor))
        self._anchor = self.key(self.current)
        self._set_marks(self.marks | {self.key(self.row(index)) for index in range(first, last + 1)})

    def clear_marks(self) -> None:
        self._anchor = None
        self._set_marks(frozenset())

    def _set_marks(self, marks: frozenset[str]) -> None:
        if marks != self.marks:
            self.marks = marks
            self._refresh_changed()
            self.post_message(self.MarksChanged(self))

    def action_order(self) -> None:
        """Sort by the next column that has an order; after the last one, back to the order of the items."""
        keys = [column.key for column in self.columns if column.sort is not None]
        if not keys:
            return
        now = keys.index(self.order[0]) if self.order is not None and self.order[0] in keys else -1
        self.order = self._first_order(keys[now + 1]) if now + 1 < len(keys) else None

    def action_reverse(self) -> None:
        if self.order is not None:
            self.order = (self.order[0], not self.order[1])

    def _first_order(self, key: str) -> tuple[str, bool]:
        return key, next(column.reverse for column in self.columns if column.key == key)

    # Drawing

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, self.row_count + HEADER)
        self._reveal()

    @property
    def _places(self) -> tuple[Place[T], ...]:
        width = self.scrollable_size.width
        if self._placed[0] != width:
            self._placed = (width, place(self.columns, width - GUTTER - 1))
        return self._placed[1]

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._repaint(self.cursor)

    def _repaint(self, index: int) -> None:
        line = index - round(self.scroll_offset.y) + HEADER
        if HEADER <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    def _refresh_changed(self) -> None:
        """Repaint only the lines that differ from what is on the screen: an idle table sends nothing."""
        if not self._shown:
            self.refresh()
            return
        shown = dict(self._shown)
        for line in range(self.size.height):
            # A terminal is sent whole lines, so there is no use in finding the cells that differ.
            if line not in shown or self._draw(line) != shown[line]:
                self.refresh(Region(0, line, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        strip = self._shown[y] = self._draw(y)
        return strip

    def _draw(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if y < HEADER:
            return self._draw_header(width)
        index = y - HEADER + round(self.scroll_offset.y)
        base = self.rich_style
        if index >= self.row_count:
            return Strip.blank(width, base)
        item = self.row(index)
        is_cursor = index == self.cursor
        is_marked = self.key(item) in self.marks
        # A list that another widget steers, such as the input above it, is where that one's keys act.
        is_lit = self.has_focus or not self.can_focus
        if is_cursor:
            base += self.paint_style("on $cursor" if is_lit else "on $cursor-blurred")
        bar = Segment("▌" if is_cursor else " ", base + self.paint_style("$accent" if is_lit else "$faint"))
        mark = Segment("▪ " if is_marked else "  ", base + self.paint_style("$accent"))
        parts = [bar, mark]
        for number, spot in enumerate(self._places):
            if number:
                parts.append(Segment(" " * GAP, base))
            parts += self._cell(fit(spot.column.cell(item, spot.width), spot.width, spot.column.align), base)
        return Strip(parts).adjust_cell_length(width, base)

    def _cell(self, line: list[tuple[str, str]], base: RichStyle) -> list[Segment]:
        return self.segments(line, base)

    def _draw_header(self, width: int) -> Strip:
        base = self.rich_style
        style = base + self.paint_style("$faint")
        active = base + self.paint_style("$muted bold")
        parts = [Segment(" " * GUTTER, base)]
        for number, spot in enumerate(self._places):
            if number:
                parts.append(Segment(" " * GAP, base))
            title = spot.column.title
            is_active = self.order is not None and self.order[0] == spot.column.key
            if is_active and self.order is not None:
                title += " ▼" if self.order[1] else " ▲"
            ((text, _), *rest) = fit(title, spot.width, spot.column.align)
            text += "".join(part for part, _ in rest)
            parts.append(Segment(text, active if is_active else style))
        return Strip(parts).adjust_cell_length(width, base)

    # The mouse

    def _index_at(self, y: int) -> int | None:
        index = y - HEADER + round(self.scroll_offset.y)
        return index if y >= HEADER and index < self.row_count else None

    def on_click(self, event: events.Click) -> None:
        index = self._index_at(event.y)
        if index is not None:
            self.cursor = index
            if event.chain == 2:
                self.action_open()
            return
        if event.y >= HEADER:
            return
        for spot in self._places:
            if spot.x <= event.x - GUTTER < spot.x + spot.width + GAP and spot.column.sort is not None:
                if self.order is not None and self.order[0] == spot.column.key:
                    self.action_reverse()
                else:
                    self.order = self._first_order(spot.column.key)
