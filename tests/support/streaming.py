"""A log that a test hands out line by line, and the view that shows it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agentic_rl_tui.app.backend import LogChunk, LogNote
from agentic_rl_tui.widgets.logview import LogView


def log_view(app: Any) -> LogView:
    view = app.screen.query_one("#log-view", LogView)
    assert isinstance(view, LogView)
    return view


class Streaming:
    """Log chunks that a test hands out one by one."""

    def __init__(self, backend: Any) -> None:
        self.queue: asyncio.Queue[LogChunk | LogNote | None] = asyncio.Queue()
        self.offsets: list[int] = []
        self.pause: Callable[[float], Awaitable[None]] | None = None
        backend.follow = self.follow

    async def follow(
        self, job_id: str, offset: int = 0, pause: Callable[[float], Awaitable[None]] | None = None
    ) -> AsyncIterator[LogChunk | LogNote]:
        self.offsets.append(offset)
        self.pause = pause
        while (item := await self.queue.get()) is not None:
            yield item
