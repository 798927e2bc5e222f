"""A row as the conversation that a person wants to read. Takes rows of any shape, sound or not."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.datasets.measure import as_json, tokens, utf8_length

_ROW_KEYS = frozenset({"messages", "rollout_extra", "ground_truth", "tools"})
_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """arguments is indented JSON where it can be read as such, else the text as it stands."""

    name: str
    arguments: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. text joins the text parts; other parts stand in it as ``[image_url]``.

    chars counts the text and the calls, tokens is the estimate for them. extra holds keys that have no field here.
    """

    role: str
    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    chars: int = 0
    tokens: int = 0
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole row. solution is empty where there is none; extra and other_keys are key and text, in the row's order."""

    turns: tuple[Turn, ...] = ()
    solution: str = ""
    extra: tuple[tuple[str, str], ...] = ()
    other_keys: tuple[tuple[str, str], ...] = ()
    tool_names: tuple[str, ...] = ()
    chars: int = 0
    tokens: int = 0


def conversation(row: Any) -> Conversation:
    """Read a parsed row for display. Never raises: what has no place in a conversation is shown as its JSON."""
    if not isinstance(row, Mapping):
        return Conversation(other_keys=(("", show(row)),))
    messages = row.get("messages")
    turns = tuple(_turn(message) for message in messages) if isinstance(messages, list) else ()
    extra = row.get("rollout_extra")
    extras = extra if isinstance(extra, Mapping) else {}
    others = [(key, show(value)) for key, value in row.items() if key not in _ROW_KEYS]
    if messages is not None and not isinstance(messages, list):
        others.insert(0, ("messages", show(messages)))
    if extra is not None and not isinstance(extra, Mapping):
        others.append(("rollout_extra", show(extra)))
    solution = extras.get("solution", row.get("ground_truth"))
    tool_names = tuple(_tool_names(row.get("tools")))
    tools_size = utf8_length(as_json(row["tools"])) if row.get("tools") else 0
    return Conversation(
        turns=turns,
        solution="" if solution is None else show(solution),
        extra=tuple((key, show(value)) for key, value in extras.items() if key != "solution"),
        other_keys=tuple(others),
        tool_names=tool_names,
        chars=sum(turn.chars for turn in turns),
        tokens=sum(turn.tokens for turn in turns) + tokens(tools_size, 0),
    )


def show(value: Any) -> str:
    """A value as text: texts as they are, anything else as indented JSON with readable characters."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def _turn(message: Any) -> Turn:
    if not isinstance(message, Mapping):
        return Turn("?", show(message))
    role = message.get("role")
    text = _text(message.get("content"))
    calls = tuple(_calls(message.get("tool_calls")))
    counted = text + (as_json(message["tool_calls"]) if calls else "")
    return Turn(
        role=role if isinstance(role, str) and role else "?",
        text=text,
        reasoning=_plain(message.get("reasoning_content")),
        tool_calls=calls,
        tool_call_id=_plain(message.get("tool_call_id")),
        name=_plain(message.get("name")),
        chars=len(counted),
        tokens=tokens(utf8_length(counted), 1),
        extra=tuple((key, show(value)) for key, value in message.items() if key not in _MESSAGE_KEYS),
    )


def _plain(value: Any) -> str:
    return "" if value is None else show(value)


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return show(content)
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, Mapping):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        if isinstance(part.get("type"), str):
            return f"[{part['type']}]"
    return show(part)


def _calls(calls: Any) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            yield ToolCall("?", show(call))
            continue
        yield ToolCall(
            _plain(function.get("name")) or "?", _arguments(function.get("arguments")), _plain(call.get("id"))
        )


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        try:
            return show(json.loads(arguments))
        except (ValueError, RecursionError):
            return arguments
    return _plain(arguments)


def _tool_names(tools: Any) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            yield function["name"]
