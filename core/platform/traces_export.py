"""Sending traces to a collector. Whatever it does or does not do, nobody waits for it and nothing grows."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.tracing.export import Target
from agentic_rl_tui.core.tracing.model import Run, Span

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger(__name__)

MAX_QUEUED = 2_000
_BATCH = 64
_STOP_S = 2.0
_MAX_PAUSE_S = 60.0
_TOO_LARGE = 413
_LATER = frozenset({408, 429, 502, 503, 504})
"""Answers after which the same traces are sent again; what is refused in another way is dropped."""

Trace = tuple[Run, Sequence[Span]]


class TraceExport:
    """Traces on their way to one collector, in batches. fault: why it takes none just now, empty while it does."""

    def __init__(self, target: Target) -> None:
        self.fault = ""
        self.dropped = 0
        self._target = target
        self._queue: deque[Trace] = deque()
        self._wake = asyncio.Event()
        self._most = _BATCH
        self._fails = 0
        self._told: set[str] = set()

    def add(self, trace: Trace) -> None:
        if len(self._queue) >= MAX_QUEUED:
            self.dropped += 1
            return
        self._queue.append(trace)
        self._wake.set()

    async def run(self) -> None:
        import httpx  # only platforms that export pay for it

        async with httpx.AsyncClient(timeout=self._target.timeout_s) as client:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue and await self._send(client):
                    pass
                if self._queue:
                    await asyncio.sleep(min(_MAX_PAUSE_S, 2.0**self._fails))
                    self._wake.set()

    async def stop(self) -> None:
        """Try what waits once more, for a moment."""
        if self._queue:
            import httpx

            timeout_s = min(_STOP_S, self._target.timeout_s)
            try:
                async with asyncio.timeout(_STOP_S), httpx.AsyncClient(timeout=timeout_s) as client:
                    while self._queue and await self._send(client):
                        pass
            except TimeoutError:
                pass  # what is left is told of below
        if self._queue or self.dropped:
            _log.warning("%d traces did not reach %s", len(self._queue) + self.dropped, self._target.url)

    async def _send(self, client: "httpx.AsyncClient") -> bool:
        """One batch; False when the collector is to be tried again later."""
        batch = [self._queue[place] for place in range(min(self._most, len(self._queue)))]
        try:
            content, headers = await asyncio.to_thread(self._target.body, batch)
        except Exception as error:  # whatever it is, the traces of a job must not end it
            self._failed(f"{error} {error.advice or ''}" if isinstance(error, ConfigError) else _named(error))
            return self._drop(batch)
        try:
            answer = await client.post(self._target.url, content=content, headers=headers)
        except Exception as error:
            self._failed(_named(error))
            return False
        status = answer.status_code
        if status == _TOO_LARGE and len(batch) > 1:
            self._most = max(1, len(batch) // 2)
            return True
        if status < 300:
            self._reached()
            return self._forget(batch)
        self._failed(f"HTTP {status}")
        return False if status in _LATER else self._drop(batch)

    def _drop(self, batch: Sequence[Trace]) -> bool:
        self.dropped += len(batch)
        return self._forget(batch)

    def _forget(self, batch: Sequence[Trace]) -> bool:
        for _ in batch:
            self._queue.popleft()
        return True

    def _failed(self, reason: str) -> None:
        """Each reason is told once until the collector takes traces again."""
        self._fails += 1
        self.fault = f"the collector {self._target.url} takes no traces: {reason.strip()}"
        if reason not in self._told:
            self._told.add(reason)
            _log.warning("%s", self.fault)

    def _reached(self) -> None:
        if self._fails:
            _log.info("the collector %s takes traces again", self._target.url)
        self._fails, self.fault = 0, ""
        self._told.clear()


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
