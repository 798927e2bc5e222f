"""A log of any length, drawn line by line as it is looked at."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.segment import Segment
from textual import events, work
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip

from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.cells import Span, fit
from agentic_rl_tui.widgets.highlight import TROUBLE, highlight, marked
from agentic_rl_tui.widgets.lines import LineBuffer, LineSource
from agentic_rl_tui.widgets.paint import Painted

MARGIN = 2
"""Cells left of the text: the bar of the current match and a space."""
_MOST_CHARS = 200_000
_WHEEL_ROWS = 3
_SIDE_STEP = 16


class _Row(NamedTuple):
    line: int
    sub: int
    strip: Strip


class LogView(Painted, ScrollView, can_focus=True):
    """Lines of a `LineSource`; only those on the screen are read and drawn.

    In: `source`, `is_following`, `is_wrapped`, `has_numbers`, `pattern`, `placeholder` (shown while there is no
    line); call `grew` when the source has new lines.
    Out: `Asked` (the owner opens a prompt and calls `search` or `go_to`), `Moved`, `FollowChanged`, `SearchEnded`.
    Text from the source is data: no escape sequence and no markup in it acts.
    """

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS = [
        Binding("down,j", "move(1)", "Down", id="log.down", show=False),
        Binding("up,k", "move(-1)", "Up", id="log.up", show=False),
        Binding("right", "aside(1)", "Right", id="log.right", show=False),
        Binding("left", "aside(-1)", "Left", id="log.left", show=False),
        Binding("home,g", "first", "First line", id="log.first", show=False),
        Binding("end,G", "last", "Last line", id="log.last", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", "Page down", id="log.page_down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", id="log.page_up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", id="log.half_down", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", id="log.half_up", show=False),
        Binding("f", "follow", "Follow", id="log.follow"),
        Binding("slash", "ask('search')", "Search", id="log.search"),
        Binding("n", "again(1)", "Next match", id="log.next", show=False),
        Binding("N", "again(-1)", "Previous match", id="log.previous", show=False),
        Binding("e", "trouble(1)", "Next error", id="log.next_error", show=False),
        Binding("E", "trouble(-1)", "Previous error", id="log.previous_error", show=False),
        Binding("w", "wrap", "Wrap", id="log.wrap", show=False),
        Binding("number_sign", "numbers", "Line numbers", id="log.numbers", show=False),
        Binding("ctrl+g", "ask('line')", "Go to line", id="log.line", show=False),
    ]

    source: reactive[LineSource] = reactive[LineSource](LineBuffer, init=False, always_update=True)
    is_following: reactive[bool] = reactive(False, init=False)
    is_wrapped: reactive[bool] = reactive(False, init=False)
    has_numbers: reactive[bool] = reactive(False, init=False)
    pattern: reactive[re.Pattern[str] | None] = reactive[re.Pattern[str] | None](None, init=False)
    placeholder: reactive[str] = reactive("", init=False)
    match_line: reactive[int | None] = reactive[int | None](None, init=False)

    @dataclass
    class Asked(Message):
        view: "LogView"
        what: str

    @dataclass
    class Moved(Message):
        view: "LogView"

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LogView.Moved)

    @dataclass
    class FollowChanged(Message):
        view: "LogView"
        is_following: bool

    @dataclass
    class SearchEnded(Message):
        """line is None when nothing was found; went_round when the search passed an end of the log."""

        view: "LogView"
        line: int | None
        went_round: bool
        pattern: re.Pattern[str]

    def __init__(self, *, margin: int = MARGIN, **names: Any) -> None:
        super().__init__(**names)
        self._margin = margin
        self.top = 0
        self.sub = 0
        self._aside = 0
        self._rows: list[_Row] | None = None
        self._search_turn = 0

    # Where we are

    @property
    def line_count(self) -> int:
        return len(self.source)

    @property
    def page_rows(self) -> int:
        return max(1, self.scrollable_size.height)

    @property
    def last_seen(self) -> int:
        """The number of the last line on the screen, from 1."""
        rows = self._laid_out()
        return rows[-1].line + 1 if rows else 0

    @property
    def is_at_end(self) -> bool:
        return (self.top, self.sub) >= self._bottom()

    def watch_source(self) -> None:
        self.top = self.sub = self._aside = 0
        self.match_line = None
        self.grew()

    def grew(self) -> None:
        """The source has more lines than before."""
        self.virtual_size = Size(self.scrollable_size.width, self.line_count)
        if self.is_following:
            self._place(*self._bottom())
        else:
            self._redraw()

    def _place(self, top: int, sub: int = 0) -> None:
        """Put a line, or a row of a wrapped line, at the top of the screen."""
        self.top, self.sub = max(0, top), max(0, sub)
        self.scroll_to(y=self.top, animate=False, immediate=True, force=True)
        self._redraw()
        self.post_message(self.Moved(self))

    def _redraw(self) -> None:
        self._rows = None
        self.refresh()

    def on_scroll_to(self, event: ScrollTo) -> None:
        """The scroll bar was dragged."""
        event.stop()
        event.prevent_default()
        if event.y is not None:
            self._go(round(event.y), 0)

    def on_scroll_up(self, event: ScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.action_page(-1)

    def on_scroll_down(self, event: ScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.action_page(1)

    def _bottom(self) -> tuple[int, int]:
        """Where the top of the screen is when its last row shows the end of the log."""
        count = self.line_count
        rows = self.page_rows
        if not self.is_wrapped:
            return max(0, count - rows), 0
        line = count
        while line > 0 and rows > 0:
            line -= 1
            rows -= self._height(line)
        return line, max(0, -rows)

    # Moving

    def move_rows(self, rows: int) -> None:
        if not self.is_wrapped:
            self._go(self.top + rows, 0)
            return
        top, sub = self.top, self.sub + rows
        while sub < 0 and top > 0:
            top -= 1
            sub += self._height(top)
        while top < self.line_count - 1 and sub >= (height := self._height(top)):
            sub -= height
            top += 1
        self._go(top, max(0, sub))

    def _go(self, top: int, sub: int) -> None:
        target = max((0, 0), min((top, sub), self._bottom()))
        if target < (self.top, self.sub):
            self._let_go()
        if target != (self.top, self.sub):
            self._place(*target)

    def go_to(self, line: int) -> None:
        """Bring a line (from 0) into view, a third of the way down."""
        line = max(0, min(line, self.line_count - 1))
        self._let_go()
        self._place(*max((0, 0), min((line - self.page_rows // 3, 0), self._bottom())))

    def _let_go(self) -> None:
        self.is_following = False

    def watch_is_following(self, is_following: bool) -> None:
        if is_following:
            self._place(*self._bottom())
        self.post_message(self.FollowChanged(self, is_following))

    def action_move(self, rows: int) -> None:
        self.move_rows(rows)

    def action_page(self, pages: float) -> None:
        self.move_rows(round((self.page_rows - 1) * pages) or (1 if pages > 0 else -1))

    def action_first(self) -> None:
        self._let_go()
        self._place(0)

    def action_last(self) -> None:
        self._place(*self._bottom())
        self.is_following = True

    def action_follow(self) -> None:
        self.is_following = not self.is_following

    def action_aside(self, steps: int) -> None:
        if not self.is_wrapped:
            self._aside = max(0, self._aside + steps * _SIDE_STEP)
            self._redraw()

    def action_wrap(self) -> None:
        self.is_wrapped = not self.is_wrapped

    def watch_is_wrapped(self) -> None:
        self._aside = 0
        self._place(*((self._bottom()) if self.is_following else (self.top, 0)))

    def action_numbers(self) -> None:
        self.has_numbers = not self.has_numbers

    def watch_has_numbers(self) -> None:
        self._redraw()

    def action_ask(self, what: str) -> None:
        self.post_message(self.Asked(self, what))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.move_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.move_rows(-_WHEEL_ROWS)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_size.width, self.line_count)
        if self.is_following:
            self._place(*self._bottom())
        else:
            self._redraw()

    # Searching

    def search(self, text: str) -> None:
        """Find `text` from the top of the screen on, in the background. An empty text ends the search."""
        self._search_turn += 1
        self.match_line = None
        self.pattern = compile_search(text) if text else None
        if self.pattern is not None:
            self._seek(self.pattern, self.top, backwards=False)

    def action_again(self, direction: int) -> None:
        if self.pattern is None:
            self.action_ask("search")
            return
        self._seek(self.pattern, self._after_match(direction), backwards=direction < 0)

    def action_trouble(self, direction: int) -> None:
        self._seek(TROUBLE, self._after_match(direction), backwards=direction < 0)

    def _after_match(self, direction: int) -> int:
        if self.match_line is None:
            return self.top
        return self.match_line + direction

    @work(thread=True, exclusive=True, group="log.search", exit_on_error=False)
    def _seek(self, pattern: re.Pattern[str], start: int, *, backwards: bool) -> None:
        turn = self._search_turn
        source = self.source

        def is_old() -> bool:
            return turn != self._search_turn

        found = source.find(pattern, start, backwards=backwards, stop=is_old)
        went_round = False
        if found is None and not is_old():
            went_round = True
            found = source.find(pattern, len(source) - 1 if backwards else 0, backwards=backwards, stop=is_old)
        if not is_old():
            self.post_message(self.SearchEnded(self, found, went_round, pattern))

    def on_log_view_search_ended(self, event: SearchEnded) -> None:
        if event.line is not None:
            self.match_line = event.line
            self.go_to(event.line)

    def watch_pattern(self) -> None:
        self._redraw()

    def watch_match_line(self) -> None:
        self._redraw()

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._rows = None

    @property
    def _gutter(self) -> int:
        return self._margin + (len(str(self.line_count)) + 1 if self.has_numbers else 0)

    @property
    def _text_width(self) -> int:
        return max(1, self.scrollable_size.width - self._gutter)

    def _line_spans(self, raw: str) -> list[Span]:
        shown = raw[:_MOST_CHARS]
        line = ansi.spans(shown)
        if len(line) == 1 and not line[0][1]:
            line = highlight(line[0][0])
        if len(raw) > _MOST_CHARS:
            line.append((f" … {len(raw) - _MOST_CHARS:,} more characters", "$faint"))
        if self.pattern is not None:
            line = marked(line, self.pattern, "$match-ink on $match")
        return line

    def _line_strip(self, raw: str) -> Strip:
        if not self.is_wrapped:
            # What lies right of the screen is not even coloured; escapes take characters but no cells.
            raw = raw[: 4 * (self._aside + self._text_width) + 2048]
        return Strip(self.segments(self._line_spans(raw), self.rich_style))

    def _height(self, line: int) -> int:
        (raw,) = self.source.lines(line, line + 1) or ("",)
        length = self._line_strip(raw).cell_length
        return max(1, -(-length // self._text_width))

    def _laid_out(self) -> list[_Row]:
        """The rows on the screen. A wide character at the edge of a wrapped row is kept whole by the strip."""
        if self._rows is None:
            self._rows = self._wrapped_rows() if self.is_wrapped else self._plain_rows()
        return self._rows

    def _plain_rows(self) -> list[_Row]:
        lines = self.source.lines(self.top, self.top + self.page_rows)
        width = self._text_width
        rows = []
        for number, raw in enumerate(lines, self.top):
            strip = self._line_strip(raw)
            cut = strip.crop(self._aside, self._aside + width)
            if strip.cell_length > self._aside + width:
                cut = Strip([*cut.crop(0, width - 1), Segment("›", self.rich_style + self.paint_style("$faint"))])
            rows.append(_Row(number, 0, cut))
        return rows

    def _wrapped_rows(self) -> list[_Row]:
        rows: list[_Row] = []
        width = self._text_width
        wanted = self.page_rows
        line, sub = self.top, self.sub
        while len(rows) < wanted and line < self.line_count:
            (raw,) = self.source.lines(line, line + 1) or ("",)
            strip = self._line_strip(raw)
            height = max(1, -(-strip.cell_length // width))
            parts = range(sub, min(height, sub + wanted - len(rows)))
            rows += [_Row(line, part, strip.crop(part * width, (part + 1) * width)) for part in parts]
            line, sub = line + 1, 0
        return rows

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        base = self.rich_style
        rows = self._laid_out()
        if not rows and y == self.page_rows // 2:
            return self.strip(fit([(self.placeholder, "$muted")], width, "center"), width, base)
        if y >= len(rows):
            return Strip.blank(width, base)
        row = rows[y]
        is_match = row.line == self.match_line
        parts = [Segment(("▌" if is_match else " ").ljust(self._margin), base + self.paint_style("$accent"))]
        if self.has_numbers:
            digits = self._gutter - self._margin - 1
            number = f"{row.line + 1:>{digits}} " if row.sub == 0 else " " * (digits + 1)
            parts.append(Segment(number, base + self.paint_style("$accent" if is_match else "$faint")))
        return Strip([*parts, *row.strip]).adjust_cell_length(width, base)


def compile_search(text: str) -> re.Pattern[str]:
    """A pattern from what somebody typed: a regular expression where it is one; capitals make case count."""
    flags = 0 if any(char.isupper() for char in text) else re.IGNORECASE
    try:
        return re.compile(text, flags)
    except re.error:
        return re.compile(re.escape(text), flags)
