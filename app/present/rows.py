"""A row of a data set as a conversation."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Span

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import Conversation

Lines = tuple[tuple[Span, ...], ...]
_ROLES = {"system": "$faint", "user": "$running", "assistant": "$accent", "tool": "$warn"}
MOST_LINES = 400


def conversation_lines(talk: "Conversation") -> Lines:
    """Turns with their sizes, tool calls, and what the row holds beside them."""
    return tuple(_lines(talk))


def _lines(talk: "Conversation") -> Iterator[tuple[Span, ...]]:
    for turn in talk.turns:
        style = _ROLES.get(turn.role, "$muted")
        head: list[Span] = [(_clean(turn.role or "?"), f"{style} bold")]
        if turn.name or turn.tool_call_id:
            head.append((f"  {_clean(turn.name or turn.tool_call_id)}", "$muted"))
        head.append((_("  ≈{tokens:,} tokens").format(tokens=turn.tokens), "$faint"))
        yield tuple(head)
        if turn.reasoning:
            yield from _text(turn.reasoning, "$faint")
        if turn.text:
            yield from _text(turn.text, "$ink")
        for call in turn.tool_calls:
            yield (("→ ", "$warn"), (_clean(call.name), "$warn bold"))
            yield from _text(call.arguments, "$muted", lead="  ")
        for key, value in turn.extra:
            yield ((f"{_clean(key)} ", "$faint"), (_clean(value)[:200], "$muted"))
        yield (("", ""),)
    if talk.solution:
        yield ((_("solution  "), "$succeeded bold"), (_clean(talk.solution), "$ink"))
    for key, value in (*talk.extra, *talk.other_keys):
        yield ((f"{_clean(key) or '$'}  ", "$faint"), (_clean(value)[:400], "$muted"))
    if talk.tool_names:
        yield ((_("tools  "), "$faint"), (", ".join(map(_clean, talk.tool_names)), "$muted"))


def _text(text: str, style: str, lead: str = "") -> Iterator[tuple[Span, ...]]:
    lines = redact(plain(text)).split("\n")
    for line in lines[:MOST_LINES]:
        yield ((lead + line, style),)
    if len(lines) > MOST_LINES:
        yield ((_("and {count} more lines").format(count=len(lines) - MOST_LINES), "$faint"),)


def raw_lines(value: Any) -> Lines:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return tuple(_text(text, "$ink"))


def _clean(text: str) -> str:
    return redact(plain(text, keep_newlines=False))
