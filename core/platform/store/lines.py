"""An append-only text file of which any range of lines can be read at once."""

import os
import re
import sys
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from agentic_rl_tui.core.platform import crash

STRIDE = 256
"""Every 256th line's offset is kept: 8 bytes of index for about 25 kB of log."""

_BLOCK = 1 << 18
_MUCH_BYTES = 4 << 20
_ENTRY_BYTES = 8


class LineFile:
    """Lines in ``<path>``, offsets of lines 0, 256, 512, … in ``<path>.idx``.

    The text is written before the index, and only complete lines are ever counted, so a process killed at any moment
    leaves at worst a last line without its end (cut off on opening: nobody has been shown it) and an index that is a
    little short (continued on opening). One object writes a file; reads may come from other threads, because a read
    goes no further than the lines counted when it began.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._index_file = os.open(index_path(path), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:
            os.close(self._file)
            raise
        self._offsets = array("Q")
        self._size = 0
        self._total = 0
        try:
            self._recover()
        except BaseException:
            self.close()
            raise

    @property
    def total(self) -> int:
        return self._total

    @property
    def size(self) -> int:
        """Bytes of complete lines."""
        return self._size

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, none of which may hold a line break. Raises OSError, after which the file is as before."""
        if not lines:
            return
        data = b"\n".join(lines) + b"\n"
        crash.point("log.begun")
        try:
            crash.torn("log.torn", self._write, data)
            self._write(data)
            crash.point("log.written")
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        offset = self._size
        added = array("Q")
        for number, line in enumerate(lines, self._total):
            if number % STRIDE == 0:
                added.append(offset)
            offset += len(line) + 1
        self._extend_index(added)
        self._size = offset
        self._total += len(lines)
        crash.point("log.indexed")

    def read(self, start: int, count: int, *, max_bytes: int = 1 << 23) -> list[bytes]:
        """Lines start .. start+count-1 as far as they exist.

        Stops early, but not before one line, where more than `max_bytes` would be held.
        """
        # The size goes last: it may be newer than the count, never older.
        total = self._total
        size = self._size
        start = max(start, 0)
        count = min(count, total - start)
        if count <= 0:
            return []
        lines: list[bytes] = []
        skip = start % STRIDE
        position = self._offsets[start // STRIDE]
        held = 0
        rest = b""
        while position < size and len(lines) < count:
            block = os.pread(self._file, min(_BLOCK, size - position), position)
            if not block:
                break
            position += len(block)
            if b"\n" not in block:
                rest += block
                continue
            parts = (rest + block).split(b"\n")
            rest = parts.pop()
            if skip >= len(parts):
                skip -= len(parts)
                continue
            for line in parts[skip : skip + count - len(lines)]:
                held += len(line)
                if lines and held > max_bytes:
                    return lines
                lines.append(line)
            skip = 0
        return lines

    def close(self) -> None:
        for descriptor in (self._file, self._index_file):
            os.close(descriptor)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]

    def _extend_index(self, added: "array[int]") -> None:
        if not added:
            return
        self._offsets.extend(added)
        try:
            os.write(self._index_file, _little_endian(added).tobytes())
        except OSError:
            # The index can be rebuilt from the text at any opening; here it lives on in memory.
            os.ftruncate(self._index_file, 0)

    def _recover(self) -> None:
        length = os.fstat(self._file).st_size
        self._load_index(length)
        position = self._offsets[-1] if self._offsets else 0
        total = (len(self._offsets) - 1) * STRIDE if self._offsets else 0
        added = array("Q")
        if not self._offsets and length:
            added.append(0)
        last_end = position
        while position < length:
            block = os.pread(self._file, min(_BLOCK, length - position), position)
            if not block:
                break
            place = 0
            while found := _stretch(STRIDE - total % STRIDE).match(block, place):
                place = found.end()
                total += STRIDE - total % STRIDE
                added.append(position + place)
            total += block.count(b"\n", place)
            last_end = position + (block.rfind(b"\n") + 1) if b"\n" in block else last_end
            position += len(block)
        if last_end < length:
            os.ftruncate(self._file, last_end)
        while added and added[-1] >= last_end:
            added.pop()
        if self._offsets and self._offsets[-1] >= last_end:
            self._offsets.pop()
            os.ftruncate(self._index_file, len(self._offsets) * _ENTRY_BYTES)
        self._size, self._total = last_end, total
        self._extend_index(added)

    def _load_index(self, length: int) -> None:
        """Take the index as far as it can be true: whole entries, rising, each just behind a line's end."""
        raw_size = os.fstat(self._index_file).st_size
        raw = os.pread(self._index_file, raw_size, 0)
        offsets = array("Q")
        offsets.frombytes(raw[: len(raw) // _ENTRY_BYTES * _ENTRY_BYTES])
        offsets = _little_endian(offsets)
        while offsets and not self._starts_a_line(offsets[-1], length):
            offsets.pop()
        rising = all(first < second for first, second in pairwise(offsets))
        if offsets and (offsets[0] != 0 or not rising):
            offsets = array("Q")
        if len(offsets) * _ENTRY_BYTES != raw_size:
            os.ftruncate(self._index_file, len(offsets) * _ENTRY_BYTES)
        self._offsets = offsets

    def _starts_a_line(self, offset: int, length: int) -> bool:
        if offset >= length:
            return False
        return offset == 0 or os.pread(self._file, 1, offset - 1) == b"\n"


@cache
def _stretch(count: int) -> re.Pattern[bytes]:
    """Matches so many whole lines; a pattern walks them ten times faster than a loop."""
    return re.compile(rb"(?:[^\n]*+\n){%d}+" % count if count > 1 else rb"[^\n]*+\n")


def is_slow_to_open(path: Path) -> bool:
    """Whether much of a file is not in its index, as after the index was lost, so that opening reads it all."""
    try:
        size = path.stat().st_size
        known = index_path(path).stat().st_size // _ENTRY_BYTES
    except OSError:
        known, size = 0, path.stat().st_size if path.exists() else 0
    if size < _MUCH_BYTES:
        return False
    if not known:
        return True
    with index_path(path).open("rb") as index:
        last = int.from_bytes(os.pread(index.fileno(), _ENTRY_BYTES, (known - 1) * _ENTRY_BYTES), "little")
    return size - last >= _MUCH_BYTES


def _little_endian(offsets: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        offsets = array("Q", offsets)
        offsets.byteswap()
    return offsets


def index_path(path: Path) -> Path:
    return path.with_name(path.name + ".idx")


def remove(path: Path) -> None:
    """Delete a line file and its index."""
    path.unlink(missing_ok=True)
    index_path(path).unlink(missing_ok=True)


def split_lines(text: str) -> list[str]:
    """Break a text at line ends; a carriage return alone counts as one, since a log shows no overwriting."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
