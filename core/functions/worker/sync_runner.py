"""Serving a plain ``process``: threads take the calls themselves."""

from __future__ import annotations

import contextvars
import os
import socket
import threading
import traceback
from collections import deque
from time import perf_counter

from agentic_rl_tui.core.functions.frames import CALL_MARKS, Splitter, read_call
from agentic_rl_tui.core.functions.worker.ends import StartedCount, leave
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.functions.worker.serving import Call, Serving
from agentic_rl_tui.core.functions.worker.ticker import Ticker

_SLOW_S = 0.001
_FAST_CALLS_TO_RETIRE = 64
_RESULTS_HELD = 4
"""So few that the pool can work on them while the next are made."""


class SyncRunner:
    """Threads take frames from the socket in turn and run them right there.

    Handing a call from a reader to another thread would cost more than a fast reward. One thread serves fast calls
    best, so further ones join only while all are held up in user code, up to `limit`, and go when calls are fast again.
    """

    def __init__(
        self,
        serving: Serving,
        sock: socket.socket,
        outlet: Outlet,
        started: StartedCount,
        ticker: Ticker,
        limit: int,
    ) -> None:
        self._serving = serving
        self._sock = sock
        self._splitter = Splitter()
        self._arrived: deque[Call] = deque()
        self._outlet = outlet
        self._started = started
        self._ticker = ticker
        self._limit = limit
        self._turn = threading.Lock()
        self._busy: dict[int, float] = {}
        self._threads = 0
        self._pid = os.getpid()

    def start(self) -> None:
        self._ticker.jobs.append(self._look)
        self._add_thread()

    def _add_thread(self) -> None:
        """One more, or as many as there are when the system allows no more."""
        try:
            threading.Thread(target=self._serve, name=f"calls-{self._threads + 1}", daemon=True).start()
        except RuntimeError:
            self._limit = self._threads
            if not self._threads:
                raise
        else:
            self._threads += 1

    def _serve(self) -> None:
        """A fault of ours ends the process: a thread lost in silence would leave its call without an answer."""
        try:
            self._run()
        except BaseException:
            traceback.print_exc()
            leave(70)

    def _run(self) -> None:
        me = threading.get_ident()
        fast = held = 0
        while True:
            with self._turn:
                call = self._next()
                self._started.add()
            begun = self._busy[me] = perf_counter()
            self._ticker.kick()
            result = contextvars.copy_context().run(self._serving.run_sync, call)
            if os.getpid() != self._pid:
                os._exit(0)
            del self._busy[me]
            held += 1
            if held < _RESULTS_HELD and self._arrived:
                self._outlet.hold(result)
            else:
                self._outlet.send(result)
                held = 0
            fast = fast + 1 if perf_counter() - begun < _SLOW_S else 0
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
            self._arrived.extend(Call(*read_call(body)) for body in bodies if body.startswith(CALL_MARKS))
        return self._arrived.popleft()

    def _look(self) -> bool:
        """Add a thread while every one is inside a slow call. Whether any is inside a call."""
        now = perf_counter()
        busy = list(self._busy.values())
        if len(busy) >= self._threads < self._limit and all(now - begun > _SLOW_S for begun in busy):
            self._add_thread()
        return bool(busy)
