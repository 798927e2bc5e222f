"""Writing values as YAML text, in block and in flow style."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl_tui.core.jobfile.scalars import render_scalar, render_text

STEP = 2
"""Columns by which a nested block is indented."""


def is_collection(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def block_lines(value: Any, indent: int) -> list[str]:
    """The lines of a collection that is not empty, each indented by `indent` columns."""
    pad = " " * indent
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            lines += _entry(f"{pad}{render_text(str(key))}:", item, indent)
        return lines
    for item in value:
        lines += item_lines(item, indent)
    return lines


def item_lines(item: Any, indent: int) -> list[str]:
    """One list item with its dash at column `indent`."""
    pad = " " * indent
    if not is_collection(item) or not item:
        return [f"{pad}- {render_inline(item)}"]
    lines = block_lines(item, indent + STEP)
    return [f"{pad}- {lines[0].lstrip()}", *lines[1:]]


def _entry(head: str, item: Any, indent: int) -> list[str]:
    if not is_collection(item) or not item:
        return [f"{head} {render_inline(item)}"]
    return [head, *block_lines(item, indent + STEP)]


def entry_lines(key: str, value: Any, indent: int) -> list[str]:
    """``key: value`` as lines, the first one without indentation."""
    return _entry(f"{render_text(key)}:", value, indent)


def render_inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{render_text(str(key))}: {render_inline(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(render_inline(item) for item in value)}]"
    return render_scalar(value)
