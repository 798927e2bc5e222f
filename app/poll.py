"""How often to ask again: often while something moves and somebody looks, seldom otherwise."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

_LIVE_LOCAL_S = 1.0
_LIVE_REMOTE_S = 4.0
_IDLE_LOCAL_S = 5.0
_IDLE_REMOTE_S = 20.0
_UNSEEN_FACTOR = 3.0
_UNFOCUSED_FACTOR = 3.0
_SLOW_LINE_FACTOR = 5.0
_LONGEST_EASED_S = 60.0
_FIRST_RETRY_S = 2.0
_LONGEST_RETRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is known when the next request is planned.

    failures: failed requests in a row. retry_after_s: the server's wish, which always wins when it is longer.
    is_seen: what is asked for is on the screen. is_slow_line: the screen is at the end of a slow line.
    """

    is_local: bool
    is_live: bool
    is_seen: bool = True
    is_focused: bool = True
    failures: int = 0
    retry_after_s: float | None = None
    is_slow_line: bool = False


def delay_s(pulse: Pulse) -> float:
    """Seconds until the next request."""
    if pulse.failures:
        wait = min(_LONGEST_RETRY_S, _FIRST_RETRY_S * 2.0 ** (pulse.failures - 1))
        wait *= 1.0 if pulse.is_focused else _UNFOCUSED_FACTOR
    else:
        live, idle = (_LIVE_LOCAL_S, _IDLE_LOCAL_S) if pulse.is_local else (_LIVE_REMOTE_S, _IDLE_REMOTE_S)
        wait = eased_s(live if pulse.is_live else idle, pulse)
    return max(wait, pulse.retry_after_s or 0.0)


def eased_s(wait_s: float, pulse: Pulse) -> float:
    """The same wait, longer where nobody looks or a line is to be spared; never so long that an end is told late."""
    wait = wait_s
    for is_easier, factor in (
        (not pulse.is_seen, _UNSEEN_FACTOR),
        (not pulse.is_focused, _UNFOCUSED_FACTOR),
        (pulse.is_slow_line, _SLOW_LINE_FACTOR),
    ):
        wait *= factor if is_easier else 1.0
    return max(wait_s, min(wait, _LONGEST_EASED_S))


class Pauses:
    """Pauses between two questions, longer while nobody looks, over at once when somebody does: what was asked goes on.

    In: how long a wanted pause is to be in truth, asked as it begins; `wake`.
    """

    def __init__(self, eased: Callable[[float], float]) -> None:
        self._eased = eased
        self._woken = asyncio.Event()

    async def wait(self, wanted_s: float) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(self._eased(wanted_s)):
                await self._woken.wait()
        except TimeoutError:
            return

    def wake(self) -> None:
        """Somebody looks."""
        self._woken.set()
