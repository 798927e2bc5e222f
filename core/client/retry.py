"""How often and how long to wait before a call is sent again."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from agentic_rl_tui.core.models.errors import ArlError, BadResponse, RateLimited, ServerError, Unreachable

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
Notice = Callable[[ArlError, int, float], None]
"""Called before each wait with the error, the number of the attempt that failed, and the seconds to wait."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waits with jitter; only for calls that may be repeated.

    attempts counts the first one. Waits double from `base_s` up to `cap_s`. A server's ``Retry-After`` replaces the
    wait; one longer than `patience_s` ends the attempts at once, because a user should hear of it.
    """

    attempts: int = 4
    base_s: float = 0.4
    cap_s: float = 8.0
    patience_s: float = 60.0
    unsent_only: bool = False
    """Repeat only what certainly had no effect: no connection was made, or the server asked to come back later."""
    statuses: frozenset[int] = frozenset({408, 429, 500, 502, 503, 504})
    random: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)

    def may_retry(self, error: BaseException) -> bool:
        if not isinstance(error, ArlError):
            return False
        if error.retry_after_s is not None and error.retry_after_s > self.patience_s:
            return False
        if self.unsent_only:
            if isinstance(error, RateLimited):
                return error.retry_after_s is not None
            return isinstance(error, Unreachable) and not error.outcome_unknown
        if error.status is not None and error.status >= 400:
            return error.status in self.statuses
        return isinstance(error, RateLimited | ServerError | Unreachable | BadResponse) and error.retryable

    def only_unsent(self) -> "RetryPolicy":
        """The policy for calls that must not take effect twice."""
        return replace(self, unsent_only=True)

    def wait_s(self, attempt: int, error: BaseException | None = None) -> float:
        """Seconds before attempt `attempt` + 1: between half and all of the doubled base, or what the server asked."""
        asked = getattr(error, "retry_after_s", None)
        if asked is not None:
            return float(asked)
        step = min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        return step * (0.5 + 0.5 * self.random())

    async def run(self, send: Callable[[], Awaitable[T]], *, notice: Notice | None = None) -> T:
        """Await `send` until it succeeds, fails for good, or the attempts are used up; raises the last error."""
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        def wait(state: "RetryCallState") -> float:
            return self.wait_s(state.attempt_number, state.outcome.exception() if state.outcome else None)

        def tell(state: "RetryCallState") -> None:
            error = state.outcome.exception() if state.outcome else None
            if notice is not None and isinstance(error, ArlError):
                notice(error, state.attempt_number, state.next_action.sleep if state.next_action else 0.0)

        retrying = AsyncRetrying(
            stop=stop_after_attempt(max(1, self.attempts)),
            wait=wait,
            retry=retry_if_exception(self.may_retry),
            before_sleep=tell,
            sleep=self.sleep,
            reraise=True,
        )

        async def once() -> T:
            return await send()

        return await retrying(once)


def parse_retry_after(text: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds of a ``Retry-After`` header, which holds seconds or an HTTP date; None when it says nothing usable."""
    if text is None or not (cleaned := text.strip()):
        return None
    try:
        seconds = float(cleaned)
    except ValueError:
        try:
            moment = parsedate_to_datetime(cleaned)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None
