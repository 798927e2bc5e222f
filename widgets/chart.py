"""Curves over steps, drawn by plotext in the colours of the theme."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text
from textual.color import Color
from textual.content import Content
from textual.reactive import reactive
from textual_plotext import PlotextPlot

from agentic_rl_tui.widgets.area import nice_bounds
from agentic_rl_tui.widgets.cells import Span, width_of
from agentic_rl_tui.widgets.panels import content

_MOST_POINTS = 400
_LEAST_WIDTH, _LEAST_HEIGHT = 16, 4


@dataclass(frozen=True, slots=True)
class Line:
    """One curve. token is the theme variable of its colour, without ``$``; raw, drawn faintly, what was smoothed."""

    label: str
    token: str
    steps: Sequence[float]
    values: Sequence[float]
    raw: Sequence[float] = ()

    def at(self, step: float) -> tuple[float, float] | None:
        """The last point at or before a step."""
        place = bisect_right(self.steps, step) - 1
        return (self.steps[place], self.values[place]) if place >= 0 else None


class Chart(PlotextPlot):
    """In: `heading`, `lines`, `low` and `high` (the least extent of the scale), `cursor` (a step whose values the title
    tells), `is_log`. A logarithmic scale is used where every value is above zero. The title line is drawn here too."""

    DEFAULT_CSS = """
    Chart {
        height: 12;
        border-top: blank;
        color: $muted;
    }
    """

    heading: reactive[str] = reactive("")
    lines: reactive[tuple[Line, ...]] = reactive[tuple[Line, ...]](())
    low: reactive[float | None] = reactive[float | None](None)
    high: reactive[float | None] = reactive[float | None](None)
    cursor: reactive[float | None] = reactive[float | None](None)
    is_log: reactive[bool] = reactive(False)

    def _rgb(self, token: str) -> Any:
        """A token as plotext takes colours: where the theme names one of the terminal's own, by its number."""
        color = Color.parse(self.app.theme_variables.get(token, "ansi_default"))
        if color.ansi is None:
            return color.rgb
        return color.ansi if color.ansi >= 0 else "default"

    @property
    def _values(self) -> list[float]:
        return [value for item in self.lines for value in (*item.values, *item.raw)]

    @property
    def draws_log(self) -> bool:
        values = self._values
        return self.is_log and bool(values) and min(values) > 0

    def _title(self, width: int) -> Content:
        spans: list[Span] = [(f" {self.heading}", "$ink bold")]
        if self.draws_log:
            spans.append((" log", "$muted"))
        is_only = len(self.lines) == 1
        for line in self.lines:
            named: list[Span] = [] if is_only else [(f"   ━ {line.label}".rstrip(), f"${line.token}")]
            named += self._value(line, "$ink" if is_only else f"${line.token}")
            if width_of([*spans, *named]) > width:
                # Half a name or half a number says less than none.
                spans.append((" …", "$faint"))
                break
            spans += named
        return content(spans)

    def _value(self, line: Line, style: str) -> list[Span]:
        """The value at the cursor, with its step where that is another one; the last value where there is no cursor."""
        if self.cursor is None:
            return [(f"  {line.values[-1]:.4g}", style)] if line.values else []
        found = line.at(self.cursor)
        if found is None:
            return [("  –", "$faint")]
        step, value = found
        shown: list[Span] = [(f"  {value:.4g}", f"{style} bold")]
        return shown if step == self.cursor else [*shown, (f" @{step:g}", "$faint")]

    def render(self) -> Text:
        width, height = self.size.width, max(3, self.size.height - 1)
        title = self._title(width)
        head = Text(title.plain)
        for span in title.spans:
            head.stylize(self._rich(span.style), span.start, span.end)
        head.truncate(width, overflow="ellipsis")
        if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
            return head
        return Text("\n").join([head, self._drawn(width, height)])

    def _drawn(self, width: int, height: int) -> Text:
        plot = self.plt
        plot.clear_figure()
        plot.plotsize(width, height)
        plot._set_size(width, height)
        for item in self.lines:
            if item.raw:
                self._line(item.steps, item.raw, "faint")
        for item in self.lines:
            self._line(item.steps, item.values, item.token)
        plot.canvas_color("default")
        plot.axes_color("default")
        plot.ticks_color(self._rgb("faint"))
        plot.xaxes(True, False)
        plot.yaxes(True, False)
        self._scale()
        return Text.from_ansi(plot.build())

    def _line(self, steps: Sequence[float], values: Sequence[float], token: str) -> None:
        shown_steps, shown = _thinned(steps, values)
        if self.draws_log:
            shown = [math.log10(value) for value in shown]
        if len(shown) == 1:
            self.plt.scatter(shown_steps, shown, marker="●", color=self._rgb(token))
        elif shown:
            self.plt.plot(shown_steps, shown, marker="braille", color=self._rgb(token))

    def _rich(self, style: Any) -> Any:
        from textual.style import Style

        return (Style.parse(style) if isinstance(style, str) else style).rich_style

    def _scale(self) -> None:
        values = self._values
        steps = [step for item in self.lines for step in item.steps]
        if not values:
            return
        low, high = self._bounds(values)
        self.plt.ylim(low, high)
        ticks = [low, (low + high) / 2, high]
        self.plt.yticks(ticks, [f"{10**tick if self.draws_log else tick:>8.3g}" for tick in ticks])
        first, last = min(steps), max(steps)
        if last > first:
            self.plt.xlim(first, last)
            marks = sorted({first, first + round((last - first) / 2), last})
            self.plt.xticks(marks, [f"{mark:g}" for mark in marks])
        if self.cursor is not None and first <= self.cursor <= last:
            self.plt.vline(self.cursor, self._rgb("muted"))

    def _bounds(self, values: Sequence[float]) -> tuple[float, float]:
        if self.draws_log:
            low, high = math.log10(min(values)), math.log10(max(values))
            return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)
        low, high = nice_bounds(min(values), max(values))
        low = low if self.low is None else min(self.low, *values)
        high = high if self.high is None else max(self.high, *values)
        return (low, high) if high > low else (low, low + 1.0)


def _thinned(steps: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most a few hundred points: a terminal has no room for more."""
    stride = -(-len(steps) // _MOST_POINTS) or 1
    picked = range(0, len(steps), stride)
    last = len(steps) - 1
    indices = [*picked, last] if steps and last % stride else list(picked)
    return [steps[index] for index in indices], [values[index] for index in indices]
