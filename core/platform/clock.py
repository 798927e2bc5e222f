"""Noticing that the system's clock was set: by hand, by a time server, or when a virtual machine came back."""

import time
from collections.abc import Callable

_TOLERANCE_S = 2.0
"""A time server that slews the clock stays below this between two looks."""


def steady() -> float:
    """Seconds that nobody can set; those of sleep count where the system tells them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ClockWatch:
    """Compares the wall clock with one that cannot be set."""

    def __init__(self, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady) -> None:
        self._wall = wall
        self._steady = steady
        self._gap = wall() - steady()

    def set_by(self) -> float:
        """By how many seconds the wall clock was set forward since the last call that told of it; 0 for not at all."""
        gap = self._wall() - self._steady()
        moved = gap - self._gap
        if abs(moved) < _TOLERANCE_S:
            return 0.0
        self._gap = gap
        return moved
