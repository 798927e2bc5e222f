"""The queue of calls that wait for a free worker."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from agentic_rl_tui.core.functions.workers import Worker
from agentic_rl_tui.core.models.errors import FunctionFailed

Turn = Worker | FunctionFailed


class Turns:
    """First come, first served. find: a worker with a free place, None without one."""

    def __init__(self, find: Callable[[], Worker | None]) -> None:
        self._find = find
        self._waiting: deque[asyncio.Future[Turn]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, *, first: bool = False) -> Turn:
        """A worker whose place is kept for the caller, who must send a call to it at once. first: jump the queue."""
        turn: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        self.grant()
        try:
            worker = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                _release(turn.result())
                self.grant()
            raise
        _release(worker)
        return worker

    def grant(self) -> None:
        """Give free places to those who wait longest."""
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
                continue
            worker = self._find()
            if worker is None:
                return
            worker.promised += 1
            self._waiting.popleft().set_result(worker)

    def refuse(self, error: FunctionFailed) -> None:
        """Send everybody away."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(error)


def _release(turn: Turn) -> None:
    if isinstance(turn, Worker):
        turn.promised -= 1
