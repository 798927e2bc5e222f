"""Where a log view reads its lines: from memory, or from a file of any size."""

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

Stop = Callable[[], bool]


class LineSource(Protocol):
    """Lines by number, from 0. `find` may run in a thread while lines are added."""

    def __len__(self) -> int: ...

    def lines(self, start: int, stop: int) -> Sequence[str]: ...

    def find(self, pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop) -> int | None:
        """The nearest line from `start` on that matches, without going around; None where there is none."""
        ...

    def blocks(self, start: int) -> Iterator[bytes]:
        """Whole lines from `start` on, a good part of a megabyte at a time, each ended by a break.

        What is not shown of a line that is too long is left out here too.
        """
        ...


class LineBuffer:
    """Lines held in memory, added at the end."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = list(lines)

    def __len__(self) -> int:
        return len(self._lines)

    def append(self, lines: Iterable[str]) -> None:
        self._lines += lines

    def clear(self) -> None:
        self._lines.clear()

    def lines(self, start: int, stop: int) -> Sequence[str]:
        return self._lines[start:stop]

    def find(self, pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop) -> int | None:
        order = range(min(start, len(self._lines) - 1), -1, -1) if backwards else range(max(0, start), len(self._lines))
        for turn, index in enumerate(order):
            if not turn % 1024 and stop():
                return None
            if pattern.search(self._lines[index]):
                return index
        return None

    def blocks(self, start: int) -> Iterator[bytes]:
        for first in range(start, len(self._lines), _BLOCK_LINES):
            part = self._lines[first : first + _BLOCK_LINES]
            text = "".join(f"{line[:BLOCK]}\n" for line in (line.replace("\n", " ") for line in part))
            yield text.encode("utf-8", "replace")


BLOCK = 1 << 20
_BLOCK_LINES = 4096
Finder = Callable[[bytes, int], int]
"""Where something is first found in data[:end]; -1 where it is not."""
SPECIAL = frozenset(r".^$*+?{}[]\|()")


class FileLines:
    """Lines of a file, read where they are needed.

    Only the number of line breaks before each megabyte is kept, so the memory does not grow with the lines; `index`
    counts them and may be called again when the file has grown. Longer lines than `longest` bytes are cut.
    """

    def __init__(self, path: Path, *, longest: int = 1 << 20) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._longest = longest
        self._breaks = [0]
        self._size = 0
        self._tail_open = False
        # The first screen is there at once; the rest is counted by `index`.
        self._count(1)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __len__(self) -> int:
        return self._breaks[-1] + self._tail_open

    def index(self, stop: Stop = lambda: False) -> None:
        """Count the lines of what the file holds now, from where the last count ended; lines show as they are found."""
        while self._count(16) and not stop():
            pass

    def _count(self, blocks: int) -> bool:
        """Count so many blocks more; False when there is nothing more to count."""
        size = os.fstat(self._file).st_size
        if size < self._size:
            self._breaks, self._size, self._tail_open = [0], 0, False
        full = self._size // BLOCK
        # A block that was not full is counted anew.
        breaks = self._breaks[: full + 1]
        offset = full * BLOCK
        stop = min(size, offset + blocks * BLOCK)
        if self._size >= size:
            return False
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        count = 0
        while offset < stop:
            count = os.preadv(self._file, [view[: min(BLOCK, stop - offset)]], offset)
            if not count:
                break
            breaks.append(breaks[-1] + buffer.count(b"\n", 0, count))
            offset += count
        self._breaks, self._size, self._tail_open = breaks, offset, count > 0 and buffer[count - 1] != 0x0A
        return offset < size

    def lines(self, start: int, stop: int) -> Sequence[str]:
        stop = min(stop, len(self))
        if start >= stop:
            return []
        offset = self._offset(start)
        out: list[str] = []
        pending = b""
        skipping = False
        while len(out) < stop - start and offset < self._size:
            piece = os.pread(self._file, min(BLOCK >> 4, self._size - offset), offset)
            if not piece:
                break
            offset += len(piece)
            *whole, rest = piece.split(b"\n")
            for part in whole:
                out.append(self._text(pending if skipping else pending + part))
                pending, skipping = b"", False
                if len(out) == stop - start:
                    return out
            if not skipping:
                pending += rest
                skipping = len(pending) > self._longest
        if len(out) < stop - start:
            out.append(self._text(pending))
        return out

    def _text(self, raw: bytes) -> str:
        return raw[: self._longest].decode("utf-8", "replace").removesuffix("\r")

    def _offset(self, line: int) -> int:
        """Where a line starts: the block that holds the break before it, then a scan inside that block."""
        if line == 0:
            return 0
        block = bisect_left(self._breaks, line) - 1
        left = line - self._breaks[block]
        data = os.pread(self._file, BLOCK, block * BLOCK)
        at = -1
        for _ in range(left):
            at = data.find(b"\n", at + 1)
        return block * BLOCK + at + 1

    def _line_at(self, offset: int) -> int:
        block = offset // BLOCK
        return self._breaks[block] + os.pread(self._file, offset - block * BLOCK, block * BLOCK).count(b"\n")

    def blocks(self, start: int) -> Iterator[bytes]:
        offset = self._offset(start) if start < len(self) else self._size
        while offset < self._size:
            data = os.pread(self._file, min(BLOCK, self._size - offset), offset)
            end = data.rfind(b"\n") + 1
            if end:
                yield data[:end]
                offset += end
            else:
                yield data[: self._longest] + b"\n"
                offset = self._past_break(offset + len(data))

    def _past_break(self, offset: int) -> int:
        """Where the line after the one at `offset` starts; the end where there is none."""
        while offset < self._size:
            found = os.pread(self._file, BLOCK, offset).find(b"\n")
            if found >= 0:
                return offset + found + 1
            offset += BLOCK
        return self._size

    def find(self, pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop) -> int | None:
        raw = re.compile(pattern.pattern.encode(), pattern.flags & re.IGNORECASE | re.MULTILINE)
        if start < 0 or start >= len(self):
            return None
        return self._before(raw, start, stop) if backwards else self._after(_finder(pattern, raw), start, stop)

    def _after(self, find: Finder, start: int, stop: Stop) -> int | None:
        offset = self._offset(start)
        while offset < self._size and not stop():
            data = os.pread(self._file, 4 * BLOCK, offset)
            end = len(data) if offset + len(data) >= self._size else data.rfind(b"\n") + 1
            # A line longer than the block is searched in pieces: better than not at all.
            end = end or len(data)
            found = find(data, end)
            if found >= 0:
                return self._line_at(offset + found)
            offset += end
        return None

    def _before(self, raw: re.Pattern[bytes], start: int, stop: Stop) -> int | None:
        end = self._offset(start + 1) if start + 1 < len(self) else self._size
        while end > 0 and not stop():
            begin = max(0, end - 4 * BLOCK)
            data = os.pread(self._file, end - begin, begin)
            first = 0 if begin == 0 else data.find(b"\n") + 1
            last = _last(raw, data, first)
            if last >= 0:
                return self._line_at(begin + last)
            end = begin + first if first else begin
        return None


def _finder(pattern: re.Pattern[str], raw: re.Pattern[bytes]) -> Finder:
    """The quickest way to find a pattern in bytes: plain words need no regular expression."""
    if SPECIAL.intersection(pattern.pattern) or "\n" in pattern.pattern:
        return lambda data, end: _first(raw, data, end)
    needle = pattern.pattern.encode()
    if not pattern.flags & re.IGNORECASE:
        return lambda data, end: data.find(needle, 0, end)
    if not needle.isascii():
        return lambda data, end: _first(raw, data, end)
    small = needle.lower()
    return lambda data, end: data.lower().find(small, 0, end)


def _first(pattern: re.Pattern[bytes], data: bytes, end: int) -> int:
    """Where the first line that matches by itself has its match; -1 where none does."""
    at = 0
    while (match := pattern.search(data, at, end)) is not None:
        line_start, line_end = _line_around(data, match.start())
        if pattern.search(data[line_start:line_end]):
            return match.start()
        at = line_end + 1
    return -1


def _last(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    last = -1
    for match in pattern.finditer(data, start):
        line_start, line_end = _line_around(data, match.start())
        if pattern.search(data[line_start:line_end]):
            last = match.start()
    return last


def _line_around(data: bytes, offset: int) -> tuple[int, int]:
    """A pattern such as ``a\\s+b`` may match over a line break; only what lies in one line counts."""
    end = data.find(b"\n", offset)
    return data.rfind(b"\n", 0, offset) + 1, len(data) if end < 0 else end
