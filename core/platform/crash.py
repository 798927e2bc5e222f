"""Named points at which a test has the platform killed, as a power cut would: no handler runs, nothing is flushed.

Without the variable below a point costs one comparison. With it the named file says where to die: the name of a point,
and with ``name:n`` at its n-th passing since the file changed.
"""

import os
import signal
from collections.abc import Callable

VARIABLE = "AGENTIC_RL_CRASH_FILE"

_FILE = os.environ.get(VARIABLE)
_seen: tuple[str, int] = ("", 0)


def point(name: str) -> None:
    """Die here, if this is the place."""
    if _FILE is not None and _is_here(name):
        os.kill(os.getpid(), signal.SIGKILL)


def torn(
    name: str, write: Callable[[bytes], object], data: bytes, *, flush: Callable[[], object] = lambda: None
) -> None:
    """Die here, if this is the place, with the first half of `data` written."""
    if _FILE is not None and _is_here(name):
        write(data[: len(data) // 2])
        flush()
        os.kill(os.getpid(), signal.SIGKILL)


def _is_here(name: str) -> bool:
    global _seen
    try:
        with open(str(_FILE), encoding="utf-8") as file:
            wanted = file.read().strip()
    except FileNotFoundError:
        return False
    place, _, number = wanted.partition(":")
    if place != name:
        return False
    passed = _seen[1] + 1 if _seen[0] == wanted else 1
    _seen = (wanted, passed)
    return passed == int(number or 1)
