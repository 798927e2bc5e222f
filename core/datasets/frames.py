"""Messages between two processes of one program: the length in four bytes, then a marshalled tuple."""

import marshal
from typing import Any, BinaryIO

_LENGTH_BYTES = 4


def send(stream: BinaryIO, message: tuple[Any, ...]) -> None:
    data = marshal.dumps(message)
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[Any, ...] | None:
    """The next message; None where the other side has ended."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    data = stream.read(length)
    if len(data) < length:
        return None
    message: tuple[Any, ...] = marshal.loads(data)
    return message
