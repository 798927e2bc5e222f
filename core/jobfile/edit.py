"""Changing a job file without touching what is not changed.

Every operation is a set of text patches: comments, order, quoting and line ends outside them stay as they are.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.diagnostics import TextEdit
from agentic_rl_tui.core.jobfile.render import (
    STEP,
    block_lines,
    entry_lines,
    is_collection,
    item_lines,
    render_inline,
)
from agentic_rl_tui.core.jobfile.scalars import read_plain, render_scalar, render_text
from agentic_rl_tui.core.jobfile.schema import key_at
from agentic_rl_tui.core.jobfile.tree import (
    IMPLICIT,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Source,
    child,
    is_flow,
    is_null,
    key_text,
)
from agentic_rl_tui.core.models.errors import ConfigError

Edits = tuple[TextEdit, ...]

_COLON = re.compile(r"[ \t]*:")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)+")
_ANCHOR = re.compile(r"&[^\s,\[\]{}]+")
_ANCHOR_NAME = re.compile(r"(?<![^\s,\[\]{}])&([^\s,\[\]{}]+)")


class CannotEdit(ConfigError):
    """The text has no place for this change, or is too broken to find it."""


class Patcher:
    """Makes patches for one parsed text. Paths are keys and list indexes from the top."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.newline = source.newline()

    def set(self, path: Path, value: Any) -> Edits:
        """Give a key or list item a value; missing sections on the way are made. No patch when it has it already."""
        root = self._root()
        node: Node = root
        for depth, step in enumerate(path):
            found = child(node, step)
            rest = path[depth + 1 :]
            if found is None:
                return self._insert(node, path[:depth], step, _nested(rest, value))
            if rest and is_null(found):
                return self._replace(node, step, found, _nested(rest, value))
            if not rest:
                return () if _same(found, value) else self._keep_anchors(self._replace(node, step, found, value))
            node = found
        raise CannotEdit(_("The whole file cannot be replaced by a value."))

    def fill(self, path: Path, values: Mapping[str, Any]) -> Edits:
        """Add keys that a section lacks or leaves empty, each behind the one that the schema puts before it."""
        node: Node | None = self._root()
        for step in path:
            node = child(node, step)
        if not isinstance(node, MappingNode) or not node.value:
            return self.set(path, dict(values))
        edits: list[TextEdit] = []
        for key, value in values.items():
            old = child(node, key)
            if old is None:
                edits += self._insert(node, path, key, value)
            elif is_null(old):
                edits += self._replace(node, key, old, value)
        return tuple(edits)

    def append(self, path: Path, value: Any) -> Edits:
        """Add an item to the end of a list, which is made where it is missing."""
        node: Node | None = self._root()
        for step in path:
            node = child(node, step)
        if node is None or is_null(node) or (isinstance(node, SequenceNode) and not node.value):
            return self.set(path, [value])
        if not isinstance(node, SequenceNode):
            raise CannotEdit(_("{path} is no list.").format(path=_words(path)))
        if is_flow(node):
            return self._insert_flow(node, render_inline(value))
        lines = item_lines(value, self._column(node))
        return self._insert_line_after(self.source.end(node), lines)

    def remove(self, path: Path) -> Edits:
        """Take a key or list item away with all that is in it; its comments above stay."""
        parent: Node | None = self._root()
        for step in path[:-1]:
            parent = child(parent, step)
        if parent is None or not path or child(parent, path[-1]) is None:
            return ()
        if isinstance(parent, SequenceNode) and isinstance(path[-1], int):
            return self._keep_anchors(self._remove_item(parent, path[-1] % len(parent.value)))
        spans = [index for index, (key, _) in enumerate(parent.value) if key_text(key) == path[-1]]
        edits: list[TextEdit] = []
        for index in spans:
            edits += self._remove_entry(parent, index, keep_one=len(spans) < len(parent.value))
        return self._keep_anchors(tuple(edits))

    def remove_entry(self, mapping: Node, index: int) -> Edits:
        """Take one entry of a mapping away by its place, for keys that are given twice."""
        return self._keep_anchors(self._remove_entry(mapping, index, keep_one=len(mapping.value) > 1))

    def rename(self, key: Node, name: str) -> Edits:
        return (TextEdit(self.source.start(key), self.source.end(key), render_text(name)),)

    def rewrite(self, node: Node, text: str) -> Edits:
        """Replace a scalar by YAML text as it is; an anchor before it stays."""
        start, end = self.source.start(node), self.source.end(node)
        properties = _PROPERTIES.match(self.text, start, end)
        if properties:
            anchor = _ANCHOR.search(properties[0])
            text = f"{anchor[0]} {text}" if anchor else text
        if start == end and self.text[start - 1 : start] not in (" ", ""):
            text = f" {text}"
        return (TextEdit(start, end, text),)

    def _root(self) -> Node:
        if self.source.root is None or not self.source.is_whole:
            raise CannotEdit(_("The file cannot be edited this way before its YAML syntax is right."))
        if not isinstance(self.source.root, MappingNode):
            raise CannotEdit(_("The file is no mapping of keys to values."))
        return self.source.root

    def _column(self, node: Node) -> int:
        """The column, from 0, of a block collection: of its keys or its dashes."""
        if isinstance(node, MappingNode):
            self._refuse_complex(node.value[0][0])
            start = self.source.start(node.value[0][0])
        else:
            start = self.source.content(node)
        line = self.source.lines.position(start)[0]
        return start - self.source.lines.starts[line - 1] - (self.source.shift if line == 1 else 0)

    def _refuse_complex(self, key: Node) -> None:
        if self.text[: self.source.start(key)].rstrip(" ").endswith("?"):
            raise CannotEdit(_("{key!r} is written as a complex key, which is not edited.").format(key=key_text(key)))

    def _keep_anchors(self, edits: Edits) -> Edits:
        """Refuse patches that take an anchor away while aliases still lead to it."""
        lost = {name for edit in edits for name in _ANCHOR_NAME.findall(self.text, edit.start, edit.end)}
        kept = {name for edit in edits for name in _ANCHOR_NAME.findall(edit.text)}
        for name in lost - kept:
            alias = re.compile(rf"\*{re.escape(name)}(?![^\s,\[\]{{}}])")
            places = [match.start() for match in alias.finditer(self.text)]
            if any(not any(edit.start <= place < edit.end for edit in edits) for place in places):
                raise CannotEdit(_("Other places refer to the anchor &{name}, which would be lost.").format(name=name))
        return edits

    def _line_end(self, offset: int) -> int:
        """The end of the line that holds an offset, before its line end."""
        line = self.source.lines.position(offset)[0]
        stop = self.source.lines.offset(line + 1, 1) if line < len(self.source.lines.starts) else len(self.text)
        return offset + len(self.text[offset:stop].rstrip("\r\n"))

    def _insert_line_after(self, offset: int, lines: Sequence[str]) -> Edits:
        place = self._line_end(offset)
        return (TextEdit(place, place, "".join(self.newline + line for line in lines)),)

    def _insert(self, parent: Node, path: Path, step: str | int, value: Any) -> Edits:
        if isinstance(parent, SequenceNode) and step == len(parent.value):
            return self.append(path, value)
        if not isinstance(parent, MappingNode) or not isinstance(step, str):
            raise CannotEdit(
                _("{path} holds a single value; {step!r} has no place in it.").format(path=_words(path), step=step)
            )
        if is_flow(parent) or not parent.value:
            return self._insert_flow(parent, f"{render_text(step)}: {render_inline(value)}")
        column = self._column(parent)
        lines = entry_lines(step, value, column)
        pad = " " * column
        after = self._sibling_before(parent, path, step)
        if after is None:
            start = self.source.start(parent.value[0][0])
            text = self.newline.join(lines) + self.newline + pad
            return (TextEdit(start, start, text),)
        return self._insert_line_after(self.source.value_span(*parent.value[after])[1], [pad + lines[0], *lines[1:]])

    def _sibling_before(self, parent: Node, path: Path, name: str) -> int | None:
        """The entry to insert behind, by the order of the schema; None means before all."""
        schema = key_at(path)
        order = list(schema.keys) if schema else []
        if name not in order:
            return len(parent.value) - 1
        earlier = set(order[: order.index(name)])
        known = [index for index, (key, _) in enumerate(parent.value) if key_text(key) in earlier]
        if known:
            return known[-1]
        later = [index for index, (key, _) in enumerate(parent.value) if key_text(key) in order]
        return None if later and later[0] == 0 else len(parent.value) - 1

    def _insert_flow(self, node: Node, item: str) -> Edits:
        close = int(node.end_mark.index) + self.source.shift - 1
        if not node.value:
            return (TextEdit(close, close, item),)
        last = node.value[-1]
        if isinstance(last, tuple):
            start, end = self.source.value_span(*last)
        else:
            start, end = self.source.start(last), self.source.end(last)
        place = close if start == end or end > close else end
        comma = "" if self.text[end:close].lstrip().startswith(",") and place == close else ", "
        return (TextEdit(place, place, comma + item),)

    def _replace(self, parent: Node, step: str | int, old: Node, value: Any) -> Edits:
        """Put a value where another one is written."""
        after, start, end = self._slot(parent, step, old)
        inline = is_flow(parent)
        if not is_collection(value) or not value or inline:
            text = self._styled(old, value)
            if isinstance(old, ScalarNode) and self.source.start(old) == start:
                return self.rewrite(old, text)
            lead = "" if self.text[after:start].strip() == "" and start == end else " "
            return (
                (TextEdit(after, end, lead + text),)
                if isinstance(parent, MappingNode)
                else (TextEdit(start, end, text),)
            )
        return self._replace_by_block(parent, after, start, end, old, value)

    def _replace_by_block(self, parent: Node, after: int, start: int, end: int, old: Node, value: Any) -> Edits:
        if isinstance(parent, SequenceNode):
            lines = block_lines(value, self._column(parent) + STEP)
            gap = " " if self.text[start - 1 : start] == "-" else ""
            return (TextEdit(start, end, gap + self.newline.join(lines).lstrip(" ")),)
        is_block = not isinstance(old, ScalarNode) and not is_flow(old) and bool(old.value)
        if is_block and isinstance(old, MappingNode) == isinstance(value, Mapping) and self.source.start(old) == start:
            lines = block_lines(value, self._column(old))
            return (TextEdit(self.source.content(old), end, self.newline.join(lines).lstrip(" ")),)
        lines = block_lines(value, self._column(parent) + STEP)
        return (TextEdit(after, end, "".join(self.newline + line for line in lines)),)

    def _slot(self, parent: Node, step: str | int, old: Node) -> tuple[int, int, int]:
        """Where a value is written: the offset behind its colon or dash, its start and its end."""
        if isinstance(parent, MappingNode):
            key, value = next((key, value) for key, value in reversed(parent.value) if key_text(key) == step)
            colon = _COLON.match(self.text, self.source.end(key))
            start, end = self.source.value_span(key, value)
            if colon is None:
                if start == end:
                    raise CannotEdit(_("{step!r} has no colon to put a value behind.").format(step=step))
                raise CannotEdit(_("{step!r} is written as a complex key, which is not edited.").format(step=step))
            return colon.end(), start, end
        if self.source.start(old) < self.source.start(parent):
            raise CannotEdit(_("This list item is an alias; edit the place it leads to."))
        start = self.source.start(old)
        return start, start, self.source.end(old)

    def _styled(self, old: Node, value: Any) -> str:
        """A value as text, in the quotes of the value it replaces."""
        if isinstance(value, str) and isinstance(old, ScalarNode):
            if old.style == '"':
                rendered = render_text(value)
                return rendered if rendered.startswith('"') else f'"{value}"'
            if old.style == "'" and not render_text(value).startswith('"'):
                return f"'{value}'"
        return render_inline(value) if is_collection(value) else render_scalar(value)

    def _remove_entry(self, mapping: Node, index: int, *, keep_one: bool) -> Edits:
        key, value = mapping.value[index]
        self._refuse_complex(key)
        start = self.source.start(key)
        end = max(self.source.value_span(key, value)[1], self.source.end(key))
        colon = _COLON.match(self.text, self.source.end(key))
        end = max(end, colon.end() if colon else end)
        if is_flow(mapping):
            return self._remove_flow([self.source.start(key) for key, _ in mapping.value], index, start, end)
        if not keep_one:
            return (TextEdit(start, end, "{}"),)
        following = self.source.start(mapping.value[index + 1][0]) if index + 1 < len(mapping.value) else None
        return self._remove_lines(start, end, following)

    def _remove_item(self, sequence: Node, index: int) -> Edits:
        if self.source.is_alias(sequence, index):
            raise CannotEdit(_("This list item is an alias; edit the place it leads to."))
        start, end = self.source.start(sequence.value[index]), self.source.end(sequence.value[index])
        if is_flow(sequence):
            return self._remove_flow([self.source.start(item) for item in sequence.value], index, start, end)
        dash = self._dash(sequence, start)
        if len(sequence.value) == 1:
            line_start = self.source.lines.starts[self.source.lines.position(dash)[0] - 1]
            leads = not self.text[line_start:dash].strip()
            return (TextEdit(dash, max(end, dash + 1), "  []" if leads else "[]"),)
        following = None
        if index + 1 < len(sequence.value) and not self.source.is_alias(sequence, index + 1):
            following = self._dash(sequence, self.source.start(sequence.value[index + 1]))
        return self._remove_lines(dash, max(end, dash + 1), following)

    def _dash(self, sequence: Node, item_start: int) -> int:
        """The dash of a block list's item: in the list's column, on the item's line or above it."""
        column = self._column(sequence)
        lines = self.source.lines
        for line in range(lines.position(item_start)[0], 0, -1):
            place = lines.starts[line - 1] + column + (self.source.shift if line == 1 else 0)
            if place <= item_start and self.text[place : place + 1] == "-":
                return place
        raise CannotEdit(_("The dash of a list item was not found."))

    def _remove_lines(self, start: int, end: int, following: int | None) -> Edits:
        """Cut a block entry with its lines; one that begins behind a dash leaves the dash to its follower."""
        line_start = self.source.lines.starts[self.source.lines.position(start)[0] - 1]
        if not self.text[line_start:start].strip(" \ufeff"):
            if line_start == 0:
                line_start = self.source.shift
            stop = self._line_end(end)
            while self.text[stop : stop + 1] in ("\r", "\n") and self.text[stop : stop + 1]:
                stop += 1
                if self.text[stop - 1] == "\n" or self.text[stop : stop + 1] != "\n":
                    break
            return (TextEdit(line_start, stop, ""),)
        if following is not None and not self.text[end:following].strip():
            return (TextEdit(start, following, ""),)
        return (TextEdit(start, end, ""),)

    def _remove_flow(self, starts: Sequence[int], index: int, start: int, end: int) -> Edits:
        if index + 1 < len(starts) and starts[index + 1] > end:
            return (TextEdit(start, starts[index + 1], ""),)
        before = self.text.rfind(",", starts[index - 1], start) if index else -1
        if before >= 0 and not self.text[before + 1 : start].strip():
            return (TextEdit(before, end, ""),)
        return (TextEdit(start, end, ""),)


def _nested(steps: Path, value: Any) -> Any:
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _same(node: Node, value: Any) -> bool:
    """Whether a node has a value already, the kind of number included."""
    if is_collection(value):
        return plain_value(node) == value and not isinstance(node, ScalarNode)
    if not isinstance(node, ScalarNode):
        return False
    old = plain_value(node)
    return type(old) is type(value) and old == value


def plain_value(node: Node, depth: int = 0) -> Any:
    """The Python value of a node by YAML 1.2; merges are not followed and loops end in None."""
    if depth > 64:
        return None
    if isinstance(node, ScalarNode):
        return node.value if node.style or node.tag != IMPLICIT else read_plain(node.value).value
    if isinstance(node, MappingNode):
        return {key_text(key): plain_value(value, depth + 1) for key, value in node.value}
    return [plain_value(item, depth + 1) for item in node.value]


def _words(path: Path) -> str:
    return ".".join(map(str, path)) or _("the file")
