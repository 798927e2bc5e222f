"""Small pictures of numbers, one character a value."""

import math
from collections.abc import Sequence
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇"
"""Without the full block: curves of rows above each other stay apart."""
EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEAST_SPAN = 0.1


def thin(values: Sequence[float], count: int) -> list[float]:
    """At most `count` values: the means of equal runs, so that nothing between two samples is lost."""
    if len(values) <= count:
        return list(values)
    edges = [round(index * len(values) / count) for index in range(count + 1)]
    runs = [values[start:stop] for start, stop in pairwise(edges)]
    return [sum(run) / len(run) for run in runs]


def sparkline(values: Sequence[float], width: int, *, low: float | None = None, high: float | None = None) -> str:
    """`values` as blocks in at most `width` characters.

    The scale spans the values but never less than a tenth of a unit, so that noise on a flat curve stays flat.
    Values that are no numbers leave a gap.
    """
    if width <= 0:
        return ""
    shown = thin(values, width)
    known = [value for value in shown if math.isfinite(value)]
    if not known:
        return " " * len(shown)
    floor = min(known) if low is None else low
    ceiling = max(known) if high is None else high
    if ceiling - floor < _LEAST_SPAN:
        middle = (ceiling + floor) / 2
        floor, ceiling = middle - _LEAST_SPAN / 2, middle + _LEAST_SPAN / 2
    top = len(BLOCKS) - 1

    def block(value: float) -> str:
        if not math.isfinite(value):
            return " "
        share = (value - floor) / (ceiling - floor)
        return BLOCKS[max(0, min(top, round(share * top)))]

    return "".join(map(block, shown))


def low_bar(share: float, width: int) -> str:
    """A bar in whole cells that leaves room above: for bars of rows above each other."""
    filled = round(max(0.0, min(1.0, share)) * width) if math.isfinite(share) else 0
    return ("▇" * filled).ljust(width)


def bar(share: float, width: int) -> str:
    """A bar filled to `share` (0..1) of `width` cells, with eighths of a cell."""
    if not math.isfinite(share):
        share = 0.0
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)
