"""Texts side by side in columns, line by line, with what differs marked; as many columns as there is room for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import Line, Span, fit
from agentic_rl_tui.widgets.paint import Painted
from agentic_rl_tui.widgets.wrapping import wrapped

LEAST_WIDTH = 38
"""Cells that a column needs; where there is no room for all of them, they are turned by pages."""
_FOLDED_ROWS = 6
_MOST_ROWS = 2000
_WHEEL_ROWS = 3


@dataclass(frozen=True, slots=True)
class SideColumn:
    """key names it; head are the lines above it, which stay when the rest scrolls."""

    key: str
    head: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """One text in one column. parts_at: how many characters it shares with what it is compared to; None: all."""

    title: Line
    text: str = ""
    style: str = "$ink"
    parts_at: int | None = None


@dataclass(frozen=True, slots=True)
class SideTexts:
    """Words drawn between the texts. shared is given how many turns, more takes ``{count}``."""

    shared: Callable[[int], str] = "{} shared turns".format
    more: str = "… {count} more characters"
    here: str = "first difference"
    same: str = "the same in every column"


class _Row(NamedTuple):
    line: int
    cells: tuple[Line, ...]
    is_caption: bool = False


class SideBySide(Painted, ScrollView, can_focus=True):
    """In: `show` with columns and lines (a block or None for each column). Out: `Opened`, `MarksChanged`, `Moved`.

    The owner binds keys to the actions. Text is data: the owner gives it without escapes; markup is never read.
    """

    DEFAULT_CSS = """
    SideBySide {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    is_folded: reactive[bool] = reactive(True, init=False)
    shows_prefix: reactive[bool] = reactive(False, init=False)

    @dataclass
    class Opened(Message):
        view: "SideBySide"
        key: str

    @dataclass
    class MarksChanged(Message):
        view: "SideBySide"

    @dataclass
    class Moved(Message):
        view: "SideBySide"

    def __init__(self, *, texts: SideTexts | None = None, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.texts = texts or SideTexts()
        self.columns: tuple[SideColumn, ...] = ()
        self.lines: tuple[tuple[Block | None, ...], ...] = ()
        self.prefix = 0
        self.differences: tuple[int, ...] = ()
        self.chosen = 0
        self.first = 0
        self.at_line: int | None = None
        self.marks: frozenset[str] = frozenset()
        self._rows: list[_Row] | None = None

    def show(
        self,
        columns: Sequence[SideColumn],
        lines: Sequence[tuple[Block | None, ...]],
        *,
        prefix: int,
        differences: Sequence[int],
    ) -> None:
        """prefix: how many of the first lines are the same in all columns; differences: the lines that are not."""
        kept = self.current
        self.columns, self.lines = tuple(columns), tuple(lines)
        self.prefix, self.differences = prefix, tuple(differences)
        names = [column.key for column in self.columns]
        self.marks &= frozenset(names)
        self.chosen = names.index(kept) if kept in names else 0
        self.at_line = self.differences[0] if self.differences else None
        self._lay_out()
        self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.aside(0)
        self._reveal_line()

    # Where we are

    @property
    def current(self) -> str | None:
        """The key of the chosen column."""
        return self.columns[self.chosen].key if self.chosen < len(self.columns) else None

    @property
    def picked(self) -> tuple[str, ...]:
        """The marked columns in their order, or else the chosen one."""
        marked = tuple(column.key for column in self.columns if column.key in self.marks)
        return marked or (() if self.current is None else (self.current,))

    @property
    def fitting(self) -> int:
        """How many columns are shown at once."""
        return max(1, min(len(self.columns), self.scrollable_size.width // LEAST_WIDTH))

    @property
    def _head_rows(self) -> int:
        return max((len(column.head) for column in self.columns), default=0) + 1

    def _page(self) -> int:
        return max(1, self.scrollable_size.height - self._head_rows)

    # Moving

    def _scroll(self, row: int) -> None:
        self.scroll_to(y=max(0, row), animate=False, immediate=True, force=True)
        self.refresh()

    def action_move(self, rows: int) -> None:
        self._scroll(round(self.scroll_offset.y) + rows)

    def action_page(self, pages: float) -> None:
        self.action_move(round(self._page() * pages))

    def action_edge(self, end: int) -> None:
        self._scroll(len(self.rows) if end else 0)

    def action_aside(self, columns: int) -> None:
        self.aside(columns)

    def aside(self, columns: int) -> None:
        """Choose a column further right or left; the page of columns follows."""
        self.chosen = max(0, min(self.chosen + columns, len(self.columns) - 1))
        first = max(min(self.first, self.chosen), self.chosen - self.fitting + 1)
        first = max(0, min(first, len(self.columns) - self.fitting))
        if first != self.first:
            self.first = first
            self._lay_out()
        self.refresh()
        self.post_message(self.Moved(self))

    def action_differ(self, direction: int) -> None:
        """To the next line that is not the same in all columns."""
        at = -1 if self.at_line is None else self.at_line
        later = [line for line in self.differences if line > at]
        earlier = [line for line in self.differences if line < at]
        found = (later[:1] if direction > 0 else earlier[-1:]) or [at]
        if found[0] >= 0:
            self.at_line = found[0]
            self._reveal_line()
            self.post_message(self.Moved(self))

    def _reveal_line(self) -> None:
        if self.at_line is None or not self.scrollable_size.height:
            return
        row = next((place for place, row in enumerate(self.rows) if row.line == self.at_line), 0)
        top, page = round(self.scroll_offset.y), self._page()
        if not top <= row < top + page - 2:
            self._scroll(row - page // 4)
        self.refresh()

    def action_open(self) -> None:
        if self.current is not None:
            self.post_message(self.Opened(self, self.current))

    def action_mark(self) -> None:
        if self.current is not None:
            self.marks ^= {self.current}
            self.refresh()
            self.post_message(self.MarksChanged(self))

    def clear_marks(self) -> None:
        self.marks = frozenset()
        self.refresh()
        self.post_message(self.MarksChanged(self))

    def action_fold(self) -> None:
        self.is_folded = not self.is_folded

    def watch_is_folded(self) -> None:
        self._lay_out()
        self._reveal_line()

    def action_prefix(self) -> None:
        self.shows_prefix = not self.shows_prefix

    def watch_shows_prefix(self) -> None:
        self._lay_out()
        if self.shows_prefix:
            self._scroll(0)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.action_move(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.action_move(-_WHEEL_ROWS)

    def on_click(self, event: events.Click) -> None:
        """A click chooses a column."""
        column = self.first + event.x // max(1, self._column_width)
        self.aside(min(column, len(self.columns) - 1) - self.chosen)

    def on_resize(self) -> None:
        self._lay_out()
        self.aside(0)
        self._reveal_line()

    # Laying out

    @property
    def _column_width(self) -> int:
        return self.scrollable_size.width // self.fitting

    @property
    def rows(self) -> list[_Row]:
        if self._rows is None:
            self._rows = self._made()
        return self._rows

    def _lay_out(self) -> None:
        self._rows = None
        self.virtual_size = Size(self.scrollable_size.width, len(self.rows) + self._head_rows)
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def _made(self) -> list[_Row]:
        rows: list[_Row] = []
        start = 0
        if len(self.columns) > 1 and self.lines and not self.differences:
            rows.append(_Row(-1, ([(f"= {self.texts.same}", "$warn")],), is_caption=True))
        elif self.prefix and not self.shows_prefix:
            text = self.texts.shared(self.prefix)
            rows.append(_Row(-1, ([(f"▸ {text}", "$muted")],), is_caption=True))
            start = self.prefix
        seen = range(self.first, min(len(self.columns), self.first + self.fitting))
        width = max(1, self._column_width - 3)
        for number in range(start, len(self.lines)):
            line = self.lines[number]
            cells = [self._block_rows(line[column], width) for column in seen]
            if number in self._different and self.differences[0] == number:
                rows.append(_Row(number, ([(f"≠ {self.texts.here} ", "$warn")],), is_caption=True))
            height = max(map(len, cells), default=0)
            rows += [_Row(number, tuple(c[place] if place < len(c) else () for c in cells)) for place in range(height)]
            rows.append(_Row(number, tuple(() for _ in cells)))
        return rows

    @property
    def _different(self) -> frozenset[int]:
        return frozenset(self.differences)

    def _block_rows(self, block: Block | None, width: int) -> list[Line]:
        if block is None:
            return [[("·", "$faint")]]
        most = _FOLDED_ROWS if self.is_folded else _MOST_ROWS
        rows: list[Line] = [fit(block.title, width)]
        end = 0
        for first, last in wrapped(block.text, width, most):
            rows.append(_split(block.text[first:last], first, block))
            end = last
        left = len(block.text) - end
        if left > 0 and block.text[end:].strip():
            rows.append([(self.texts.more.format(count=f"{left:,}"), "$faint")])
        return rows

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        base = self.rich_style
        if not self.columns:
            return Strip.blank(width, base)
        if y < self._head_rows:
            return self._head(y, width, base)
        place = y - self._head_rows + round(self.scroll_offset.y)
        if place >= len(self.rows):
            return Strip.blank(width, base)
        row = self.rows[place]
        is_different = row.line in self._different
        if row.is_caption:
            rule = "─" * max(0, width - 4) if row.line >= 0 else ""
            return self.strip([(" ", ""), *row.cells[0], (rule, "$line")], width, base)
        parts: list[Segment] = []
        for cell in row.cells:
            bar = ("▎", "$warn") if is_different and row.line == self.at_line else ("▏", "$line")
            edge = ("┊", "$warn") if is_different and row.line != self.at_line else bar
            line: list[Span] = [edge, (" ", ""), *fit(cell, self._column_width - 3), (" ", "")]
            parts += self.segments(line, base)
        return Strip(parts).adjust_cell_length(width, base)

    def _head(self, y: int, width: int, base: RichStyle) -> Strip:
        parts: list[Segment] = []
        for number in range(self.first, min(len(self.columns), self.first + self.fitting)):
            column = self.columns[number]
            is_chosen = number == self.chosen
            size = self._column_width
            if y == self._head_rows - 1:
                rule = "━" if is_chosen else "─"
                style = ("$accent" if self.has_focus else "$muted") if is_chosen else "$line"
                parts += self.segments([(rule * (size - 1), style), (" ", "")], base)
                continue
            mark = "▪" if column.key in self.marks and y == 0 else " "
            text = column.head[y] if y < len(column.head) else ()
            parts += self.segments([(mark, "$accent"), (" ", ""), *fit(list(text), size - 3), (" ", "")], base)
        return Strip(parts).adjust_cell_length(width, base)


def _split(text: str, first: int, block: Block) -> Line:
    """A row of a text; what it shares with the text it is compared to is quieter."""
    if block.parts_at is None:
        return [(text, block.style)]
    at = max(0, min(len(text), block.parts_at - first))
    spans: list[Span] = [(text[:at], "$muted"), (text[at:], f"{block.style} bold" if at else block.style)]
    return [span for span in spans if span[0]]
