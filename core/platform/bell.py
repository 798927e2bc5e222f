"""Waking those who wait for a job to change."""

import asyncio
from collections import defaultdict


class Bell:
    """`ring` wakes everybody who waits on the same name at that moment."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def ring(self, name: str) -> None:
        for event in self._waiting.get(name, ()):
            event.set()

    def ring_all(self) -> None:
        for name in list(self._waiting):
            self.ring(name)

    async def wait(self, name: str, timeout_s: float) -> bool:
        """True when the bell rang, False when the time passed."""
        event = asyncio.Event()
        self._waiting[name].add(event)
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting[name].discard(event)
            if not self._waiting[name]:
                del self._waiting[name]
        return True
