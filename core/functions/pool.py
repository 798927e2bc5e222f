"""Running a user's function in its own processes: start, call, replace what dies, leave nothing behind."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Self

import orjson

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.functions.output import OutputLine
from agentic_rl_tui.core.functions.spawner import Spawner
from agentic_rl_tui.core.functions.spec import WorkerSpec
from agentic_rl_tui.core.functions.stacks import own_stack
from agentic_rl_tui.core.functions.turns import Turns
from agentic_rl_tui.core.functions.upstream import Upstream
from agentic_rl_tui.core.functions.workers import NotStarted, Pending, Worker
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import FunctionFailed

__all__ = ["FunctionPool", "OutputLine", "WorkerSpec"]

_THREAD_GRACE_S = 0.05


class FunctionPool:
    """`size` workers with `concurrency` calls in each. Calls beyond that wait, first come first served."""

    def __init__(
        self, spec: WorkerSpec, *, size: int = 1, on_output: Callable[[OutputLine], None] | None = None
    ) -> None:
        self.spec = spec
        self.size = max(1, size)
        self.slots = self.size * max(1, spec.concurrency)
        self.restarts = 0
        self._concurrency = max(1, spec.concurrency)
        self._on_output = on_output
        self._package_dir = str(spec.package_dir.resolve())
        self._spawner = Spawner(spec, on_output, self._freed, self._ended)
        self._workers: list[Worker] = []
        self._turns = Turns(self._free_worker)
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._ids = itertools.count(1)
        self._running = False

    @property
    def waiting(self) -> int:
        """Calls that wait for a free place."""
        return len(self._turns)

    @property
    def processors(self) -> str:
        """Whose processor API the workers use: ``own`` or ``real``."""
        return self._spawner.processors

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start every worker, import the class in it and run ``setup``. Raises FunctionFailed, with nothing left."""
        if self._running:
            return
        self._running = True
        try:
            if self.size > 1:
                await self._spawner.start_template()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._spawner.start_worker()) for _ in range(self.size)]
        except BaseException as error:
            await self.stop()
            if isinstance(error, BaseExceptionGroup):
                raise error.exceptions[0] from None
            raise
        self._workers += [task.result() for task in tasks]

    async def stop(self) -> None:
        """Kill everything. Calls under way and waiting end as canceled."""
        self._running = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        stopped = CallResult(CallStatus.CANCELED, error=CallError("Stopped", _("the function was stopped")))
        for worker in self._workers:
            for call in worker.pending.values():
                if not call.done.done():
                    call.done.set_result(stopped)
        self._turns.refuse(FunctionFailed(_("the function was stopped"), kind="canceled"))
        await self._spawner.stop()
        self._workers.clear()

    async def call(
        self, payload: dict[str, Any], *, timeout_s: float | None = None, upstream: Upstream | None = None
    ) -> CallResult:
        """Run once. Whatever user code does is in the result; only cancellation of the caller comes through."""
        try:
            body = orjson.dumps(payload, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            return CallResult(
                CallStatus.INVALID_INPUT,
                error=CallError("TypeError", _("the input is not JSON: {error}").format(error=error)),
            )
        limit = self.spec.call_timeout_s if timeout_s is None else timeout_s
        told = b"" if upstream is None else orjson.dumps(dict(upstream))
        again = False
        while True:
            worker = await self._turn(first=again)
            if isinstance(worker, FunctionFailed):
                status = CallStatus.CANCELED if worker.kind == "canceled" else CallStatus.DIED
                return CallResult(status, error=CallError("FunctionFailed", worker.message))
            again = True
            if worker.is_usable:
                try:
                    return await self._run(worker, body, told, limit)
                except NotStarted:
                    continue

    async def _run(self, worker: Worker, body: bytes, upstream: bytes, limit: float | None) -> CallResult:
        loop = asyncio.get_running_loop()
        call = worker.send_call(next(self._ids), body, upstream)
        timer = None if limit is None else loop.call_later(limit, self._expire, worker, call)
        try:
            result = await call.done
        except asyncio.CancelledError:
            worker.cancel(call.call_id)
            loop.call_later(self.spec.cancel_grace_s, self._overdue, worker, call, _("a canceled call did not end"))
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if call.trace:
            result = replace(result, trace=tuple(call.trace))
        if result.status is CallStatus.DIED and worker.is_usable:
            self._retire(worker, _("its code asked to exit"))
        if limit is not None and call.timed_out and result.status is not CallStatus.DIED:
            return self._timeout(result, limit)
        return result

    def _timeout(self, result: CallResult, limit: float) -> CallResult:
        place = result.error if result.status is CallStatus.CANCELED else None
        error = CallError(
            "TimedOut",
            _("no answer within {limit:g} s").format(limit=limit),
            place.traceback if place else "",
            place.full_traceback if place else "",
        )
        return replace(result, status=CallStatus.TIMEOUT, output=None, error=error, latency_s=result.latency_s or limit)

    def _expire(self, worker: Worker, call: Pending) -> None:
        """The time limit passed: ask nicely first."""
        call.timed_out = True
        worker.cancel(call.call_id)
        # A thread cannot be asked, so there is nothing to wait for.
        grace_s = self.spec.cancel_grace_s if worker.is_async else _THREAD_GRACE_S
        reason = _("a call passed its time limit and did not end")
        asyncio.get_running_loop().call_later(grace_s, self._overdue, worker, call, reason)

    def _overdue(self, worker: Worker, call: Pending, reason: str) -> None:
        """A call did not end when asked: another worker takes over.

        The old one may finish its other calls, unless its loop is blocked, in which case none of them can go on.
        """
        if call.call_id not in worker.pending or worker.exit is not None:
            return
        self._in_background(self._give_up(worker, call, reason))

    async def _give_up(self, worker: Worker, call: Pending, reason: str) -> None:
        stack = await worker.where()
        if worker.pending.pop(call.call_id, None) is None:
            return
        if not call.done.done():
            error = CallError("Canceled", reason, own_stack(stack, self._package_dir), stack)
            printed = worker.tail.since(call.printed_before)
            call.done.set_result(CallResult(CallStatus.CANCELED, error=error, printed=printed))
        blocked = worker.is_async and not call.acknowledged
        self._retire(worker, reason, at_once=blocked)

    def _retire(self, worker: Worker, reason: str, *, at_once: bool = False) -> None:
        if not worker.condemned:
            worker.condemned = reason
            self._replace(reason)
        if at_once or not worker.pending:
            worker.kill(reason)

    def _free_worker(self) -> Worker | None:
        """The least busy worker with a free place."""
        best: Worker | None = None
        load = self._concurrency
        for worker in self._workers:
            busy = len(worker.pending) + worker.promised
            if busy < load and worker.is_usable:
                best, load = worker, busy
        return best

    async def _turn(self, *, first: bool) -> Worker | FunctionFailed:
        if not self._running:
            return FunctionFailed(_("the function is not running"), kind="canceled")
        if not self._turns and (worker := self._free_worker()):
            return worker
        if not self._workers and not self._starting:
            self._replace(_("none is left"))
        return await self._turns.wait(first=first)

    def _freed(self, worker: Worker) -> None:
        if worker.condemned and not worker.pending:
            worker.kill(worker.condemned)
        self._turns.grant()

    def _ended(self, worker: Worker) -> None:
        known = worker in self._workers
        if known:
            self._workers.remove(worker)
        if known and not worker.condemned:
            assert worker.exit is not None
            self._replace(worker.exit.describe())

    def _replace(self, reason: str) -> None:
        """Start another worker, in the background."""
        if not self._running:
            return
        self.restarts += 1
        if self._on_output is not None:
            self._on_output(
                OutputLine("worker", _("a worker is replaced: {reason}").format(reason=reason), time.time())
            )
        self._starting += 1
        self._in_background(self._start_another())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_another(self) -> None:
        try:
            worker = await self._spawner.start_worker()
        except FunctionFailed as error:
            if not self._workers and self._starting == 1:
                self._turns.refuse(error)
            return
        finally:
            self._starting -= 1
        self._workers.append(worker)
        self._turns.grant()
