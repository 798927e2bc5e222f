"""Two ways to serve calls: an async ``process`` on the loop, a plain one in threads."""

from __future__ import annotations

import asyncio
import contextvars
import os
import selectors
import socket
import threading
import time
from collections import deque
from typing import Any, NoReturn

from agentic_rl_tui.core.functions.frames import CALL_MARK, Splitter, decode, frame, read_call
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.functions.worker.output import flush_streams
from agentic_rl_tui.core.functions.worker.serving import Call, Serving

_TICK_S = 0.002
_IDLE_TICKS = 250
_SLOW_S = 0.001
_FAST_CALLS_TO_RETIRE = 64
_RESULTS_HELD = 4
"""So few that the pool can work on them while the next are made."""


class StartedCount:
    """How many calls were begun, in the order of their frames, in memory that outlives this process."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._count = 0

    def add(self) -> None:
        self._count += 1
        self._memory[:8] = self._count.to_bytes(8, "little")


class OneProcessSelector(selectors.DefaultSelector):
    """Ends a forked child of user code that comes back into the loop: it would serve its parent's calls."""

    def __init__(self) -> None:
        super().__init__()
        self._pid = os.getpid()

    def select(self, timeout: float | None = None) -> Any:
        if os.getpid() != self._pid:
            os._exit(0)
        return super().select(timeout)


def leave(code: int = 0) -> NoReturn:
    flush_streams()
    os._exit(code)


class AsyncRunner:
    """Every call is a task on the loop; all that are sent run at once."""

    def __init__(self, serving: Serving, sock: socket.socket, outlet: Outlet, started: StartedCount) -> None:
        self._serving = serving
        self._sock = sock
        self._outlet = outlet
        self._started = started
        self._splitter = Splitter()
        self._calls: dict[int, tuple[Call, asyncio.Task[None]]] = {}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.add_reader(self._sock, self._readable)

    def _readable(self) -> None:
        try:
            data = self._sock.recv(1 << 16, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            leave()
        for body in self._splitter.feed(data):
            if body.startswith(CALL_MARK):
                call = Call(*read_call(body))
                task = self._loop.create_task(self._serve(call), context=contextvars.copy_context())
                self._calls[call.call_id] = call, task
            else:
                self._handle(decode(body))

    def _handle(self, message: dict[str, Any]) -> None:
        if message["op"] == "cancel":
            self._outlet.send(frame("canceling", id=message["id"]))
            if message["id"] in self._calls:
                call, task = self._calls[message["id"]]
                call.canceled = True
                if call.begun:
                    task.cancel()

    async def _serve(self, call: Call) -> None:
        self._started.add()
        try:
            result = self._serving.canceled(call) if call.canceled else await self._serving.run_async(call)
        finally:
            self._calls.pop(call.call_id, None)
        self._outlet.send(result)


class SyncRunner:
    """Threads take frames from the socket in turn and run them right there.

    Handing a call from a reader to another thread would cost more than a fast reward. One thread serves fast calls
    best, so further ones join only while all are held up in user code, up to `limit`, and go when calls are fast again.
    """

    def __init__(
        self, serving: Serving, sock: socket.socket, outlet: Outlet, started: StartedCount, limit: int
    ) -> None:
        self._serving = serving
        self._sock = sock
        self._splitter = Splitter()
        self._arrived: deque[Call] = deque()
        self._outlet = outlet
        self._started = started
        self._limit = limit
        self._turn = threading.Lock()
        self._busy: dict[int, float] = {}
        self._threads = 0
        self._watching = False
        self._idle_ticks = 0
        self._pid = os.getpid()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._add_thread()

    def _add_thread(self) -> None:
        """One more, or as many as there are when the system allows no more."""
        try:
            threading.Thread(target=self._run, name=f"calls-{self._threads + 1}", daemon=True).start()
        except RuntimeError:
            self._limit = self._threads
            if not self._threads:
                raise
        else:
            self._threads += 1

    def _run(self) -> None:
        me = threading.get_ident()
        fast = held = 0
        while True:
            with self._turn:
                call = self._next()
                self._started.add()
            begun = self._busy[me] = time.perf_counter()
            if not self._watching:
                self._watching = True
                self._loop.call_soon_threadsafe(self._watch)
            result = contextvars.copy_context().run(self._serving.run_sync, call)
            if os.getpid() != self._pid:
                os._exit(0)
            del self._busy[me]
            held += 1
            if held < _RESULTS_HELD and self._arrived:
                self._outlet.hold(result, flushed_by_caller=True)
            else:
                self._outlet.send(result)
                held = 0
            fast = fast + 1 if time.perf_counter() - begun < _SLOW_S else 0
            if fast >= _FAST_CALLS_TO_RETIRE and self._retire():
                return

    def _retire(self) -> bool:
        with self._turn:
            if self._threads == 1:
                return False
            self._threads -= 1
            return True

    def _next(self) -> Call:
        while not self._arrived:
            self._outlet.flush()
            try:
                data = self._sock.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                leave()
            bodies = self._splitter.feed(data)
            self._arrived.extend(Call(*read_call(body)) for body in bodies if body.startswith(CALL_MARK))
        return self._arrived.popleft()

    def _watch(self) -> None:
        """Add a thread while every one is inside a slow call; rest when nothing has run for a while."""
        self._outlet.flush()
        now = time.perf_counter()
        busy = list(self._busy.values())
        self._idle_ticks = 0 if busy else self._idle_ticks + 1
        if self._idle_ticks > _IDLE_TICKS:
            self._idle_ticks = 0
            self._watching = False
            return
        if len(busy) >= self._threads < self._limit and all(now - begun > _SLOW_S for begun in busy):
            self._add_thread()
        full = self._threads >= self._limit
        self._loop.call_later(_TICK_S if not full else 0.05, self._watch)
