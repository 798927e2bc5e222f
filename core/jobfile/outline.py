"""The outline of a job file: its sections, functions and data sets with their lines."""

from dataclasses import dataclass

from agentic_rl_tui.core.jobfile.document import JobDocument
from agentic_rl_tui.core.jobfile.places import place_at, read_line
from agentic_rl_tui.core.jobfile.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
    child,
    key_text,
    parse,
)

_MAX_DEPTH = 6
_DETAIL_KEYS = ("name", "file_name", "file_id", "download_url")


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """line counts from 1."""

    label: str
    line: int
    children: tuple["OutlineItem", ...] = ()


def outline(document: JobDocument | str) -> tuple[OutlineItem, ...]:
    """The tree of a text's sections. Text with broken syntax gives the keys and items that begin its lines."""
    text = document if isinstance(document, str) else document.text
    source = parse(text)
    if source.root is None or not source.is_whole or not isinstance(source.root, MappingNode):
        return _by_lines(text)
    return _entries(source, source.root, 0)


def _line(source: Source, node: Node) -> int:
    return source.lines.position(source.start(node))[0]


def _entries(source: Source, node: Node, depth: int) -> tuple[OutlineItem, ...]:
    if depth >= _MAX_DEPTH:
        return ()
    if isinstance(node, MappingNode):
        found = []
        for key, value in node.value:
            is_alias = source.start(value) < source.start(key)
            below = () if is_alias else _entries(source, value, depth + 1)
            shown = f": {_short(value.value)}" if isinstance(value, ScalarNode) and depth == 0 and value.value else ""
            found.append(OutlineItem(f"{key_text(key) or '?'}{shown}", _line(source, key), below))
        return tuple(found)
    if isinstance(node, SequenceNode):
        return tuple(
            OutlineItem(_item_label(item), _line(source, item), _entries(source, item, depth + 1))
            for index, item in enumerate(node.value)
            if isinstance(item, MappingNode) and not source.is_alias(node, index)
        )
    return ()


def _item_label(node: Node) -> str:
    kind = child(node, "type")
    details = (child(node, key) for key in _DETAIL_KEYS)
    detail = next((item for item in details if isinstance(item, ScalarNode) and item.value), None)
    words = [item.value for item in (kind, detail) if isinstance(item, ScalarNode) and item.value]
    return " ".join(map(_short, words)) or "item"


def _short(text: object) -> str:
    plain = " ".join(str(text).split())
    return plain if len(plain) <= 60 else plain[:59] + "…"


def _by_lines(text: str) -> tuple[OutlineItem, ...]:
    found: list[OutlineItem] = []
    for number, row in enumerate(place_at(text, 1, 1).lines, start=1):
        line = read_line(number, row)
        if line.key is None or line.is_blank:
            continue
        item = OutlineItem(f"{line.key}: {_short(line.value)}" if line.value else line.key, number)
        if line.column == 0 and not line.dashes:
            found.append(item)
        elif found and line.dashes:
            last = found[-1]
            found[-1] = OutlineItem(last.label, last.line, (*last.children, item))
    return tuple(found)
