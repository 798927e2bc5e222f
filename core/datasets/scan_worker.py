"""The process that scans ranges of a file for another one: requests on stdin, answers on stdout.

A message is its length in four bytes and a marshalled tuple. The first request is (path, options), the others are
(start, end, full rules); the answer to each of those is a packed `Findings`. The end of stdin is the end of the work.
"""

import gc
import marshal
import sys
from typing import Any, BinaryIO

from agentic_rl_tui.core.datasets.scan import Options, RangeScanner

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


def main() -> None:
    # Rows hold no cycles: collecting them again and again would cost a fifth of the time.
    gc.disable()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    path, options = first
    scanner = RangeScanner(Options(*options))
    while (request := receive(source)) is not None:
        start, end, full = request
        send(sink, scanner.scan(path, start, end, full=full).pack())


if __name__ == "__main__":
    main()
