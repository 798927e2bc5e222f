"""How often to ask again: often while something moves and somebody looks, seldom otherwise."""

from dataclasses import dataclass

_LIVE_LOCAL_S = 1.0
_LIVE_REMOTE_S = 4.0
_IDLE_LOCAL_S = 5.0
_IDLE_REMOTE_S = 20.0
_UNFOCUSED_FACTOR = 3.0
_SLOW_LINE_FACTOR = 5.0
_FIRST_RETRY_S = 2.0
_LONGEST_RETRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is known when the next request is planned.

    failures: failed requests in a row. retry_after_s: the server's wish, which always wins when it is longer.
    is_slow_line: the screen is at the end of a slow line.
    """

    is_local: bool
    is_live: bool
    is_focused: bool = True
    failures: int = 0
    retry_after_s: float | None = None
    is_slow_line: bool = False


def delay_s(pulse: Pulse) -> float:
    """Seconds until the next request."""
    if pulse.failures:
        wait = min(_LONGEST_RETRY_S, _FIRST_RETRY_S * 2.0 ** (pulse.failures - 1))
    elif pulse.is_live:
        wait = _LIVE_LOCAL_S if pulse.is_local else _LIVE_REMOTE_S
    else:
        wait = _IDLE_LOCAL_S if pulse.is_local else _IDLE_REMOTE_S
    if pulse.is_slow_line and not pulse.failures:
        wait *= _SLOW_LINE_FACTOR
    if not pulse.is_focused:
        wait *= _UNFOCUSED_FACTOR
    return max(wait, pulse.retry_after_s or 0.0)
