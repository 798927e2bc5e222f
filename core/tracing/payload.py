"""Values as spans can hold them: JSON, cut at a limit with a mark, secrets masked."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from agentic_rl_tui.core.tracing import state

PREVIEW_CHARS = 128 * 1024
ARGUMENT_CHARS = 32_768
_ITEM_CHARS = 8_192
_SECRET_WORDS = (
    "api_key", "apikey", "api-key", "token", "secret", "password", "passwd", "authorization", "credential",
    "access_key", "private_key", "cookie",
)  # fmt: skip
_NO_SECRETS = frozenset({"max_tokens", "max_completion_tokens", "input_tokens", "output_tokens", "total_tokens"})
MASK = "******"


def cut(text: str, limit: int) -> str:
    """The text, or its start with a mark that says how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [cut: {limit} of {len(text)} characters kept]"


@lru_cache(maxsize=4096)
def is_secret(key: str) -> bool:
    """Whether a key's name says that its value must not be shown."""
    name = key.lower()
    return name not in _NO_SECRETS and not name.endswith("_tokens") and any(word in name for word in _SECRET_WORDS)


def plain_data(value: Any, *, depth: int = 6, items: int = 200, chars: int = _ITEM_CHARS, masked: bool = True) -> Any:
    """Plain data of anything, bounded in depth, items and characters of each text. Never raises."""
    if isinstance(value, str):
        return value if len(value) <= chars else cut(value, chars)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth <= 0:
        return cut(_text(value), chars)

    def inner(item: Any) -> Any:
        return plain_data(item, depth=depth - 1, items=items, chars=chars, masked=masked)

    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, item in list(value.items())[:items]:
            name = str(key)
            found[name] = MASK if masked and is_secret(name) and item else inner(item)
        if len(value) > items:
            found["…"] = f"[cut: {items} of {len(value)} entries kept]"
        return found
    if isinstance(value, list | tuple | set | frozenset):
        listed = [inner(item) for item in list(value)[:items]]
        return [*listed, f"… [cut: {items} of {len(value)} items kept]"] if len(value) > items else listed
    for name in ("model_dump", "to_dict", "dict"):
        dump = getattr(value, name, None)
        if callable(dump) and not isinstance(value, type):
            try:
                dumped = dump(mode="json") if name == "model_dump" else dump()
            except Exception:
                continue
            if isinstance(dumped, dict | list | str):
                return plain_data(dumped, depth=depth, items=items, chars=chars, masked=masked)
    return cut(_text(value), chars)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def dump(value: Any) -> str:
    return _encode(value)


_encode = json.JSONEncoder(ensure_ascii=False, default=_text).encode


def _packer() -> Callable[[Any], str]:
    """pydantic's encoder where it is, which is where functions run."""
    try:
        from pydantic_core import to_json
    except ImportError:
        return dump

    def encode(value: Any) -> str:
        try:
            return to_json(value, fallback=_text).decode()
        except Exception:  # lone surrogates, which the other writes
            return dump(value)

    return encode


dump_fast = _packer()
"""For what every model call writes; without spaces."""


def preview(value: Any, limit: int = PREVIEW_CHARS) -> str:
    """JSON of a processor's input or output, its secrets masked."""
    return cut(dump(plain_data(value, depth=12, items=2_000, chars=limit)), limit)


def arguments(value: Any) -> str:
    """JSON of a tool's arguments. A text that holds JSON is masked inside."""
    limit = state.number("AGENTIC_RL_TOOL_CALL_ARGUMENTS_MAX_CHARS", ARGUMENT_CHARS)
    masked = state.flag("AGENTIC_RL_TOOL_CALL_ARGUMENTS_MASK", True)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return cut(value, limit)
    return cut(dump(plain_data(value, depth=8, chars=limit, masked=masked)), limit)


def result(value: Any) -> str:
    """What a tool gave back: text as it is, the rest as JSON."""
    limit = state.number("AGENTIC_RL_TOOL_CALL_ARGUMENTS_MAX_CHARS", ARGUMENT_CHARS)
    content = getattr(value, "content", value)
    if isinstance(content, str):
        return cut(content, limit)
    return cut(dump(plain_data(content, depth=8, chars=limit)), limit)
