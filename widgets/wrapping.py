"""Text broken into rows of a width in cells, only as far as it is looked at."""

from collections.abc import Iterator

from agentic_rl_tui.widgets.cells import cut

_LEAST_SHARE = 0.6
"""A row is broken at a space when that fills at least so much of it."""


def wrapped(text: str, width: int, most: int) -> Iterator[tuple[int, int]]:
    """Start and end of each row in `text`, at most `most` rows; breaks of the text end a row and are in none."""
    at = count = 0
    while at < len(text) and count < most:
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        if stop == at:
            yield at, at
            at, count = at + 1, count + 1
            continue
        while at < stop and count < most:
            end = _row_end(text, at, stop, width)
            yield at, end
            count += 1
            at = end
            if at < stop and text[at] == " ":
                at += 1
        if at == stop:
            at += 1


def _row_end(text: str, at: int, stop: int, width: int) -> int:
    # No character takes less than a quarter of a cell on average, and what lies beyond is not even measured.
    piece = text[at : min(stop, at + 4 * width)]
    taken = len(cut(piece, width)) or 1
    end = at + taken
    if end < stop and text[end] != " ":
        space = text.rfind(" ", at + round(taken * _LEAST_SHARE), end)
        if space > at:
            return space
    return end
