"""The lines of a log laid out in rows and painted: what of it is on the screen, and how high each line is."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.cells import Span, fit, in_pieces
from agentic_rl_tui.widgets.highlight import highlight, marked, seconds_of
from agentic_rl_tui.widgets.lines import LineBuffer, LineSource
from agentic_rl_tui.widgets.lines_sieve import Sifted
from agentic_rl_tui.widgets.paint import Painted
from agentic_rl_tui.widgets.wrapping import wrapped

MARGIN = 2
"""Cells left of the text: the bar of the current match and a space."""
_MOST_CHARS = 200_000
_LOOK_BACK = 64
"""Lines without a time, such as those of a traceback, that may stand between two that have one."""
_MOST_WINDOWS = 3


@dataclass(frozen=True, slots=True)
class LogTexts:
    """The words that a log view adds to the lines. more takes ``{count}``; later turns seconds into words."""

    more: str = "… {count} more characters"
    later: Callable[[int], str] = "{} s later".format


class Row(NamedTuple):
    line: int
    sub: int
    strip: Strip
    is_gap: bool = False


@dataclass(slots=True)
class _Window:
    """Some lines that follow each other, as read: their texts, whole lengths, times passed before them, heights."""

    first: int
    texts: list[str]
    lengths: list[int]
    gaps: dict[int, int]
    heights: dict[int, int] = field(default_factory=dict)


class LogRows(Painted, ScrollView):
    """The drawing half of a log view: subclasses move `top` and `sub`."""

    source: reactive[LineSource] = reactive[LineSource](LineBuffer, init=False, always_update=True)
    is_wrapped: reactive[bool] = reactive(False, init=False)
    is_raw: reactive[bool] = reactive(False, init=False)
    has_numbers: reactive[bool] = reactive(False, init=False)
    gap_s: reactive[int] = reactive(0, init=False)
    pattern: reactive[re.Pattern[str] | None] = reactive[re.Pattern[str] | None](None, init=False)
    placeholder: reactive[str] = reactive("", init=False)
    match_line: reactive[int | None] = reactive[int | None](None, init=False)

    def __init__(
        self, *, margin: int = MARGIN, texts: LogTexts | None = None, is_prose: bool = False, **names: Any
    ) -> None:
        """is_prose: wrapped rows break between words and keep the indentation of their line."""
        super().__init__(**names)
        self.is_prose = is_prose
        self.texts = texts or LogTexts()
        self._margin = margin
        self.top = 0
        self.sub = 0
        self._aside = 0
        self._rows: list[Row] | None = None
        self._windows: list[_Window] = []
        self.sifted: Sifted | None = None

    # What there is

    @property
    def shown(self) -> LineSource:
        """The lines to look at: all of the source, or those that pass the filter."""
        return self.source if self.sifted is None else self.sifted

    @property
    def line_count(self) -> int:
        return len(self.shown)

    def number_of(self, index: int) -> int:
        """Which line of the whole log a line on the screen is, from 0."""
        return index if self.sifted is None else self.sifted.number(index)

    @property
    def page_rows(self) -> int:
        return max(1, self.scrollable_size.height)

    @property
    def last_seen(self) -> int:
        """The number of the last line on the screen among those shown, from 1."""
        rows = self._laid_out()
        return rows[-1].line + 1 if rows else 0

    def _redraw(self) -> None:
        self._rows = None
        self.refresh()

    def _forget(self) -> None:
        """Read the lines anew when they are looked at."""
        self._windows.clear()
        self._redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._rows = None

    # Reading

    def _window(self, line: int) -> _Window:
        for place, window in enumerate(self._windows):
            if window.first <= line < window.first + len(window.texts):
                if place:
                    self._windows.insert(0, self._windows.pop(place))
                return window
        first = max(0, line - self.page_rows)
        window = self._read(first, min(self.line_count, line + 2 * self.page_rows + 1))
        self._windows.insert(0, window)
        del self._windows[_MOST_WINDOWS:]
        return window

    def _read(self, first: int, stop: int) -> _Window:
        before = max(0, first - _LOOK_BACK) if self.gap_s else first
        raw = self.shown.lines(before, stop)
        gaps: dict[int, int] = {}
        last: int | None = None
        for number, text in enumerate(raw, before) if self.gap_s else ():
            now = seconds_of(text)
            if now is not None:
                if last is not None and now - last >= self.gap_s:
                    gaps[number] = now - last
                last = now
        kept = raw[first - before :]
        return _Window(first, [text[:_MOST_CHARS] for text in kept], [len(text) for text in kept], gaps)

    def _text(self, line: int) -> tuple[str, int]:
        """A line and its whole length; empty where the source has it no more."""
        window = self._window(line)
        place = line - window.first
        return (window.texts[place], window.lengths[place]) if place < len(window.texts) else ("", 0)

    # Laying out

    @property
    def _gutter(self) -> int:
        return self._margin + (len(str(len(self.source))) + 1 if self.has_numbers else 0)

    @property
    def _text_width(self) -> int:
        return max(1, self.scrollable_size.width - self._gutter)

    def _line_spans(self, text: str, length: int) -> list[Span]:
        line = ansi.raw_spans(text) if self.is_raw else ansi.spans(text)
        if len(line) == 1 and not line[0][1] and not self.is_raw:
            line = highlight(line[0][0])
        if length > _MOST_CHARS:
            more = self.texts.more.format(count=f"{length - _MOST_CHARS:,}")
            line.append((f" {more}", "$faint"))
        if self.pattern is not None:
            line = marked(line, self.pattern, "$match-ink on $match")
        return line

    def _line_strip(self, line: int, width: int, base: RichStyle) -> Strip:
        text, length = self._text(line)
        if not self.is_wrapped:
            # What lies right of the screen is not even coloured; escapes take characters but no cells.
            text = text[: 4 * (self._aside + width) + 2048]
        return Strip(self.segments(list(in_pieces(self._line_spans(text, length))), base))

    def _height(self, line: int) -> int:
        """Rows that a line takes, with the mark of the time that passed before it."""
        window = self._window(line)
        height = window.heights.get(line)
        if height is None:
            height = 1
            if self.is_wrapped:
                width = self._text_width
                height = len(self._cuts(self._line_strip(line, width, self.rich_style), width))
            height += line in window.gaps
            window.heights[line] = height
        return height

    def _bottom(self) -> tuple[int, int]:
        """Where the top of the screen is when its last row shows the end of the log."""
        line = self.line_count
        rows = self.page_rows
        while line > 0 and rows > 0:
            line -= 1
            rows -= self._height(line)
        return line, max(0, -rows)

    def _laid_out(self) -> list[Row]:
        """The rows on the screen. A wide character at the edge of a wrapped row is kept whole by the strip."""
        if self._rows is None:
            rows: list[Row] = []
            line, sub = self.top, self.sub
            # Asking the styles and the layout for these takes longer than drawing a line.
            wanted, width, count, base = self.page_rows, self._text_width, self.line_count, self.rich_style
            while len(rows) < wanted and line < count:
                rows += self._rows_of(line, sub, wanted - len(rows), width, base)
                line, sub = line + 1, 0
            self._rows = rows
        return self._rows

    def _rows_of(self, line: int, sub: int, most: int, width: int, base: RichStyle) -> list[Row]:
        rows: list[Row] = []
        gap = self._window(line).gaps.get(line)
        if gap is not None:
            if sub == 0:
                rows.append(Row(line, 0, self._gap_strip(gap), is_gap=True))
            sub = max(0, sub - 1)
        strip = self._line_strip(line, width, base)
        if not self.is_wrapped:
            cut = strip.crop(self._aside, self._aside + width)
            if strip.cell_length > self._aside + width:
                cut = Strip([*cut.crop(0, width - 1), Segment("›", base + self.paint_style("$faint"))])
            rows.append(Row(line, 0, cut))
            return rows[:most]
        cuts = self._cuts(strip, width)
        lead = Segment(" " * self._indent(strip.text, width) if self.is_prose else "", base)
        for part in range(sub, min(len(cuts), sub + most - len(rows))):
            row = strip.crop(*cuts[part])
            rows.append(Row(line, part, Strip([lead, *row]) if part and lead.text else row))
        return rows

    def _indent(self, text: str, width: int) -> int:
        return min(len(text) - len(text.lstrip(" ")), width // 2)

    def _cuts(self, strip: Strip, width: int) -> list[tuple[int, int]]:
        """The first and last cell of each row of a wrapped line."""
        whole = strip.cell_length
        if not self.is_prose or whole <= width:
            return [(start, start + width) for start in range(0, max(1, whole), width)]
        text = strip.text
        indent = self._indent(text, width)
        cuts: list[tuple[int, int]] = []
        at = cell = indent
        for start, stop in wrapped(text[indent:], width - indent, len(text)):
            cell += cell_len(text[at : indent + start])
            end = cell + cell_len(text[indent + start : indent + stop])
            cuts.append((cell if cuts else 0, end))
            at, cell = indent + stop, end
        return cuts

    def _gap_strip(self, seconds: int) -> Strip:
        text = f"┄┄┄ {self.texts.later(seconds)} "
        line = fit([(text, "$warn")], min(self._text_width, len(text) + 24))
        base = self.rich_style
        rule = "┄" * max(0, self._text_width - len(text))
        return (
            Strip(self.segments([(text, "$warn"), (rule, "$line")], base)) if rule else Strip(self.segments(line, base))
        )

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        base = self.rich_style
        rows = self._laid_out()
        if not rows and y == self.page_rows // 2:
            return self.strip(fit([(self.placeholder, "$muted")], width, "center"), width, base)
        if y >= len(rows):
            return Strip.blank(width, base)
        row = rows[y]
        is_match = row.line == self.match_line and not row.is_gap
        parts = [Segment(("▌" if is_match else " ").ljust(self._margin), base + self.paint_style("$accent"))]
        if self.has_numbers:
            digits = self._gutter - self._margin - 1
            is_first = row.sub == 0 and not row.is_gap
            number = f"{self.number_of(row.line) + 1:>{digits}} " if is_first else " " * (digits + 1)
            parts.append(Segment(number, base + self.paint_style("$accent" if is_match else "$faint")))
        return Strip([*parts, *row.strip]).adjust_cell_length(width, base)
