"""The worker's end of the frame socket, for writing. Usable from any thread."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from os import _exit as exit_now  # as it was before anybody wrapped it: ending must not come back here

from agentic_rl_tui.core.functions.frames import frame

_MAX_LINES = 256
_EXIT_WAIT_S = 0.2


class Outlet:
    """Frames go out whole and in order; a forked child of user code can write none."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._held: list[bytes | Callable[[], bytes]] = []
        self._lines: list[tuple[str, float]] = []
        self._flush_soon: Callable[[], None] | None = None
        self._pid = os.getpid()

    def flush_by(self, soon: Callable[[], None]) -> None:
        """soon: called from any thread when something is held; it must see to a `flush` a moment later."""
        self._flush_soon = soon

    def forget(self) -> None:
        """In a forked child: its parent's frames are none of its business, and its lock may never be released."""
        self._lock = threading.Lock()
        self._held, self._lines = [], []

    def send(self, data: bytes) -> None:
        """Write now, after what is held back. Ends the process when the pool is gone."""
        with self._lock:
            self._held.append(data)
            self._drain()

    def hold(self, data: bytes | Callable[[], bytes]) -> None:
        """Keep for the next `send` or `flush`; what can be called is made when it is written."""
        with self._lock:
            self._held.append(data)
        if self._flush_soon is not None:
            self._flush_soon()

    def log(self, text: str, time_s: float) -> None:
        """Keep a logged line; lines travel together, ahead of the results that come after them."""
        with self._lock:
            self._lines.append((text, time_s))
            if len(self._lines) >= _MAX_LINES:
                self._drain()
        if self._flush_soon is not None:
            self._flush_soon()

    def flush(self) -> bool:
        """Whether there was anything to write."""
        if not self._held and not self._lines:
            return False
        with self._lock:
            self._drain()
        return True

    def flush_before_exit(self) -> None:
        """For whoever ends the process: waits only a moment for a thread that writes."""
        if os.getpid() == self._pid and self._lock.acquire(timeout=_EXIT_WAIT_S):
            try:
                self._drain()
            finally:
                self._lock.release()

    def _drain(self) -> None:
        if self._lines:
            self._held.insert(0, frame("log", lines=self._lines))
            self._lines = []
        data = b"".join([item if isinstance(item, bytes) else item() for item in self._held])
        self._held.clear()
        if data:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if os.getpid() != self._pid:
            return
        try:
            self._sock.sendall(data)
        except OSError:
            exit_now(0)
