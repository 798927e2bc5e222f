"""A curve over several rows, filled from below: more of a shape than a sparkline, less of a fuss than a chart."""

import math
from collections.abc import Sequence

from rich.cells import cell_len
from textual.geometry import Size
from textual.reactive import reactive
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.paint import Painted
from agentic_rl_tui.widgets.spark import thin

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def area(values: Sequence[float], width: int, height: int, low: float, high: float) -> list[str]:
    """Rows from top to bottom, `width` characters each: every column filled up to its value."""
    shown = stretch(thin(values, width), width) if values else []
    levels = [_level(value, low, high, height) for value in shown]
    return [
        "".join(_EIGHTHS[max(0, min(8, level - row * 8))] for level in levels).ljust(width)
        for row in range(height - 1, -1, -1)
    ]


def stretch(values: Sequence[float], width: int) -> list[float]:
    """As many values as there are cells; a short series fills the width in equal runs."""
    count = len(values)
    return [values[min(count - 1, cell * count // width)] for cell in range(width)] if count else []


def _level(value: float, low: float, high: float, height: int) -> int:
    if not math.isfinite(value) or high <= low:
        return 0
    return max(1, min(height * 8, round((value - low) / (high - low) * height * 8)))


class AreaChart(Painted):
    """In: `values` (oldest first), `share` (of the width that they fill), `color`, `bounds`, `ends` (of the axis)."""

    DEFAULT_CSS = """
    AreaChart {
        height: 7;
        width: 1fr;
        color: $muted;
    }
    """

    LABEL = 6

    values: reactive[tuple[float, ...]] = reactive[tuple[float, ...]](())
    share: reactive[float] = reactive(1.0)
    color: reactive[str] = reactive("$fill")
    bounds: reactive[tuple[float, float] | None] = reactive[tuple[float, float] | None](None)
    ends: reactive[tuple[str, str] | None] = reactive[tuple[str, str] | None](None)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return 7

    def _bounds(self) -> tuple[float, float]:
        if self.bounds is not None:
            return self.bounds
        known = [value for value in self.values if math.isfinite(value)] or [0.0, 1.0]
        return nice_bounds(min(known), max(known))

    def _axis(self, width: int) -> list[Span]:
        start, stop = self.ends or ("", "")
        room = width - cell_len(start) - cell_len(stop) - 3
        if not start or room < 1:
            return [(" └", "$line"), ("─" * width, "$line")]
        return [(" └ ", "$line"), (f"{start} ", "$faint"), ("─" * room, "$line"), (f" {stop}", "$faint")]

    def render_line(self, y: int) -> Strip:
        size = self.size
        base = self.rich_style
        height = size.height - 1
        width = max(1, size.width - self.LABEL - 2)
        low, high = self._bounds()
        if y == height:
            return self.strip([(" " * self.LABEL, ""), *self._axis(width)], size.width, base)
        label = f"{high:.2f}" if y == 0 else f"{low:.2f}" if y == height - 1 else ""
        filled = max(1, round(width * max(0.0, min(1.0, self.share))))
        rows = area(self.values, filled, height, low, high)
        line: list[Span] = [(f"{label:>{self.LABEL}}", "$muted"), (" │", "$line"), (rows[y], self.color)]
        return self.strip(line, size.width, base)


def nice_bounds(low: float, high: float) -> tuple[float, float]:
    """A scale around the values that ends on round numbers; 0 to 1 where they lie in it and use a good part of it."""
    if low >= 0.0 and high <= 1.0 and high - low > 0.2:
        return 0.0, 1.0
    span = high - low or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span))
    step = step if span / step > 4 else step / 2
    return math.floor((low - span * 0.05) / step) * step, math.ceil((high + span * 0.05) / step) * step
