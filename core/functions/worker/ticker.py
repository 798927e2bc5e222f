"""A thread that looks after things now and then, and sleeps while there is nothing to look after."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import sleep

_IDLE_TICKS = 100


class Ticker:
    """jobs are called every `tick_s` from a `kick` until all have said False for a while."""

    def __init__(self, tick_s: float) -> None:
        self.tick_s = tick_s
        self.jobs: list[Callable[[], bool]] = []
        self._active = False
        self._wake = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="ticker", daemon=True).start()

    def kick(self) -> None:
        """There is something to look after. From any thread; costs next to nothing while it ticks anyway."""
        if not self._active:
            self._active = True
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            idle = 0
            while idle < _IDLE_TICKS:
                sleep(self.tick_s)
                idle = 0 if self._work() else idle + 1
            self._active = False
            if self._work():
                self.kick()

    def _work(self) -> bool:
        """Do every job; whether any had something to do."""
        return sum(map(bool, [job() for job in self.jobs])) > 0
