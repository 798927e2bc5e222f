"""The fast way through ordinary rows.

Most rows of a file are written by one program and differ only in their texts. A shape is learnt from one row that
the full check found clean. It proves another row clean without building its texts: the row is split into raw pieces,
and the bytes between the pieces must be exactly those of the shape, which leaves no room for another or a second key.
Whatever a shape cannot prove goes to the full check, so a shape never reports anything itself.
"""

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import msgspec
import orjson

from agentic_rl_tui.core.datasets.jsonscan import duplicate_keys
from agentic_rl_tui.core.datasets.rowrules import ROLES, is_nothing

Raw = msgspec.Raw
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_STYLES = ((b", ", b": "), (b",", b":"))
_MESSAGE_ORDERS = (["role", "content"], ["content", "role"])
_MAX_KEYS = 32
_MEMO_BYTES = 128
_MEMO_SIZE = 512
_RULED = frozenset({"messages", "rollout_extra", "ground_truth"})
_QUOTE = 0x22
_CONTAINERS = frozenset({dict, list})


class _Unproven(Exception):
    """The row may be sound, but the shape cannot tell."""


_REFUSED = (_Unproven, msgspec.MsgspecError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError, KeyError)


class Shape:
    """How the rows of one writer look. `standing` are the rules that every row of the shape breaks."""

    def __init__(
        self, keys: list[str], order: list[str], style: tuple[bytes, bytes], standing: tuple[str, ...]
    ) -> None:
        self.keys = keys
        self.standing = standing
        comma, colon = style
        split = keys.index("messages")
        consts = [(comma if place else b"{") + _key(key, colon) for place, key in enumerate(keys)]
        consts[split] += b"["
        self._prefix = b"%b".join(consts[: split + 1])
        self._suffix = b"}]" + b"".join(const + b"%b" for const in consts[split + 1 :]) + b"}\n"
        """What stands around the values before and after the messages, as formats that take the values."""
        names = [_field_name(place, key) for place, key in enumerate(keys)]
        self._decode = _decoder(keys, names, order)
        others = [key for key in keys if key != "messages"]
        self._values = _getter([name for name in names if name != "messages"])
        self._split = split
        self._plain = [place for place, key in enumerate(others) if key not in _RULED]
        self._extra = others.index("rollout_extra") if "rollout_extra" in others else None
        self._truth = others.index("ground_truth") if "ground_truth" in others else None
        self._gap = 1 + len(comma)
        """Bytes from the end of a message's last value to the next message: its brace and the comma."""
        self._has_role_first = order[0] == "role"
        self._text_start = b"{" + _key("content", colon) + b'"'
        self._heads = {role: (*self._head(role, comma, colon), code) for code, role in enumerate(ROLES[:3])}
        """By role: bytes that must be there, what a message takes beside its text, and a number for the role.

        With the role first the bytes are those before the text, its quote included; else those after it.
        """
        self._roles = bytearray()
        """The role of each message, as its number."""
        self._turns: list[int] = []
        self._memo: set[bytes] = set()
        self.rows = 0
        """Rows proven since the last `take_counts`, as the caller counts them."""

    def _head(self, role: str, comma: bytes, colon: bytes) -> tuple[bytes, int]:
        text = _key("content", colon)
        quoted = _key("role", colon) + b'"' + role.encode() + b'"'
        if self._has_role_first:
            head = b"{" + quoted + comma + text + b'"'
            return head, len(head) - 1 + self._gap
        tail = comma + quoted
        return tail, 1 + len(text) + len(tail) + self._gap

    def prove(self, line: bytes, longest: int) -> bool:
        """Whether a line of at most `longest` bytes is proven clean; it is counted then."""
        return self.prove_lines(line, longest) == (1, len(line))

    def prove_lines(self, data: bytes, longest: int) -> tuple[int, int]:
        """Take lines from the beginning of `data` as long as each is proven clean and has at most `longest` bytes.

        Returns how many were, and where the first line begins that was not. None are where the shape of any line of
        `data` is another one.
        """
        try:
            if not data.isascii():
                data.decode()
            rows = self._decode(data)
        except _REFUSED:
            return 0, 0
        # One attribute look-up less for each of millions of rows.
        heads, gap, roles, turns = self._heads, self._gap, self._roles, self._turns
        get_values, split, has_role_first = self._values, self._split, self._has_role_first
        prefix, suffix, truth, extra, plain = self._prefix, self._suffix, self._truth, self._extra, self._plain
        starts_with, memo = data.startswith, self._memo
        start = prefix
        done = len(turns)
        begin = 0
        try:
            for row in rows:
                values = get_values(row)
                if split:
                    start = prefix % values[:split]
                if not starts_with(start, begin):
                    break
                at = begin + len(start)
                if has_role_first:
                    for message in row.messages:
                        head, width, code = heads[message.role]
                        size = len(message.content)
                        if size < 3 or not starts_with(head, at):
                            raise _Unproven
                        at += width + size
                        roles.append(code)
                else:
                    at = self._walk_content_first(data, at, row.messages)
                end = suffix % (values[split:] if split else values)
                if not starts_with(end, at - gap):
                    break
                at += len(end) - gap
                if at - begin > longest:
                    break
                if truth is not None and (len(values[truth]) < 3 or bytes(values[truth])[0] != _QUOTE):
                    break
                if extra is not None and not self._is_sound(bytes(values[extra]), is_extra=True):
                    break
                for place in plain:
                    value = bytes(values[place])
                    if value[0] == _QUOTE or value in memo or (value.isdigit() and len(value) < 18):
                        continue
                    if not self._is_sound(value):
                        raise _Unproven
                turns.append(len(row.messages))
                begin = at
        except _REFUSED:
            pass
        del roles[sum(turns) :]
        return len(turns) - done, begin

    def _walk_content_first(self, data: bytes, at: int, messages: list[Any]) -> int:
        start = self._text_start
        skip = len(start) - 1
        for message in messages:
            tail, width, code = self._heads[message.role]
            size = len(message.content)
            if size < 3 or not data.startswith(start, at) or not data.startswith(tail, at + skip + size):
                raise _Unproven
            at += width + size
            self._roles.append(code)
        return at

    def take_counts(self) -> tuple[dict[str, int], list[int]]:
        """Of the rows proven since the last call: how often each role was seen, and the messages of each row."""
        counts = {role: count for role, (_, _, code) in self._heads.items() if (count := self._roles.count(code))}
        turns = self._turns[:]
        self._roles.clear()
        self._turns.clear()
        self.rows = 0
        return counts, turns

    def _is_sound(self, raw: bytes, *, is_extra: bool = False) -> bool:
        """Whether a value other than a text has no key twice and no number out of range; more for rollout_extra."""
        value = orjson.loads(raw)
        if is_extra and (type(value) is not dict or (self._truth is None and is_nothing(value.get("solution")))):
            return False
        if has_duplicates(raw, value):
            return False
        if not is_extra and len(raw) < _MEMO_BYTES and len(self._memo) < _MEMO_SIZE:
            self._memo.add(raw)
        return True


def _key(key: str, colon: bytes) -> bytes:
    return b'"' + key.encode() + b'"' + colon


def _field_name(place: int, key: str) -> str:
    """A name that is legal in Python whatever the key is."""
    return key if key == "messages" else f"field_{place}"


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Gets the named fields of a row as a tuple."""
    if not names:
        return lambda _: ()
    if len(names) == 1:
        name = names[0]
        return lambda row: (getattr(row, name),)
    return attrgetter(*names)


def _decoder(keys: list[str], names: list[str], order: list[str]) -> Callable[[bytes], list[Any]]:
    """Splits lines into raw pieces; refuses one with other keys, and one without any of these."""
    # A fixed set of roles: no text is built for them.
    kinds = {"role": Literal[ROLES[:3]], "content": Raw}
    message = msgspec.defstruct(
        "Message", [(name, kinds[name]) for name in order], forbid_unknown_fields=True, gc=False
    )
    fields = [(name, list[message] if name == "messages" else Raw) for name in names]  # type: ignore[valid-type]
    row = msgspec.defstruct(
        "Row", fields, rename=dict(zip(names, keys, strict=True)), forbid_unknown_fields=True, gc=False
    )
    return msgspec.json.Decoder(row).decode_lines


def has_duplicates(raw: bytes, value: Any) -> bool:
    """Whether an object in `raw` has a key twice; value is its parsed form.

    Keys written are counted by their colons and compared with the keys that came out. Only when that is not
    certain are the keys themselves compared.
    """
    if raw.count(b'":') == count_keys(value) and b" :" not in raw and b"\t" not in raw and b"\r:" not in raw:
        return False
    return duplicate_keys(raw.decode("utf-8", "replace"))


def count_keys(value: Any) -> int:
    """The number of keys of all objects in a parsed value."""
    count = 0
    waiting = [value] if type(value) in _CONTAINERS else []
    for item in waiting:
        if type(item) is dict:
            count += len(item)
            item = item.values()
        # The list grows while it is walked: no recursion, however deep the value is.
        waiting += [child for child in item if type(child) in _CONTAINERS]
    return count


def learn(line: bytes, row: dict[str, Any], standing: tuple[str, ...]) -> Shape | None:
    """The shape of a clean row, or None where its rows have no fixed form. line ends in a line feed."""
    keys = list(row)
    if len(keys) > _MAX_KEYS or not all(_PLAIN_KEY.fullmatch(key) for key in keys):
        return None
    order = list(row["messages"][0])
    if order not in _MESSAGE_ORDERS or "tools" in keys:
        return None
    for style in _STYLES:
        shape = Shape(keys, order, style, standing)
        if shape.prove(line, len(line)):
            shape.take_counts()
            return shape
    return None
