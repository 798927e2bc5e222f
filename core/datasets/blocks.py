"""Reading a file as blocks of whole lines, so that any range of it can be read alone with the same result."""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

BLOCK = 1 << 18
"""Ranges begin at multiples of this many bytes."""
MAX_LINE = 2 << 20
"""Longer lines are passed over, so that memory stays bounded."""
BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines that begin inside the block of this number.

    huge is the length of a passed-over line that follows them, or 0.
    """

    number: int
    data: bytes
    huge: int


def blocks(file: BinaryIO, start: int, end: int) -> Iterator[Block]:
    """The lines that begin in start..end, block by block; both are multiples of BLOCK, or the end of the file."""
    at = _first_line(file, start)
    while at < end:
        number = at // BLOCK
        data = file.read(min((number + 1) * BLOCK, end) - at)
        if not data:
            return
        at += len(data)
        huge = 0
        if not data.endswith(b"\n"):
            tail = file.readline(MAX_LINE + 1)
            at += len(tail)
            begin = data.rfind(b"\n") + 1
            length = len(data) - begin + len(tail)
            if length > MAX_LINE:
                rest = 0 if tail.endswith(b"\n") else _pass_line(file)
                at += rest
                huge = length + rest
                data = data[:begin]
            else:
                data += tail
        yield Block(number, data, huge)


def _first_line(file: BinaryIO, start: int) -> int:
    """Go to the first line that begins at `start` or later; where that is."""
    if start == 0:
        file.seek(0)
        return 0
    file.seek(start - 1)
    return start - 1 + _pass_line(file)


def _pass_line(file: BinaryIO) -> int:
    """Read to the end of the line; how many bytes that were."""
    size = 0
    while piece := file.readline(1 << 16):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size
