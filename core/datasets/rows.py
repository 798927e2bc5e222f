"""Any row of a file by its number, without reading the file into memory."""

import io
import os
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.datasets.blocks import BOM, blocks
from agentic_rl_tui.core.datasets.report import CheckCanceled
from agentic_rl_tui.core.datasets.search import Matcher, matcher
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.jsonwords import in_words

_SPACE = b" \t\r\n"
_SEARCH_BYTES = 1 << 20
_PREVIEW_CHARS = 40


class RowUnreadable(InputError):
    """The row is no JSON object; `raw` still gives its bytes."""

    default_advice = N_("Check the data set to see what is wrong with this row.")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """The first match in one row. col counts characters from 1; before and after are the text around it in the file."""

    row: int
    line: int
    col: int
    before: str
    match: str
    after: str


class RowIndex:
    """The rows of one file; blank lines are none. Rows count from 0, lines from 1.

    Holds the place of every block of about 256 KiB, so a look-up reads one block: memory stays at some tens of
    kilobytes for a gigabyte. Safe to use from several threads. Close it, or use it as a context manager.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = 0
        self._offsets = array("Q")
        self._rows_before = array("Q")
        self._lines_before = array("Q")
        self._rows = 0
        self._lines = 0
        self._cache: tuple[int, list[tuple[bytes, int]]] = (-1, [])

    def __len__(self) -> int:
        return self._rows

    @property
    def lines(self) -> int:
        """Lines of the file, blank ones included."""
        return self._lines

    def __getitem__(self, row: int) -> dict[str, Any]:
        """The parsed row. Raises IndexError, and RowUnreadable when it is no JSON object."""
        raw, line = self._find(row)
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise RowUnreadable(
                _("{file}:{line} is no JSON: {msg}").format(file=self.path.name, line=line, msg=in_words(error.msg))
            ) from error
        if type(value) is not dict:
            raise RowUnreadable(_("{file}:{line} is no JSON object").format(file=self.path.name, line=line))
        return value

    def raw(self, row: int) -> bytes:
        """The bytes of a row without its line break and a byte order mark."""
        return self._find(row)[0]

    def line_number(self, row: int) -> int:
        return self._find(row)[1]

    def row_at_line(self, line: int) -> int | None:
        """The row on a line; None for a blank line and one past the end."""
        if not 1 <= line <= self._lines:
            return None
        block = bisect_right(self._lines_before, line - 1) - 1
        for place, (_raw, number) in enumerate(self._block(block)):
            if number == line:
                return self._rows_before[block] + place
        return None

    def search(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        start: int = 0,
        cancel: threading.Event | None = None,
    ) -> Iterator[SearchHit]:
        r"""Rows from `start` on that hold a text, or match a regular expression, one hit each, in order.

        A text is found whether the file escapes its characters (``\u5956``, ``\n``) or not; an expression meets the
        row as it stands in the file. Stops early once `cancel` is set. Raises InputError for a bad expression.
        """
        if not text:
            return iter(())
        return self._search(matcher(text, regex=regex, ignore_case=ignore_case), max(start, 0), cancel)

    def _search(self, wanted: Matcher, start: int, cancel: threading.Event | None) -> Iterator[SearchHit]:
        if start >= self._rows:
            return
        block = bisect_right(self._rows_before, start) - 1
        count = max(1, _SEARCH_BYTES // (self._size // len(self._offsets) + 1))
        while block < len(self._offsets):
            if cancel is not None and cancel.is_set():
                return
            last = min(block + count, len(self._offsets))
            data = os.pread(self._descriptor, self._end(last - 1) - self._offsets[block], self._offsets[block])
            # Most groups of blocks hold no match: they are passed without being split into lines.
            if wanted.may_hold(data):
                for number in range(block, last):
                    yield from self._hits(number, wanted, start)
            block = last

    def _hits(self, block: int, wanted: Matcher, start: int) -> Iterator[SearchHit]:
        first = self._rows_before[block]
        for row, (raw, line) in enumerate(self._block(block, keep=False), first):
            if row >= start and (parts := wanted.find(raw)):
                before, match, after = parts
                shown = before[-_PREVIEW_CHARS:], match[: 4 * _PREVIEW_CHARS], after[:_PREVIEW_CHARS]
                yield SearchHit(row, line, len(before) + 1, *shown)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "RowIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_stale(self) -> bool:
        """Whether the path holds other bytes than those that were indexed, as far as its size and place tell."""
        try:
            now, then = os.stat(self.path), os.fstat(self._descriptor)
        except FileNotFoundError:
            return True
        return (now.st_ino, now.st_dev, now.st_size) != (then.st_ino, then.st_dev, self._size)

    def _find(self, row: int) -> tuple[bytes, int]:
        if row < 0:
            row += self._rows
        if not 0 <= row < self._rows:
            raise IndexError(f"row {row} of {self._rows}")
        block = bisect_right(self._rows_before, row) - 1
        rows = self._block(block)
        place = row - self._rows_before[block]
        if place >= len(rows):
            raise RowUnreadable(_("{file} changed on disk").format(file=self.path.name), advice=_("Open it again."))
        return rows[place]

    def _end(self, block: int) -> int:
        return self._offsets[block + 1] if block + 1 < len(self._offsets) else self._size

    def _block(self, block: int, *, keep: bool = True) -> list[tuple[bytes, int]]:
        """The rows of one block and their line numbers."""
        number, rows = self._cache
        if number == block:
            return rows
        offset = self._offsets[block]
        data = os.pread(self._descriptor, self._end(block) - offset, offset)
        rows = list(_rows(data, self._lines_before[block]))
        if keep:
            self._cache = (block, rows)
        return rows

    def _add_block(self, data: bytes, huge: int) -> None:
        self._offsets.append(self._size)
        self._rows_before.append(self._rows)
        self._lines_before.append(self._lines)
        lines = list(io.BytesIO(data))
        blank = sum(map(bytes.isspace, lines))
        if blank:
            blank = sum(not line.strip(_SPACE) for line in lines)
        if not self._size and data.startswith(BOM) and lines and not lines[0].removeprefix(BOM).strip(_SPACE):
            blank += 1
        self._size += len(data) + huge
        self._lines += len(lines) + (huge > 0)
        self._rows += len(lines) - blank + (huge > 0)


def _rows(data: bytes, lines_before: int) -> Iterator[tuple[bytes, int]]:
    for number, line in enumerate(io.BytesIO(data), lines_before + 1):
        raw = line.rstrip(b"\r\n") if line.endswith((b"\n", b"\r")) else line
        if number == 1:
            raw = raw.removeprefix(BOM)
        if raw.strip(_SPACE):
            yield raw, number


def open_rows(
    path: Path | str,
    *,
    progress: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
) -> RowIndex:
    """Index a file: one pass at the speed of the disk. Raises InputError when it cannot be read, CheckCanceled."""
    file = Path(path)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(
            _("{file} cannot be read: {error}").format(file=file, error=error.strerror), advice=_("Check the path.")
        ) from error
    index = RowIndex(file, descriptor)
    try:
        with open(descriptor, "rb", buffering=1 << 16, closefd=False) as stream:
            total = os.fstat(descriptor).st_size
            for _number, data, huge in blocks(stream, 0, total):
                if cancel is not None and cancel.is_set():
                    raise CheckCanceled(_("opening {file} was canceled").format(file=file.name))
                index._add_block(data, huge)
                if progress is not None:
                    progress(index._size, total)
    except IsADirectoryError as error:
        index.close()
        raise InputError(_("{file} is a directory").format(file=file), advice=_("Name a file.")) from error
    except BaseException:
        index.close()
        raise
    return index
