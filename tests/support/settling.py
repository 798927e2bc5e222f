"""Waiting until an app has come to rest, without guessing how long that takes."""

import asyncio
import contextlib
from typing import Any

from textual.worker import WorkerCancelled

SOON_S = 0.9
"""Timers that let typing or scrolling rest are shorter; toasts, drafts and updates for a slow line take longer."""
ROUNDS = 50


async def settle(pilot: Any) -> None:
    """Until no worker is under way, except those that follow a log for as long as the job runs, and no short timer."""
    for _ in range(ROUNDS):
        await pilot.pause()
        busy = [worker for worker in pilot.app.workers if not worker.is_finished and worker.group != "job.follow"]
        soon = _timers_that_end_soon(pilot.app)
        if not busy and not soon:
            break
        if busy:
            # A newer request cancels an older one of its group: that is an end like any other.
            with contextlib.suppress(WorkerCancelled):
                await pilot.app.workers.wait_for_complete(busy)
        if soon:
            await asyncio.wait(soon)
    await pilot.pause()


def _timers_that_end_soon(app: Any) -> "list[asyncio.Task[None]]":
    timers = [timer for node in (app, *app._registry) for timer in node._timers]
    return [
        timer._task
        for timer in timers
        if timer._repeat == 0 and timer._interval < SOON_S and timer._task is not None and not timer._task.done()
    ]
