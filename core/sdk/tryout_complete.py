"""What can be typed into the input of a function: keys and values of the service's models, in half-typed JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from agentic_rl_tui.core.functions.harness_inputs import MODELS
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile import Completion
from agentic_rl_tui.core.models.kinds import FunctionKind

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_TYPES = {
    "string": N_("text"),
    "number": N_("number"),
    "integer": N_("whole number"),
    "boolean": N_("true or false"),
    "array": N_("list"),
    "object": N_("section"),
}
_TEXT: Mapping[str, Any] = {"type": "string"}
_MESSAGE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "role": {"enum": ["user", "assistant", "system", "tool"]},
        "content": _TEXT,
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "type": {"enum": ["function"]},
                    "function": {"type": "object", "properties": {"name": _TEXT, "arguments": _TEXT}},
                },
            },
        },
        "tool_call_id": _TEXT,
    },
    "required": ["role", "content"],
}
_KNOWN: Mapping[str, Mapping[str, Any]] = {
    "messages": {"type": "array", "items": _MESSAGE},
    "sampling_params": {
        "type": "object",
        "properties": {
            "temperature": {"type": "number"},
            "top_p": {"type": "number"},
            "max_tokens": {"type": "integer"},
            "max_turns": {"type": "integer"},
        },
    },
    "rollout_extra": {"type": "object", "properties": {"solution": _TEXT}},
}
"""What the models leave open, as it is used."""


@dataclass(slots=True)
class _Level:
    """One object or list around the cursor. expects: ``key``, ``colon``, ``value`` or ``comma``."""

    opener: str
    expects: str
    key: str = ""
    keys: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Word:
    """What stands at the cursor: nothing, or a word or text that begins at `start`."""

    start: int
    end: int
    typed: str


def complete_input(kind: FunctionKind, text: str, line: int, col: int) -> list[Completion]:
    """What fits at a cursor counted from 1, the required keys first; empty where nothing is known."""
    lines = text.split("\n")
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + col - 1
    levels, word = _look(text, offset)
    if not levels:
        return []
    schema: Any = _schema(kind)
    for level in levels[:-1]:
        schema = _inside(schema, level, kind)
    inner = levels[-1]
    if inner.opener == "{" and inner.expects == "key":
        found = list(_keys(_resolved(schema, kind), inner.keys, kind, has_colon=_followed(text, word.end)))
    elif inner.expects == "value":
        found = list(_values(_resolved(_inside(schema, inner, kind), kind), inner.key, kind))
    else:
        return []
    first = offset - col + 1
    needle = word.typed.lower()
    return [
        Completion(label, insert, detail, word.start - first + 1, word.end - first + 1)
        for label, insert, detail in sorted(found, key=lambda item: not item[0].lower().startswith(needle))
        if needle in label.lower()
    ]


def _look(text: str, offset: int) -> tuple[list[_Level], _Word]:
    levels: list[_Level] = []
    for match in _TOKEN.finditer(text):
        token, start, end = match[0], match.start(), match.end()
        if start >= offset:
            break
        is_open = token[0] == '"' and (len(token) == 1 or token[-1] != '"')
        if token[0] not in "{}[],:" and (offset < end or (offset == end and (is_open or token[0] != '"'))):
            return levels, _Word(start, end, text[start:offset].lstrip('"'))
        _take(levels, token)
    return levels, _Word(offset, offset, "")


def _take(levels: list[_Level], token: str) -> None:
    top = levels[-1] if levels else None
    if token == "{":
        levels.append(_Level("{", "key"))
    elif token == "[":
        levels.append(_Level("[", "value"))
    elif token in ("}", "]"):
        if levels:
            levels.pop()
        if levels:
            levels[-1].expects = "comma"
    elif top is None:
        return
    elif token == ",":
        top.expects = "key" if top.opener == "{" else "value"
    elif token == ":":
        top.expects = "value"
    elif top.expects == "key":
        top.key = token.strip('"')
        top.keys.add(top.key)
        top.expects = "colon"
    else:
        top.expects = "comma"


@cache
def _schema(kind: FunctionKind) -> Mapping[str, Any]:
    return MODELS[kind].model_json_schema()


def _resolved(schema: Any, kind: FunctionKind) -> Mapping[str, Any]:
    """A schema without references, and without the choice of leaving it out."""
    for _round in range(8):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        variants = [item for item in schema.get("anyOf", ()) if item.get("type") != "null"]
        if isinstance(reference, str):
            schema = _schema(kind).get("$defs", {}).get(reference.rpartition("/")[2], {})
        elif variants:
            schema = variants[0]
        elif len(schema.get("allOf", ())) == 1:
            schema = schema["allOf"][0]
        else:
            return schema
    return {}


def _inside(schema: Any, level: _Level, kind: FunctionKind) -> Any:
    """The schema of the value that a level is about to hold."""
    known = _resolved(schema, kind)
    if level.opener == "[":
        return known.get("items", {})
    return _KNOWN.get(level.key) or known.get("properties", {}).get(level.key, {})


def _keys(
    schema: Mapping[str, Any], taken: set[str], kind: FunctionKind, *, has_colon: bool
) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    for name in sorted(properties, key=lambda name: name not in required):
        if name in taken:
            continue
        of = _resolved(_KNOWN.get(name) or properties[name], kind)
        words = _(_TYPES[of["type"]]) if of.get("type") in _TYPES else " | ".join(map(str, of.get("enum", ())))
        detail = _("{type}, required").format(type=words) if name in required and words else words
        yield name, json.dumps(name) + ("" if has_colon else ": "), detail


def _values(schema: Mapping[str, Any], key: str, kind: FunctionKind) -> Iterator[tuple[str, str, str]]:
    options = list(schema.get("enum", ())) or ([schema["const"]] if "const" in schema else [])
    if key == "func_type":
        options = [kind.value]
    for option in options:
        yield str(option), json.dumps(option), ""
    if schema.get("type") == "boolean":
        yield "true", "true", ""
        yield "false", "false", ""
    elif schema.get("type") == "object":
        yield "{}", "{}", _(_TYPES["object"])
    elif schema.get("type") == "array":
        yield "[]", "[]", _(_TYPES["array"])


def _followed(text: str, end: int) -> bool:
    return text[end:].lstrip().startswith(":")
