"""Where a place in half-typed YAML lies: found by indentation, since such a text has no tree."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agentic_rl_tui.core.jobfile.tree import Path

_KEY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s#'"\[\]{},&*!|>%@`-][^#'"]*?|-[^\s#'":][^#'":]*?)\s*:(?=\s|$)""")


_PROPERTY = re.compile(r"[&!]\S*\s*")


@dataclass(frozen=True, slots=True)
class Line:
    """A line as a reader of block YAML sees it. Columns count from 0; column is that of the key or value."""

    number: int
    text: str
    dashes: tuple[int, ...]
    column: int
    key: str | None
    value_column: int | None

    @property
    def is_blank(self) -> bool:
        rest = self.text[self.column :]
        return (not rest.strip() or rest.startswith("#")) and not self.dashes

    @property
    def is_bare(self) -> bool:
        """A dash with nothing behind it: its item stands in the lines below."""
        rest = self.text[self.column :].strip()
        return bool(self.dashes) and (not rest or rest.startswith("#"))

    @property
    def reach(self) -> int:
        """The least column of what can belong to the line: a bare dash takes all that is deeper."""
        return self.dashes[-1] + 1 if self.is_bare else self.column

    @property
    def holds_more(self) -> bool:
        """Whether the key's value stands in the lines below; an anchor or tag may stand beside it."""
        return self.key is not None and _PROPERTY.sub("", self.value) == ""

    @property
    def value(self) -> str:
        """What stands behind the colon, without a comment."""
        if self.value_column is None:
            return ""
        return re.sub(r"(^|\s)#.*$", "", self.text[self.value_column :]).strip()


def read_line(number: int, text: str) -> Line:
    column, dashes = 0, []
    while column < len(text):
        if text[column] == " ":
            column += 1
        elif text[column] == "-" and (column + 1 == len(text) or text[column + 1] in " \t"):
            dashes.append(column)
            column += 1
        else:
            break
    match = _KEY.match(text, column)
    key = value_column = None
    if match:
        key = match["key"].strip("\"'")
        value_column = match.end()
        while value_column < len(text) and text[value_column] == " ":
            value_column += 1
    if dashes and column == len(text):
        column = max(column, dashes[-1] + 2)
    return Line(number, text, tuple(dashes), column, key, value_column)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _begins_item(text: str, indent: int) -> bool:
    return text.startswith("-", indent) and text[indent + 1 : indent + 2] in ("", " ", "\t")


@dataclass(frozen=True)
class Place:
    """A cursor's place. path leads to the mapping or list the line belongs to; key is the line's own key."""

    lines: Sequence[str]
    row: int
    column: int

    @cached_property
    def line(self) -> Line:
        return self._line(self.row)

    def _line(self, row: int) -> Line:
        return read_line(row, self.lines[row] if 0 <= row < len(self.lines) else "")

    @cached_property
    def depth(self) -> int:
        """The column that the line's content has, or will have: that of the cursor on a blank line."""
        return self.column if not self.line.text.strip() else self.line.column

    @cached_property
    def path(self) -> Path:
        steps: list[str | int] = []
        depth, in_item = self.depth, False
        for column in reversed(self.line.dashes):
            steps.append(self._index(self.row, column))
            depth, in_item = column, True
        for row in range(self.row - 1, -1, -1):
            if depth == 0 and not in_item:
                break
            indent = _indent(self.lines[row])
            if indent > depth or (in_item and indent == depth and _begins_item(self.lines[row], indent)):
                # Inside something else, or another item of the same list.
                continue
            line = self._line(row)
            if line.is_blank:
                continue
            depth, in_item = self._climb(line, depth, in_item, steps)
        return tuple(reversed(steps))

    def _climb(self, line: Line, depth: int, in_item: bool, steps: list[str | int]) -> tuple[int, bool]:
        """Follow one line upwards: a key that holds what is below it, or the dash that began its item.

        in_item: what is looked for is the owner of a list whose dashes stand at `depth`.
        """
        outer = [dash for dash in line.dashes if dash < depth]
        is_owner = in_item and line.column == depth and len(outer) == len(line.dashes)
        if line.holds_more and (line.column < depth or is_owner):
            steps.append(str(line.key))
            depth, in_item = line.column, False
        elif line.column < depth:
            depth, in_item = line.column, False
        begins = line.reach <= depth if not in_item else depth in line.dashes or line.is_bare
        if begins:
            for dash in reversed([dash for dash in line.dashes if dash < depth or not in_item]):
                steps.append(self._index(line.number, dash))
                depth, in_item = dash, True
        return depth, in_item

    def _index(self, row: int, dash: int) -> int:
        """Which item of its list a dash begins."""
        count = 0
        for above in range(row - 1, -1, -1):
            indent = _indent(self.lines[above])
            if indent > dash:
                continue
            if indent == dash and _begins_item(self.lines[above], indent):
                count += 1
                continue
            line = self._line(above)
            if line.is_blank:
                continue
            count += dash in line.dashes
            first = line.dashes[0] if line.dashes else line.column
            if first < dash or (first == dash and not line.dashes):
                break
        return count

    def siblings(self) -> Iterator[Line]:
        """The other lines with a key in the same mapping."""
        yield from self._walk(range(self.row - 1, -1, -1), upwards=True)
        yield from self._walk(range(self.row + 1, len(self.lines)), upwards=False)

    def _walk(self, rows: range, *, upwards: bool) -> Iterator[Line]:
        if upwards and self.line.dashes:
            return
        for row in rows:
            line = self._line(row)
            if line.is_blank:
                continue
            lead = line.dashes[0] if line.dashes else line.column
            begins_item = bool(line.dashes) and line.column == self.depth
            if (lead < self.depth and not (upwards and begins_item)) or (line.dashes and not upwards and begins_item):
                return
            if line.column == self.depth and line.key is not None:
                yield line
            if begins_item:
                return


def place_at(text: str, line: int, col: int) -> Place:
    """The place of a cursor counted from 1."""
    text = text.removeprefix("\ufeff")
    lines = re.split(r"\r\n|\n|\r", text) if "\r" in text else text.split("\n")
    row = min(max(line - 1, 0), len(lines) - 1)
    return Place(lines, row, min(max(col - 1, 0), len(lines[row])))
