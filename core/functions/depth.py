"""How deep JSON may be nested. Writers of JSON give up somewhere between 200 and 1,000 levels, each elsewhere."""

from __future__ import annotations

from typing import Any

MOST_LEVELS = 100
"""More than any conversation or schema has, and well below what the first writer refuses."""


def is_too_deep(value: Any, text: str | bytes | None = None) -> bool:
    """Whether a value holds more than `MOST_LEVELS` lists and dicts inside one another; it must not hold itself.

    text is the value as JSON, where it is at hand: one with few brackets needs no look at the value.
    """
    if text is not None and _brackets(text) <= MOST_LEVELS:
        return False
    layer = [value]
    for _ in range(MOST_LEVELS + 1):
        layer = [
            inner
            for item in layer
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list | tuple)
        ]
        if not layer:
            return False
    return True


def _brackets(text: str | bytes) -> int:
    return text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
