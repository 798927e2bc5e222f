"""Only those lines of a log that pass a filter: by level, by text. One bit a line is kept, whatever passes."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from agentic_rl_tui.widgets.lines import SPECIAL, LineSource, Stop

_HEAD = 160
"""Bytes of a line in which its level is looked for."""
_SGR = re.compile(rb"\x1b\[[0-9;:]*m")
_LEVEL = re.compile(
    rb"\b(?:(DEBUG|TRACE)|(INFO|NOTICE|SUCCESS(?:FUL)?)|(WARN(?:ING)?)|(ERROR|CRITICAL|FATAL|Traceback))\b"
)
_RAISED = re.compile(rb"\s*(?:\w+\.)*\w*(?:Error|Exception): ")
_INDENTS = (b" ", b"\t")
_LONGEST_WORD = 12
_DEBUG, _INFO, _WARNING, _ERROR = 1, 2, 3, 4

LEVELS = ("all", "info", "warning", "error")
"""What a level filter can be set to; each shows its level and the graver ones."""


class Picked(NamedTuple):
    """Of one block: how many lines it has, which of them were hit (from 0, rising), whether the last one was."""

    lines: int
    hits: list[int]
    is_last_hit: bool


class Sieve(Protocol):
    hides_hits: bool
    """Whether the lines that are hit are those left out."""

    def pick(self, data: bytes, *, goes_on: bool) -> Picked:
        """goes_on: whether the line before the block was hit."""
        ...


class LevelSieve:
    """Lines of a level and above. A line without a level of its own goes with the one above it when it is indented,
    as the lines of a traceback are; else it counts as information. takes_indented: whether such lines are hit too."""

    def __init__(self, level: str, *, takes_indented: bool = True) -> None:
        self._takes_indented = takes_indented
        self.hides_hits = level == "info"
        self._wanted = {"info": (_DEBUG,), "warning": (_WARNING, _ERROR), "error": (_ERROR,)}[level]
        grave = (b"ERROR", b"CRITICAL", b"FATAL", b"Traceback", b"Error: ", b"Exception: ")
        self._needles = {"info": (b"DEBUG", b"TRACE"), "warning": (b"WARN", *grave), "error": grave}[level]

    def pick(self, data: bytes, *, goes_on: bool) -> Picked:
        hits: list[int] = []
        row = at = 0
        if goes_on and self._takes_indented:
            row, at = self._indented(data, 0, 0, hits)
        for offset in sorted(offset for needle in self._needles for offset in _places(data, needle)):
            if offset < at:
                continue
            start = data.rfind(b"\n", at, offset) + 1 or at
            if offset - start > _HEAD:
                continue
            row += data.count(b"\n", at, start)
            at = start
            if _level_before(data, start, offset) in self._wanted:
                hits.append(row)
                row, at = row + 1, _line_end(data, offset) + 1
                if self._takes_indented and data[at : at + 1] in _INDENTS:
                    row, at = self._indented(data, row, at, hits)
        lines = row + data.count(b"\n", at)
        return Picked(lines, hits, bool(hits) and hits[-1] == lines - 1)

    def _indented(self, data: bytes, row: int, at: int, hits: list[int]) -> tuple[int, int]:
        """Add the lines from `at` on that belong to the one before; the row and place after them."""
        while data[at : at + 1] in _INDENTS and _level_at(data, at) in (0, *self._wanted):
            hits.append(row)
            row, at = row + 1, _line_end(data, at) + 1
        return row, at


class TextSieve:
    """Lines in which a pattern is found."""

    hides_hits = False

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._raw = re.compile(pattern.pattern.encode(), pattern.flags & re.IGNORECASE | re.MULTILINE)
        self._ignores_case = bool(pattern.flags & re.IGNORECASE)
        is_plain = not SPECIAL.intersection(pattern.pattern) and pattern.pattern.isprintable()
        can_fold = not self._ignores_case or pattern.pattern.isascii()
        self._needle = pattern.pattern.encode() if is_plain and can_fold else b""

    def pick(self, data: bytes, *, goes_on: bool) -> Picked:  # noqa: ARG002
        hits: list[int] = []
        row = at = 0
        needle, text = self._needle, data
        if needle and self._ignores_case:
            needle, text = needle.lower(), data.lower()
        while True:
            found = text.find(needle, at) if needle else self._search(data, at)
            if found < 0:
                break
            row += data.count(b"\n", at, found)
            hits.append(row)
            at = _line_end(data, found) + 1
            row += 1
        lines = row + data.count(b"\n", at)
        return Picked(lines, hits, bool(hits) and hits[-1] == lines - 1)

    def _search(self, data: bytes, at: int) -> int:
        """A pattern may match over a break; only what lies in one line counts."""
        while at < len(data) and (match := self._raw.search(data, at)) is not None:
            start, end = max(at, data.rfind(b"\n", 0, match.start()) + 1), _line_end(data, match.start())
            if self._raw.search(data[start:end]):
                return start
            at = end + 1
        return -1


def _places(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + len(needle))


def _line_end(data: bytes, offset: int) -> int:
    end = data.find(b"\n", offset)
    return len(data) if end < 0 else end


def _level_at(data: bytes, start: int) -> int:
    """The level of the line that starts here; 0 where it has none of its own."""
    head = data[start : min(start + _HEAD, _line_end(data, start))]
    if b"\x1b" in head:
        head = _SGR.sub(b" ", head)
    found = _LEVEL.search(head)
    if found is not None and found.lastindex is not None:
        return found.lastindex
    return _ERROR if _RAISED.match(head) else 0


def _level_before(data: bytes, start: int, offset: int) -> int:
    """The level of the line that starts at `start`, which has one of the words at `offset`."""
    found = _LEVEL.search(data, start, offset + _LONGEST_WORD)
    if found is not None and found.lastindex is not None and data.find(b"\x1b", start, offset) < 0:
        return found.lastindex
    return _level_at(data, start)


_CHUNK = 4096
"""Lines whose passing ones are counted together."""


class Sifted:
    """The lines of a source that pass some sieves, as a source. `extend` reads on, in a thread where it is long."""

    def __init__(self, source: LineSource, sieves: Sequence[Sieve]) -> None:
        self.source = source
        self.scanned = 0
        """How many lines of the source were looked at."""
        self._sieves = tuple(sieves)
        self._last = [False] * len(self._sieves)
        self._bits = bytearray()
        self._before = [0]
        """How many lines pass before each chunk; the last entry is how many pass in all."""

    def __len__(self) -> int:
        return self._before[-1]

    @property
    def is_complete(self) -> bool:
        return self.scanned >= len(self.source)

    def extend(self, stop: Stop) -> None:
        """Look at the lines that came since the last time."""
        for data in self.source.blocks(self.scanned):
            if stop():
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        passing: bytearray | None = None
        count = 0
        for number, sieve in enumerate(self._sieves):
            picked = sieve.pick(data, goes_on=self._last[number])
            self._last[number] = picked.is_last_hit
            count = picked.lines
            marks = bytearray([sieve.hides_hits]) * count
            for hit in picked.hits:
                marks[hit] = not sieve.hides_hits
            passing = marks if passing is None else _both(passing, marks)
        if passing is not None and count:
            self._add(passing)

    def _add(self, passing: bytearray) -> None:
        first = self.scanned
        self._bits += bytes((first + len(passing) + 7) // 8 - len(self._bits))
        at = 0
        while at < len(passing):
            line = first + at
            part = passing[at : at + _CHUNK - line % _CHUNK]
            shift = line % 8
            packed = _packed(part) << shift
            size = (len(part) + shift + 7) // 8
            old = int.from_bytes(self._bits[line // 8 : line // 8 + size], "little")
            self._bits[line // 8 : line // 8 + size] = (old | packed).to_bytes(size, "little")
            if line % _CHUNK == 0:
                self._before.append(self._before[-1])
            self._before[-1] += part.count(1)
            at += len(part)
        self.scanned = first + len(passing)

    def number(self, index: int) -> int:
        """Which line of the source the `index`-th passing one is."""
        (found,) = self._numbers(index, index + 1) or (self.scanned,)
        return found

    def index_of(self, line: int) -> int:
        """How many lines pass before `line`: the index of the first one at or after it."""
        if line >= self.scanned:
            return len(self)
        chunk = line // _CHUNK
        bits = int.from_bytes(self._bits[chunk * _CHUNK // 8 : line // 8 + 1], "little")
        return self._before[chunk] + (bits & ((1 << line % _CHUNK) - 1)).bit_count()

    def passes(self, line: int) -> bool:
        return line < self.scanned and bool(self._bits[line // 8] >> line % 8 & 1)

    def _numbers(self, start: int, stop: int) -> list[int]:
        stop = min(stop, len(self))
        found: list[int] = []
        while start < stop:
            chunk = bisect_right(self._before, start) - 1
            if chunk == len(self._before) - 1:
                break
            inside = _set_bits(self._bits[chunk * _CHUNK // 8 : (chunk + 1) * _CHUNK // 8])
            skip = start - self._before[chunk]
            taken = inside[skip : skip + stop - start]
            if not taken:
                break
            found += [chunk * _CHUNK + bit for bit in taken]
            start += len(taken)
        return found

    def lines(self, start: int, stop: int) -> Sequence[str]:
        numbers = self._numbers(start, stop)
        if not numbers:
            return []
        if numbers[-1] - numbers[0] < _NEAR * len(numbers):
            near = self.source.lines(numbers[0], numbers[-1] + 1)
            return [near[number - numbers[0]] for number in numbers if number - numbers[0] < len(near)]
        return [line for number in numbers for line in self.source.lines(number, number + 1)]

    def find(self, pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop) -> int | None:
        if not 0 <= start < len(self):
            return None
        found = nearest(
            self.source, TextSieve(pattern), self.number(start), self.scanned, backwards=backwards, stop=stop,
            passes=self.passes,
        )  # fmt: skip
        return None if found is None else self.index_of(found)

    def blocks(self, start: int) -> Iterator[bytes]:
        for first in range(start, len(self), _CHUNK):
            yield "".join(f"{line}\n" for line in self.lines(first, first + _CHUNK)).encode("utf-8", "replace")


def nearest(
    source: LineSource,
    sieve: Sieve,
    start: int,
    count: int,
    *,
    backwards: bool,
    stop: Stop,
    passes: Callable[[int], bool] = lambda _line: True,
) -> int | None:
    """The nearest line from `start` on, among the first `count`, that a sieve hits and that passes; None for none."""
    if not 0 <= start < count:
        return None
    if not backwards:
        return next((hit for hit in _hits(source, sieve, start, count, stop) if passes(hit)), None)
    high, stretch = start + 1, _STRETCH
    while high > 0 and not stop():
        # Near matches come at once, far ones without reading much twice.
        low = max(0, high - stretch)
        hits = [hit for hit in _hits(source, sieve, low, high, stop) if passes(hit)]
        if hits:
            return hits[-1]
        high, stretch = low, min(2 * stretch, _MOST_STRETCH)
    return None


def _hits(source: LineSource, sieve: Sieve, low: int, high: int, stop: Stop) -> Iterator[int]:
    first = low
    for data in source.blocks(low):
        if stop():
            return
        picked = sieve.pick(data, goes_on=False)
        yield from (first + hit for hit in picked.hits if first + hit < high)
        first += picked.lines
        if first >= high:
            return


def nearest_error(source: LineSource, start: int, *, backwards: bool, stop: Stop) -> int | None:
    """The nearest line that tells of an error by itself, as somebody hunting for one wants to stop at."""
    if isinstance(source, Sifted):
        if not 0 <= start < len(source):
            return None
        sieve = LevelSieve("error", takes_indented=False)
        found = nearest(
            source.source, sieve, source.number(start), source.scanned, backwards=backwards, stop=stop,
            passes=source.passes,
        )  # fmt: skip
        return None if found is None else source.index_of(found)
    return nearest(
        source, LevelSieve("error", takes_indented=False), start, len(source), backwards=backwards, stop=stop
    )


_STRETCH, _MOST_STRETCH = 5_000, 320_000
"""Lines that are searched at once on the way back, so that the nearest match is found without looking at all."""
_NEAR = 50
"""Where the passing lines are not further apart than this, reading all between them is quicker than each by itself."""


def _both(one: bytearray, other: bytearray) -> bytearray:
    both = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bytearray(both.to_bytes(len(one), "little"))


def _packed(flags: bytearray) -> int:
    """Flags of 0 and 1, one a byte, as the bits of a number, the first one lowest."""
    text = flags[::-1].translate(_DIGITS)
    return int(text, 2) if text else 0


_DIGITS = bytes([0x30, 0x31]) + bytes(254)


def _set_bits(raw: bytes | bytearray) -> list[int]:
    return [8 * place + bit for place, byte in enumerate(raw) if byte for bit in _BITS[byte]]


_BITS = [tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256)]
