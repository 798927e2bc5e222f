"""Serving an async ``process``: every call is a task on the loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import selectors
import socket
import traceback
from functools import partial
from typing import Any

from agentic_rl_tui.core.functions.frames import CALL_MARKS, Splitter, decode, frame, read_call
from agentic_rl_tui.core.functions.worker.ends import StartedCount, leave
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.functions.worker.serving import Call, Serving


class OneProcessSelector(selectors.DefaultSelector):
    """Ends a forked child of user code that comes back into the loop: it would serve its parent's calls."""

    def __init__(self) -> None:
        super().__init__()
        self._pid = os.getpid()

    def select(self, timeout: float | None = None) -> Any:
        if os.getpid() != self._pid:
            os._exit(0)
        return super().select(timeout)


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
            if body.startswith(CALL_MARKS):
                call = Call(*read_call(body))
                task = self._loop.create_task(self._serve(call), context=contextvars.copy_context())
                self._calls[call.call_id] = call, task
                task.add_done_callback(partial(self._ended, call))
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
        """A fault of ours ends the process: a task lost in silence would leave its call without an answer."""
        try:
            self._started.add()
            result = self._serving.canceled(call) if call.canceled else await self._serving.run_async(call)
            del self._calls[call.call_id]
            self._outlet.send(result)
        except BaseException:
            traceback.print_exc()
            leave(70)

    def _ended(self, call: Call, _task: asyncio.Task[None]) -> None:
        """Answer for a task that user code canceled before its first step."""
        if self._calls.pop(call.call_id, None) is not None:
            self._started.add()
            self._outlet.send(self._serving.canceled(call))
