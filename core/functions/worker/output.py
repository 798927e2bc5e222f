"""What user code prints and logs: on its way to the pool, and kept for the call that caused it."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import time
from contextvars import ContextVar
from typing import Any

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

    @property
    def is_plain(self) -> bool:
        """Whether a message is all that this handler takes of a record."""
        return self.level == 0 and not self.filters and self.formatter is None and _records_are_plain()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception as error:
            text = f"{record.msg!r} could not be formatted: {type(error).__name__}: {error}"
        self.send(record.levelname, text, record.created)

    def send(self, level: str, text: str, created: float) -> None:
        kept = printed.get()
        if kept is not None:
            kept.add(f"{level} {text}\n")
        self._outlet.log(sendable(f"{level} - {text}"), created)


def _records_are_plain() -> bool:
    return logging.getLogRecordFactory() is logging.LogRecord


class DirectLogger(logging.Logger):
    """Makes no record where only our own handler would read it: a fast reward takes longer to log than to compute."""

    def _log(self, level: int, msg: object, args: Any, *rest: Any, **more: Any) -> None:
        handler = self.handlers[0] if len(self.handlers) == 1 and not self.filters else None
        if rest or more or args or type(handler) is not FrameHandler or not handler.is_plain:
            super()._log(level, msg, args, *rest, **more)
        else:
            handler.send(logging.getLevelName(level), str(msg), time.time())


def sendable(text: str) -> str:
    """Text without what UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def attach_logger(logger: logging.Logger, outlet: Outlet) -> None:
    """Send the records of the processor API's logger to the pool."""
    logger.handlers[:] = [FrameHandler(outlet)]
    if type(logger) is logging.Logger:
        logger.__class__ = DirectLogger
