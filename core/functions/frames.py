"""Frames between a pool and its workers: four bytes of length, then one JSON object with an ``op``.

A call is the exception: a mark, eight bytes of id, and the user's input as it is, so that it is parsed only once, by
the model that validates it. With the second of the marks, four bytes of length and what the caller said of its own
trace stand before the input. Unknown ops are skipped by both ends, so that new kinds of frames need no new version.
Also read by interpreters that hold none of our dependencies.
"""

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

HEADER = struct.Struct("<I")
CALL_MARKS = (b"C", b"U")
_PLAIN, _LINKED = CALL_MARKS
_CALL_HEADER = struct.Struct("<IcQ")
_CALL_ID = struct.Struct("<xQ")
_LINKED_HEADER = struct.Struct("<IcQI")
_LINKED_ID = struct.Struct("<xQI")
MAX_BYTES = 1 << 30


def encode(value: Any) -> bytes:
    """JSON as UTF-8. What it cannot hold becomes text, so that a report of a fault never fails itself."""
    try:
        return _dump(value)
    except Exception:
        return _dump(_clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value).encode("utf-8", "replace").decode()


def _dump_plain(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _load_plain(data: bytes) -> Any:
    return json.loads(data)


def _codec() -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Every interpreter that can run functions has pydantic's own, and importing it costs nothing there."""
    try:
        from pydantic_core import from_json, to_json
    except ImportError:
        return _dump_plain, _load_plain
    return to_json, from_json


_dump, decode = _codec()


def pack(body: bytes) -> bytes:
    return HEADER.pack(len(body)) + body


def frame(op: str, **fields: Any) -> bytes:
    return pack(encode({"op": op, **fields}))


def call_frame(call_id: int, payload: bytes, upstream: bytes = b"") -> bytes:
    if not upstream:
        return _CALL_HEADER.pack(len(payload) + _CALL_ID.size, _PLAIN, call_id) + payload
    size = _LINKED_ID.size + len(upstream) + len(payload)
    return _LINKED_HEADER.pack(size, _LINKED, call_id, len(upstream)) + upstream + payload


def read_call(body: bytes) -> tuple[int, bytes, bytes]:
    """Id, input, and what the caller said of its own trace."""
    if body.startswith(_PLAIN):
        return _CALL_ID.unpack_from(body)[0], body[_CALL_ID.size :], b""
    call_id, length = _LINKED_ID.unpack_from(body)
    begin = _LINKED_ID.size + length
    return call_id, body[begin:], body[_LINKED_ID.size : begin]


class Splitter:
    """Cuts a stream of bytes into the bodies of its frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield every frame that is complete. Raises ValueError when the stream is no stream of frames."""
        self._buffer += data
        start, size = 0, len(self._buffer)
        try:
            while size - start >= 4:
                (length,) = HEADER.unpack_from(self._buffer, start)
                if length > MAX_BYTES:
                    raise ValueError(f"a frame of {length} bytes is longer than the limit of {MAX_BYTES}")
                if size - start - 4 < length:
                    break
                body = bytes(memoryview(self._buffer)[start + 4 : start + 4 + length])
                start += 4 + length
                yield body
        finally:
            if start:
                del self._buffer[:start]
