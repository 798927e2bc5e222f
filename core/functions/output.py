"""Lines that a worker printed, on the pool's side."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MAX_LINE_CHARS = 16 * 1024
_CHUNK = 64 * 1024
_KEPT_CHARS = 64 * 1024


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line. stream: ``stdout``, ``stderr``, ``log`` (the user's logger) or ``worker`` (our own words).

    A line longer than MAX_LINE_CHARS arrives in pieces. time_s: seconds since the epoch.
    """

    stream: str
    text: str
    time_s: float


OnOutput = Callable[[OutputLine], None]


class Tail:
    """The last lines that a worker printed, for a call that cannot bring its own output back."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque()
        self._chars = 0
        self.count = 0

    def add(self, text: str) -> None:
        self.count += 1
        self._lines.append((self.count, text))
        self._chars += len(text) + 1
        while self._chars > _KEPT_CHARS and len(self._lines) > 1:
            self._chars -= len(self._lines.popleft()[1]) + 1

    def since(self, count: int) -> str:
        """Everything kept that was added after `count` stood at the given number."""
        return "".join(f"{text}\n" for number, text in self._lines if number > count)

    def last(self, lines: int) -> str:
        return "\n".join(text for _, text in list(self._lines)[-lines:])


class PipeReader:
    """Reads one stream of a worker to its end."""

    def __init__(self, fd: int, stream: str, sink: OnOutput) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._stream = stream
        self._sink = sink
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)
        self._open = True

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._feed(self._decoder.decode(data))
        else:
            self.close()

    def _feed(self, text: str) -> None:
        *lines, rest = (self._line + text).split("\n")
        for line in lines:
            self._emit(line)
        while len(rest) > MAX_LINE_CHARS:
            self._emit(rest[:MAX_LINE_CHARS])
            rest = rest[MAX_LINE_CHARS:]
        self._line = rest

    def _emit(self, line: str) -> None:
        line = line.removesuffix("\r")
        for start in range(0, len(line) or 1, MAX_LINE_CHARS):
            self._sink(OutputLine(self._stream, line[start : start + MAX_LINE_CHARS], time.time()))

    def drain(self) -> None:
        """Take what is there at the moment."""
        while self._open:
            try:
                data = os.read(self._fd, _CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            self._feed(self._decoder.decode(data))

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        rest = self._line + self._decoder.decode(b"", final=True)
        self._line = ""
        if rest:
            self._emit(rest)
