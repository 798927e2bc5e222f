"""What a check says: places in a text, why they matter, and the text patches that put them right."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

_BREAKS = re.compile(r"\r\n|\n|\r")


class Severity(StrEnum):
    """An error blocks submitting, a warning does not, an info only explains."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace text[start:end] by `text`. Offsets count characters of the text the edit was made for."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair. An unsafe one changes what the job does, or is a matter of judgement: it is applied only by name."""

    label: str
    edits: tuple[TextEdit, ...]
    is_safe: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. line, col and end_col count from 1 in characters; end_col is the column after the last one.

    start and end are the same place as offsets. A problem that spans lines is marked on its first line only.
    """

    file: str
    line: int
    col: int
    end_col: int
    severity: Severity
    rule: str
    message: str
    why: str
    fix: Fix | None = None
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}: {self.severity.value}: {self.message} [{self.rule}]"


class Lines:
    """Where the lines of a text start. A line ends with LF, CRLF or a lone CR."""

    __slots__ = ("length", "starts")

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.starts = _line_starts(text)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        index = bisect_right(self.starts, offset) - 1
        return index + 1, offset - self.starts[index] + 1

    def offset(self, line: int, col: int) -> int:
        """The offset of a place counted from 1; places outside the text give its nearest end."""
        if line < 1:
            return 0
        if line > len(self.starts):
            return self.length
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else self.length
        return min(start + max(col - 1, 0), end)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    if "\r" in text:
        starts += [match.end() for match in _BREAKS.finditer(text)]
        return starts
    position = 0
    for part in text.split("\n")[:-1]:
        position += len(part) + 1
        starts.append(position)
    return starts


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with all edits applied. Raises ValueError when two of them overlap or one lies outside."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < position or edit.end < edit.start or edit.end > len(text):
            raise ValueError(f"edit {edit.start}:{edit.end} overlaps another one or lies outside the text")
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)


def apply_fix(text: str, fix: Fix) -> str:
    """The text with one fix applied; it must be the text that the fix was made for."""
    return apply_edits(text, fix.edits)
