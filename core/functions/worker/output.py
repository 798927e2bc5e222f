"""What user code prints and logs: on its way to the pool, and kept for the call that caused it."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from contextvars import ContextVar
from typing import Any

from agentic_rl_tui.core.functions.frames import frame
from agentic_rl_tui.core.functions.worker.outlet import Outlet

KEPT_CHARS = 64 * 1024
"""Of one call's output; the whole of it goes to the pool's lines."""


class Printed:
    """The first characters that one call printed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = KEPT_CHARS
        self._dropped = 0

    def add(self, text: str) -> None:
        if len(text) <= self._room:
            self._parts.append(text)
            self._room -= len(text)
        else:
            self._parts.append(text[: self._room])
            self._dropped += len(text) - self._room
            self._room = 0

    def text(self) -> str:
        whole = "".join(self._parts)
        return f"{whole}\n[{self._dropped} more characters]" if self._dropped else whole


printed: ContextVar[Printed | None] = ContextVar("agentic_rl_printed", default=None)


class _Teed(io.TextIOWrapper):
    """A standard stream that also remembers for the current call what is written."""

    def write(self, text: str, /) -> int:
        _unflushed.add(self)
        kept = printed.get()
        if kept is not None:
            kept.add(text)
        return super().write(text)


_unflushed: set[_Teed] = set()
"""Streams written to since the last flush."""


def attach_streams(stdout_fd: int, stderr_fd: int) -> None:
    """Put the given pipes in the place of stdout and stderr, for this process and those it starts."""
    for fd, target, name in ((stdout_fd, 1, "stdout"), (stderr_fd, 2, "stderr")):
        os.dup2(fd, target)
        os.close(fd)
        raw = open(target, "wb", closefd=False)  # noqa: SIM115 - lives as long as the process
        stream = _Teed(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def flush_streams() -> None:
    """Push out unfinished lines. A stream that user code closed or broke is left alone."""
    while _unflushed:
        with contextlib.suppress(Exception):
            _unflushed.pop().flush()


class FrameHandler(logging.Handler):
    """Sends log records as frames, apart from what is printed."""

    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception as error:
            text = f"{record.msg!r} could not be formatted: {type(error).__name__}: {error}"
        kept = printed.get()
        if kept is not None:
            kept.add(f"{record.levelname} {text}\n")
        self._outlet.hold(frame("log", text=f"{record.levelname} - {text}", time_s=record.created))


def attach_logger(logger: Any, outlet: Outlet) -> None:
    """Send the records of the processor API's logger to the pool."""
    logger.handlers[:] = [FrameHandler(outlet)]
