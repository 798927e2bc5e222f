"""Progress from a working thread to the event loop's thread."""

import asyncio
import contextlib
import threading
from collections.abc import Callable


class Relay:
    """Called in any thread with figures; the loop's thread hears of the newest ones.

    At most one call is on its way, so that a fast worker cannot flood a slow listener.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Callable[[int, int], None]) -> None:
        self._loop = loop
        self._listener = listener
        self._latest: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def __call__(self, done: int, total: int) -> None:
        with self._lock:
            is_first = self._latest is None
            self._latest = (done, total)
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop was closed; nobody listens
                self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        """Tell what is still to be told. Call it on the loop's thread once the work is done."""
        with self._lock:
            latest, self._latest = self._latest, None
        if latest is not None:
            self._listener(*latest)
