"""Columns of a table and how they share, or give up, the width of a screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentic_rl_tui.widgets.cells import Align, Cell

T = TypeVar("T")

GAP = 2
"""Cells between two columns."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column over rows of type T.

    cell: the content of a row in so many cells. width: cells it needs to be useful; limit: cells it may grow to when
    there is room. fold: columns with a higher number leave a narrow screen first; 0 never leaves. sort: the key to
    order by, None where order means nothing; reverse: whether the first order is from high to low.
    """

    key: str
    title: str
    cell: Callable[[T, int], Cell]
    width: int
    limit: int | None = None
    align: Align = "left"
    fold: int = 0
    sort: Callable[[T], Any] | None = None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Place(Generic[T]):
    column: Column[T]
    x: int
    width: int


def place(columns: Sequence[Column[T]], width: int) -> tuple[Place[T], ...]:
    """The columns that fit into `width` cells, left to right, with the spare cells given to those that can grow."""
    kept = list(columns)
    while len(kept) > 1 and _need(kept) > width:
        worst = max(range(len(kept)), key=lambda index: (kept[index].fold, index))
        if kept[worst].fold == 0:
            break
        del kept[worst]
    spare = max(0, width - _need(kept))
    widths = [column.width for column in kept]
    growing = [index for index, column in enumerate(kept) if (column.limit or 0) > column.width]
    while spare and growing:
        share = max(1, spare // len(growing))
        for index in list(growing):
            extra = min(share, spare, (kept[index].limit or 0) - widths[index])
            widths[index] += extra
            spare -= extra
            if widths[index] >= (kept[index].limit or 0):
                growing.remove(index)
    places: list[Place[T]] = []
    x = 0
    for column, size in zip(kept, widths, strict=True):
        visible = min(size, width - x)
        if visible <= 0:
            break
        places.append(Place(column, x, visible))
        x += size + GAP
    return tuple(places)


def _need(columns: Sequence[Column[T]]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)
