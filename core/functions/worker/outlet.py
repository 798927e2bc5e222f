"""The worker's end of the frame socket, for writing. Usable from any thread."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

_MAX_HELD = 256


class Outlet:
    """Frames go out whole and in order; a forked child of user code can write none."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._held: list[bytes] = []
        self._flush_soon: Callable[[], None] | None = None
        self._pid = os.getpid()

    def flush_by(self, soon: Callable[[], None]) -> None:
        """soon: called from any thread when something is held; it must see to a `flush` a moment later."""
        self._flush_soon = soon

    def forget(self) -> None:
        """In a forked child: its parent's frames are none of its business, and its lock may never be released."""
        self._lock = threading.Lock()
        self._held = []

    def send(self, data: bytes) -> None:
        """Write now, after what is held back. Ends the process when the pool is gone."""
        with self._lock:
            if self._held:
                self._held.append(data)
                data = b"".join(self._held)
                self._held.clear()
            self._write(data)

    def hold(self, data: bytes) -> None:
        """Keep for the next `send` or `flush`: for frames that may come in thousands."""
        with self._lock:
            self._held.append(data)
            if len(self._held) >= _MAX_HELD:
                self._drain()
        if self._flush_soon is not None:
            self._flush_soon()

    def flush(self) -> bool:
        """Whether there was anything to write."""
        if not self._held:
            return False
        with self._lock:
            self._drain()
        return True

    def _drain(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        if data:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if os.getpid() != self._pid:
            return
        try:
            self._sock.sendall(data)
        except OSError:
            os._exit(0)
