"""The worker's end of the frame socket, for writing. Usable from any thread."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable


class Outlet:
    """Frames go out whole and in order; a forked child of user code can write none."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._held: list[bytes] = []
        self._flush_soon: Callable[[], None] | None = None
        self._will_flush = False
        self._pid = os.getpid()

    def flush_by(self, soon: Callable[[], None]) -> None:
        """soon: called from any thread when something is held; it must see to a `flush` a moment later."""
        self._flush_soon = soon

    def send(self, data: bytes) -> None:
        """Write now, after what is held back. Ends the process when the pool is gone."""
        with self._lock:
            if self._held:
                self._held.append(data)
                data = b"".join(self._held)
                self._held.clear()
            self._write(data)

    def hold(self, data: bytes) -> None:
        """Keep for the next `send` or `flush`: for lines that may come in thousands."""
        with self._lock:
            self._held.append(data)
            if len(self._held) >= 256:
                self._drain()
            first = not self._will_flush and self._flush_soon is not None
            self._will_flush = self._will_flush or first
        if first and self._flush_soon is not None:
            self._flush_soon()

    def flush(self) -> None:
        with self._lock:
            self._will_flush = False
            if self._held:
                self._drain()

    def _drain(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._write(data)

    def _write(self, data: bytes) -> None:
        if os.getpid() != self._pid:
            return
        try:
            self._sock.sendall(data)
        except OSError:
            os._exit(0)
