"""Reporting steps: start, progress, and end or failure, with the time each took."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.sdk.events import Event, OnEvent, StepFailed, StepFinished, StepProgress, StepStarted

PROGRESS_EVERY_S = 0.05


@dataclass(slots=True)
class Step:
    """The running step. Set `detail` and `reused` before it ends; `progress` is thinned to 20 a second."""

    reporter: "Steps"
    name: str
    label: str
    detail: str = ""
    reused: bool = False
    _last: float = field(default=0.0, repr=False)

    def progress(self, done: float, total: float | None, unit: str, note: str = "") -> None:
        now = time.monotonic()
        if done != total and now - self._last < PROGRESS_EVERY_S:
            return
        self._last = now
        self.reporter.send(StepProgress(self.name, done, total, unit, note))


@dataclass(frozen=True, slots=True)
class Steps:
    on_event: OnEvent | None = None

    def send(self, event: Event) -> None:
        if self.on_event is not None:
            self.on_event(event)

    @asynccontextmanager
    async def step(self, name: str, label: str) -> AsyncIterator[Step]:
        """Report `name` as started, then as finished or, for an ArlError, as failed."""
        started = time.monotonic()
        self.send(StepStarted(name, label))
        step = Step(self, name, label)
        try:
            yield step
        except ArlError as error:
            self.send(StepFailed(name, label, error))
            raise
        self.send(StepFinished(name, label, step.detail, time.monotonic() - started, step.reused))
