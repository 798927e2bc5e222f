"""How long rows are: characters, and an estimate of tokens without a tokenizer."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl_tui.core.i18n import N_

BYTES_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKEN_BASIS = N_(
    "estimate without a tokenizer: 1 token for every 4 bytes of UTF-8 text (about 0.75 a Chinese character), "
    "plus 4 a message; tool calls and tools count as their JSON"
)


def text_size(row: Mapping[str, Any]) -> tuple[int, int]:
    """Characters of all messages of one parsed row, and their estimated tokens."""
    messages = row.get("messages")
    if type(messages) is not list:
        return 0, 0
    chars = size = 0
    for message in messages:
        if type(message) is not dict:
            continue
        content = message.get("content")
        if type(content) is str:
            chars += len(content)
            size += len(content) if content.isascii() else utf8_length(content)
        elif type(content) is list:
            for part in content:
                text = part.get("text") if type(part) is dict else None
                if type(text) is str:
                    chars += len(text)
                    size += utf8_length(text)
        if calls := message.get("tool_calls"):
            text = as_json(calls)
            chars += len(text)
            size += utf8_length(text)
    if tools := row.get("tools"):
        size += utf8_length(as_json(tools))
    return chars, tokens(size, len(messages))


def tokens(size: int, messages: int) -> int:
    """The estimate for `size` bytes of text in so many messages."""
    return -(-size // BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * messages


def utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Spread:
    """A distribution being collected. Values are kept to five significant bits, so memory stays small."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.low = 0
        self.high = 0
        self.buckets: Counter[int] = Counter()

    def add(self, values: Sequence[int]) -> None:
        if not values:
            return
        self.low = min(values) if not self.count else min(self.low, min(values))
        self.high = max(self.high, max(values))
        self.count += len(values)
        self.total += sum(values)
        for value, times in Counter(values).items():
            self.buckets[floor(value)] += times

    def merge(self, other: tuple[int, int, int, int, dict[int, int]]) -> None:
        count, total, low, high, buckets = other
        if not count:
            return
        self.low = low if not self.count else min(self.low, low)
        self.high = max(self.high, high)
        self.count += count
        self.total += total
        self.buckets.update(buckets)

    def pack(self) -> tuple[int, int, int, int, dict[int, int]]:
        return self.count, self.total, self.low, self.high, dict(self.buckets)


def floor(value: int) -> int:
    """The lower end of the bucket of `value`."""
    shift = max(0, value.bit_length() - 5)
    return value >> shift << shift


def ceiling(low: int) -> int:
    """The upper end, included, of the bucket that begins at `low`."""
    return low + (1 << max(0, low.bit_length() - 5)) - 1
