"""Chat messages and answers of several SDKs in the one form that spans hold: a role and its parts."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]


def field(value: Any, name: str, default: Any = None) -> Any:
    """An entry of a mapping or an attribute of an object; DashScope's answers raise KeyError for absent attributes."""
    if isinstance(value, dict):
        return value.get(name, default)
    try:
        return getattr(value, name, default)
    except KeyError:
        return default


def tool_calls_to_parts(tool_calls: Any) -> list[Message]:
    parts = []
    for call in tool_calls or ():
        function = field(call, "function") or call
        given = field(function, "arguments", field(function, "args"))
        parts.append(
            {
                "type": "tool_call",
                "id": field(call, "id"),
                "name": field(function, "name"),
                "arguments": _loaded(given),
            }
        )
    return parts


def _loaded(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given


def message_to_parts(message: Any) -> list[Message]:
    """The parts of one message: reasoning, text, tool calls, or the answer to a tool call."""
    item = _response_item(message)
    if item is not None:
        return item
    content = field(message, "content")
    call_id = field(message, "tool_call_id")
    if call_id is not None:
        return [{"type": "tool_call_response", "id": call_id, "result": content}]
    parts: list[Message] = []
    reasoning = field(message, "reasoning_content") or field(message, "reasoning")
    if isinstance(reasoning, str) and reasoning:
        parts.append({"type": "reasoning", "content": reasoning})
    if isinstance(content, str):
        if content:
            parts.append({"type": "text", "content": content})
    elif isinstance(content, Iterable) and not isinstance(content, dict | bytes):
        parts += [_part(item) for item in content]
    elif content is not None:
        parts.append({"type": "text", "content": str(content)})
    return [*parts, *tool_calls_to_parts(field(message, "tool_calls"))]


def _response_item(item: Any) -> list[Message] | None:
    """The parts of what only the responses API has in a conversation; None for any message."""
    kind = field(item, "type")
    if kind == "function_call":
        return tool_calls_to_parts([{"id": field(item, "call_id"), "function": item}])
    if kind == "function_call_output":
        return [{"type": "tool_call_response", "id": field(item, "call_id"), "result": field(item, "output")}]
    if kind == "reasoning" and field(item, "role") is None:
        told = [*(field(item, "summary") or ()), *(field(item, "content") or ())]
        text = "\n".join(str(field(part, "text")) for part in told if field(part, "text"))
        return [{"type": "reasoning", "content": text}] if text else []
    return None


def _part(item: Any) -> Message:
    if isinstance(item, str):
        return {"type": "text", "content": item}
    text = field(item, "text") or field(item, "refusal")
    if isinstance(text, str):
        return {"type": "text", "content": text}
    return {"type": str(field(item, "type", "other")), "content": item}


_ROLES = {
    "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function_call": "assistant",
    "reasoning": "assistant", "function_call_output": "tool",
}  # fmt: skip


def openai_chat_messages_to_input_messages(messages: Any) -> list[Message]:
    """Also takes one text, and the message objects of LangChain."""
    if messages is None:
        return []
    if isinstance(messages, str):
        return [{"role": "user", "parts": [{"type": "text", "content": messages}]}]
    if isinstance(messages, dict) or not isinstance(messages, Iterable):
        messages = [messages]
    found = []
    for message in messages:
        role = field(message, "role") or field(message, "type") or "user"
        found.append({"role": _ROLES.get(str(role), str(role)), "parts": message_to_parts(message)})
    return found


def unwrap_openai_completion(completion: Any) -> Any:
    """The completion inside a raw response; anything else as it is."""
    parse = field(completion, "parse")
    if parse is None or inspect.iscoroutinefunction(parse) or field(completion, "choices") is not None:
        return completion
    return parse() if callable(parse) else completion


def openai_completion_to_output_messages(completion: Any) -> list[Message]:
    found = []
    for choice in field(unwrap_openai_completion(completion), "choices") or ():
        message = field(choice, "message")
        if message is None:
            continue
        found.append(
            {
                "role": field(message, "role") or "assistant",
                "parts": message_to_parts(message),
                "finish_reason": field(choice, "finish_reason") or "",
            }
        )
    return found


def dashscope_response_to_output_messages(response: Any) -> list[Message]:
    output = field(response, "output")
    found = openai_completion_to_output_messages({"choices": field(output, "choices")})
    text = field(output, "text")
    if not found and isinstance(text, str):
        reason = field(output, "finish_reason") or ""
        found = [{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": reason}]
    return found


def response_to_output_messages(response: Any) -> list[Message]:
    """The answer of the responses API: all its items are one message."""
    parts = [part for item in field(response, "output") or () for part in message_to_parts(item)]
    if not parts:
        return []
    reason = field(field(response, "incomplete_details"), "reason") or field(response, "status") or ""
    return [{"role": "assistant", "parts": parts, "finish_reason": reason}]


def anything_to_output_messages(result: Any) -> list[Message]:
    """What can be read out of the answer of a function that nobody knows."""
    if isinstance(result, str):
        return [{"role": "assistant", "parts": [{"type": "text", "content": result}]}]
    if isinstance(field(result, "output"), list):
        return response_to_output_messages(result)
    if field(result, "output") is not None:
        return dashscope_response_to_output_messages(result)
    if field(result, "choices") is not None:
        return openai_completion_to_output_messages(result)
    if field(result, "content") is not None:
        return [{"role": "assistant", "parts": message_to_parts(result)}]
    return []


class Joined:
    """Puts the chunks of a streamed answer together.

    is_incremental: whether each of DashScope's chunks holds only what is new; without it each holds all so far.
    """

    def __init__(self, *, is_incremental: bool = False) -> None:
        self.chunks = 0
        self._is_incremental = is_incremental
        self.facts: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._last: Any = None

    def add(self, chunk: Any) -> None:
        self.chunks += 1
        for name in ("id", "model", "usage", "request_id"):
            value = field(chunk, name)
            if value is not None:
                self.facts[name] = value
        choices = field(chunk, "choices")
        if choices is not None:
            for choice in choices:
                self._add_choice(choice)
            return
        kind = field(chunk, "type")
        if isinstance(kind, str) and kind.startswith("response."):
            self._add_event(kind, chunk)
            return
        self._last = chunk
        if isinstance(chunk, str):
            self._choice(0)["text"].append(chunk)
        elif isinstance(text := field(chunk, "content"), str):
            self._choice(0)["text"].append(text)
        elif self._is_incremental:
            self._add_output(field(chunk, "output"))

    def _add_event(self, kind: str, event: Any) -> None:
        """One event of a response: the last ones carry all of it."""
        whole = field(event, "response")
        if whole is not None:
            self._last = whole
        elif kind == "response.output_text.delta":
            self._choice(0)["text"].append(str(field(event, "delta")))

    def _add_output(self, output: Any) -> None:
        if isinstance(text := field(output, "text"), str):
            self._add_choice({"message": {"content": text}, "finish_reason": field(output, "finish_reason")})
        for choice in field(output, "choices") or ():
            self._add_choice(choice)

    @property
    def has_content(self) -> bool:
        """Whether anything that the model said has come."""
        if any(known["text"] or known["reasoning"] or known["calls"] for known in self._choices.values()):
            return True
        return bool(field(self._last, "output"))

    def _choice(self, index: int) -> dict[str, Any]:
        return self._choices.setdefault(index, {"text": [], "reasoning": [], "calls": {}, "reason": ""})

    def _add_choice(self, choice: Any) -> None:
        known = self._choice(field(choice, "index") or 0)
        delta = field(choice, "delta") or field(choice, "message")
        known["reason"] = field(choice, "finish_reason") or known["reason"]
        content, reasoning = field(delta, "content"), field(delta, "reasoning_content")
        if isinstance(content, str) and content:
            known["text"].append(content)
        if isinstance(reasoning, str) and reasoning:
            known["reasoning"].append(reasoning)
        for number, call in enumerate(field(delta, "tool_calls") or ()):
            place = field(call, "index")
            joined = known["calls"].setdefault(number if place is None else place, {"name": "", "arguments": ""})
            function = field(call, "function")
            joined["id"] = field(call, "id") or joined.get("id")
            joined["name"] = field(function, "name") or joined["name"]
            joined["arguments"] += field(function, "arguments") or ""

    def messages(self) -> list[Message]:
        if isinstance(field(self._last, "output"), list) and (found := response_to_output_messages(self._last)):
            return found
        if not self._choices and field(self._last, "output") is not None:
            return dashscope_response_to_output_messages(self._last)
        found = []
        for _, known in sorted(self._choices.items()):
            message = {
                "content": "".join(known["text"]),
                "reasoning_content": "".join(known["reasoning"]),
                "tool_calls": [known["calls"][place] for place in sorted(known["calls"])],
            }
            parts = message_to_parts(message)
            found.append({"role": "assistant", "parts": parts, "finish_reason": known["reason"]})
        return found

    @property
    def last(self) -> Any:
        return self._last
