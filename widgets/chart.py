"""Curves over steps, drawn by plotext in the colours of the theme."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text
from textual.color import Color
from textual.content import Content
from textual.reactive import reactive
from textual_plotext import PlotextPlot

from agentic_rl_tui.widgets.area import nice_bounds
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import content

_MOST_POINTS = 400


@dataclass(frozen=True, slots=True)
class Line:
    """One curve. token is the theme variable of its colour, without ``$``."""

    label: str
    token: str
    steps: Sequence[float]
    values: Sequence[float]


class Chart(PlotextPlot):
    """In: `heading`, `lines`, `low` and `high` (the least extent of the scale). The title line is drawn here too."""

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

    def _rgb(self, token: str) -> Any:
        """A token as plotext takes colours; the terminal's own where the theme leaves it to the terminal."""
        color = Color.parse(self.app.theme_variables.get(token, "ansi_default"))
        return color.rgb if color.ansi is None else "default"

    def _title(self) -> Content:
        spans: list[Span] = [(f"  {self.heading}", "$ink bold")]
        for line in self.lines:
            if len(self.lines) > 1:
                spans.append((f"   ━ {line.label}", f"${line.token}"))
            if line.values:
                spans.append((f"  {line.values[-1]:.4g}", "$ink" if len(self.lines) == 1 else f"${line.token}"))
        return content(spans)

    def render(self) -> Text:
        width, height = self.size.width, max(3, self.size.height - 1)
        plot = self.plt
        plot.clear_figure()
        plot.plotsize(width, height)
        plot._set_size(width, height)
        for item in self.lines:
            steps, values = _thinned(item.steps, item.values)
            if len(values) == 1:
                plot.scatter(steps, values, marker="●", color=self._rgb(item.token))
            elif values:
                plot.plot(steps, values, marker="braille", color=self._rgb(item.token))
        plot.canvas_color("default")
        plot.axes_color("default")
        plot.ticks_color(self._rgb("faint"))
        plot.xaxes(True, False)
        plot.yaxes(True, False)
        self._scale()
        body = Text.from_ansi(plot.build())
        title = self._title()
        head = Text(title.plain)
        for span in title.spans:
            head.stylize(self._rich(span.style), span.start, span.end)
        head.truncate(width, overflow="ellipsis")
        return Text("\n").join([head, body])

    def _rich(self, style: Any) -> Any:
        from textual.style import Style

        return (Style.parse(style) if isinstance(style, str) else style).rich_style

    def _scale(self) -> None:
        values = [value for item in self.lines for value in item.values]
        steps = [step for item in self.lines for step in item.steps]
        if not values:
            return
        low, high = nice_bounds(min(values), max(values))
        low = low if self.low is None else min(self.low, *values)
        high = high if self.high is None else max(self.high, *values)
        self.plt.ylim(low, high)
        ticks = [low, (low + high) / 2, high]
        self.plt.yticks(ticks, [f"{tick:>8.3g}" for tick in ticks])
        first, last = min(steps), max(steps)
        if last > first:
            self.plt.xlim(first, last)
            marks = sorted({first, first + round((last - first) / 2), last})
            self.plt.xticks(marks, [f"{mark:g}" for mark in marks])


def _thinned(steps: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most a few hundred points: a terminal has no room for more."""
    stride = -(-len(steps) // _MOST_POINTS) or 1
    picked = range(0, len(steps), stride)
    last = len(steps) - 1
    indices = [*picked, last] if steps and last % stride else list(picked)
    return [steps[index] for index in indices], [values[index] for index in indices]
