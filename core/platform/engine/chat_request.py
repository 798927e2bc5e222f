"""Reading the body of a chat completion request; what is wrong with it is told as OpenAI tells it."""

from collections.abc import Mapping
from typing import Any

import orjson

from agentic_rl_tui.core.functions.depth import MOST_LEVELS, is_too_deep
from agentic_rl_tui.core.platform.engine.policy import ModelFault, ModelRequest

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_MAX_CHOICES = 128


class BadField(ModelFault):
    """A field of the body that cannot be used."""

    def __init__(self, param: str | None, message: str) -> None:
        super().__init__(message)
        self.param = param


def parse(body: bytes) -> tuple[ModelRequest, bool, bool]:
    """The request, whether it streams, and whether the stream ends with a usage chunk. Raises BadField."""
    try:
        raw = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadField(None, "We could not parse the JSON body of your request.") from None
    if not isinstance(raw, dict):
        raise BadField(None, "The body of the request must be a JSON object.")
    if is_too_deep(raw, body):
        raise BadField(None, f"The JSON body of your request is nested more than {MOST_LEVELS} levels deep.")
    model = raw.get("model")
    if not isinstance(model, str) or not model:
        raise BadField("model", "you must provide a model parameter")
    options = raw.get("stream_options")
    is_stream = _flag(raw, "stream")
    if options is not None and not is_stream:
        raise BadField("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    wants_usage = isinstance(options, Mapping) and options.get("include_usage") is True
    limit = _whole(raw, "max_completion_tokens", 1)
    tools = _tools(raw)
    request = ModelRequest(
        messages=_messages(raw),
        tools=tools,
        tool_choice=_tool_choice(raw, tools),
        temperature=_number(raw, "temperature", 0, 2),
        max_tokens=limit if limit is not None else _whole(raw, "max_tokens", 1),
        stop=_stop(raw),
        n=_whole(raw, "n", 1, _MAX_CHOICES) or 1,
        response_format=raw["response_format"] if isinstance(raw.get("response_format"), Mapping) else None,
        raw=raw,
    )
    return request, is_stream, wants_usage


def _messages(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = raw.get("messages")
    if not isinstance(messages, list):
        raise BadField("messages", "Missing required parameter: 'messages', a list of messages.")
    if not messages:
        raise BadField("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
    for place, message in enumerate(messages):
        if not isinstance(message, dict):
            raise BadField(f"messages[{place}]", f"Invalid type for 'messages[{place}]': expected an object.")
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise BadField(
                f"messages[{place}].role",
                f"Invalid value: {role!r}. Supported values are: {', '.join(sorted(_ROLES))}.",
            )
        content = message.get("content")
        if content is None and role not in ("assistant", "function"):
            raise BadField(f"messages[{place}].content", f"Missing required parameter: 'messages[{place}].content'.")
        if content is not None and not isinstance(content, str | list):
            raise BadField(
                f"messages[{place}].content",
                f"Invalid type for 'messages[{place}].content': expected a string or an array of parts.",
            )
        if isinstance(content, list):
            _objects(content, f"messages[{place}].content")
        if message.get("tool_calls") is not None:
            _called(message["tool_calls"], f"messages[{place}].tool_calls")
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise BadField(
                f"messages[{place}].tool_call_id", f"Missing required parameter: 'messages[{place}].tool_call_id'."
            )
    return messages


def _objects(values: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(values, list):
        raise BadField(place, f"Invalid type for '{place}': expected an array of objects.")
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise BadField(f"{place}[{number}]", f"Invalid type for '{place}[{number}]': expected an object.")
    return values


def _called(calls: Any, place: str) -> None:
    """Check the tool calls that an earlier answer made."""
    for number, call in enumerate(_objects(calls, place)):
        if not isinstance(call.get("function") or {}, dict):
            inner = f"{place}[{number}].function"
            raise BadField(inner, f"Invalid type for '{inner}': expected an object.")


def _tools(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = raw.get("tools")
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise BadField("tools", "Invalid type for 'tools': expected an array of objects.")
    for place, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadField(f"tools[{place}].function", f"Missing required parameter: 'tools[{place}].function.name'.")
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise BadField(
                f"tools[{place}].function.parameters",
                f"Invalid type for 'tools[{place}].function.parameters': expected an object.",
            )
    return tools


def _tool_choice(raw: Mapping[str, Any], tools: list[dict[str, Any]]) -> Any:
    choice = raw.get("tool_choice")
    if choice in (None, "auto", "none"):
        return choice
    if choice == "required":
        if not tools:
            raise BadField("tool_choice", "Invalid value for 'tool_choice': 'required' needs 'tools'.")
        return choice
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if name is None:
        raise BadField("tool_choice", "Invalid value for 'tool_choice': expected none, auto, required or a function.")
    if all(tool["function"]["name"] != name for tool in tools):
        raise BadField("tool_choice", f"Invalid value for 'tool_choice': no tool is named {name!r}.")
    return choice


def _stop(raw: Mapping[str, Any]) -> tuple[str, ...]:
    stop = raw.get("stop")
    if stop is None:
        return ()
    words = [stop] if isinstance(stop, str) else stop
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise BadField("stop", "Invalid type for 'stop': expected a string or an array of strings.")
    return tuple(words)


def _flag(raw: Mapping[str, Any], key: str) -> bool:
    value = raw.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise BadField(key, f"Invalid type for '{key}': expected a boolean.")
    return value


def _number(raw: Mapping[str, Any], key: str, low: float, high: float) -> float | None:
    value = raw.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadField(key, f"Invalid type for '{key}': expected a number.")
    if not low <= value <= high:
        raise BadField(key, f"Invalid '{key}': expected a value from {low:g} to {high:g}, but got {value!r}.")
    return float(value)


def _whole(raw: Mapping[str, Any], key: str, low: int, high: int = 2**31) -> int | None:
    value = raw.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadField(key, f"Invalid type for '{key}': expected an integer.")
    if not low <= value <= high:
        raise BadField(key, f"Invalid '{key}': expected a value from {low} to {high}, but got {value}.")
    return value
