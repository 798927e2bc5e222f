"""Running a user's function in its own processes: start, call, replace what dies, leave nothing behind."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import orjson

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.functions.keeper import KeeperLink, KeeperProcess
from agentic_rl_tui.core.functions.output import OutputLine
from agentic_rl_tui.core.functions.stacks import own_stack
from agentic_rl_tui.core.functions.workers import NotStarted, Pending, Worker
from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

__all__ = ["FunctionPool", "OutputLine", "WorkerSpec"]

_THREAD_GRACE_S = 0.05
_LAST_LINES = 20
_INTERPRETER_ADVICE = "Install it in that environment, or let the function run with another interpreter."


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What to run and within which limits.

    package_dir: the unpacked package; the worker's working directory and the root of the user's imports.
    python: interpreter, None for ours. env: the function's variables, on top of a clean environment.
    concurrency: calls at once inside one process. memory_limit_bytes: of one worker with everything it starts.
    call_timeout_s counts from the moment a worker has the call, not while it waits for a free one.
    cancel_grace_s: how long a coroutine may take to end when it is canceled, before its worker is replaced.
    """

    package_dir: Path
    kind: FunctionKind
    classpath: ClassPath
    python: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 1
    memory_limit_bytes: int | None = None
    call_timeout_s: float | None = None
    setup_timeout_s: float = 60.0
    cancel_grace_s: float = 2.0

    def config(self) -> dict[str, Any]:
        return {
            "package_dir": str(self.package_dir.resolve()),
            "module": self.classpath.module,
            "class_name": self.classpath.class_name,
            "kind": self.kind.value,
            "concurrency": max(1, self.concurrency),
            "memory_limit": self.memory_limit_bytes,
        }


class _Died(Exception):
    """A worker died before it was ready."""

    def __init__(self, reason: str, output: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


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
        self._config = spec.config()
        self._keeper = KeeperProcess(spec.python, spec.package_dir, spec.env, spec.kind.value)
        self._root: KeeperLink | None = None
        self._template: tuple[Worker, KeeperLink] | None = None
        self._keeper_starts = asyncio.Lock()
        self._workers: list[Worker] = []
        self._waiting: deque[asyncio.Future[Worker | FunctionFailed]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._ids = itertools.count(1)
        self._slot_numbers = itertools.count(1)
        self._running = False

    @property
    def waiting(self) -> int:
        """Calls that wait for a free place."""
        return len(self._waiting)

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
            if self.size > 1 and sys.platform == "linux":
                await self._start_template()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._start_worker()) for _ in range(self.size)]
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
        stopped = CallResult(CallStatus.CANCELED, error=CallError("Stopped", "the function was stopped"))
        for worker in self._workers:
            for call in worker.pending.values():
                if not call.done.done():
                    call.done.set_result(stopped)
        self._refuse(FunctionFailed("the function was stopped", kind="canceled"))
        if self._template is not None:
            self._template[1].close()
            self._template = None
        await self._keeper.stop()
        self._workers.clear()

    async def call(self, payload: dict[str, Any], *, timeout_s: float | None = None) -> CallResult:
        """Run once. Whatever user code does is in the result; only cancellation of the caller comes through."""
        try:
            body = orjson.dumps(payload, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            return CallResult(CallStatus.INVALID_INPUT, error=CallError("TypeError", f"the input is not JSON: {error}"))
        limit = self.spec.call_timeout_s if timeout_s is None else timeout_s
        while True:
            worker = self._free_worker() or await self._turn()
            if isinstance(worker, FunctionFailed):
                status = CallStatus.CANCELED if worker.kind == "canceled" else CallStatus.DIED
                return CallResult(status, error=CallError("FunctionFailed", worker.message))
            try:
                return await self._run(worker, body, limit)
            except NotStarted:
                continue

    async def _run(self, worker: Worker, body: bytes, limit: float | None) -> CallResult:
        loop = asyncio.get_running_loop()
        call = worker.send_call(next(self._ids), body)
        timer = None if limit is None else loop.call_later(limit, self._expire, worker, call)
        try:
            result = await call.done
        except asyncio.CancelledError:
            worker.cancel(call.call_id)
            loop.call_later(self._grace_s(worker), self._overdue, worker, call, "a canceled call did not end")
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if result.status is CallStatus.DIED and worker.is_usable:
            self._retire(worker, "its code asked to exit")
        if limit is not None and call.timed_out and result.status is not CallStatus.DIED:
            return self._timeout(result, limit)
        return result

    def _timeout(self, result: CallResult, limit: float) -> CallResult:
        place = result.error if result.status is CallStatus.CANCELED else None
        error = CallError(
            "TimedOut",
            f"no answer within {limit:g} s",
            place.traceback if place else "",
            place.full_traceback if place else "",
        )
        return replace(result, status=CallStatus.TIMEOUT, output=None, error=error, latency_s=result.latency_s or limit)

    def _expire(self, worker: Worker, call: Pending) -> None:
        """The time limit passed: ask nicely first."""
        call.timed_out = True
        worker.cancel(call.call_id)
        reason = "a call passed its time limit and did not end"
        asyncio.get_running_loop().call_later(self._grace_s(worker), self._overdue, worker, call, reason)

    def _grace_s(self, worker: Worker) -> float:
        """A thread cannot be canceled, so there is nothing to wait for."""
        return self.spec.cancel_grace_s if worker.is_async else _THREAD_GRACE_S

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
            error = CallError("Canceled", reason, own_stack(stack, self._config["package_dir"]), stack)
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
        """The least busy worker with a free place, when nobody waits for one."""
        if self._waiting:
            return None
        best: Worker | None = None
        load = self._concurrency
        for worker in self._workers:
            busy = len(worker.pending) + worker.promised
            if busy < load and worker.is_usable:
                best, load = worker, busy
        return best

    async def _turn(self) -> Worker | FunctionFailed:
        """Wait for a place. It is kept until the caller sends its call, which it does at once."""
        if not self._running:
            return FunctionFailed("the function is not running", kind="canceled")
        if not self._workers and not self._starting:
            self._replace("none is left")
        turn: asyncio.Future[Worker | FunctionFailed] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            worker = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._unpromise(turn.result())
            raise
        self._unpromise(worker)
        return worker

    def _unpromise(self, worker: Worker | FunctionFailed) -> None:
        if isinstance(worker, Worker):
            worker.promised -= 1
            self._grant()

    def _grant(self) -> None:
        """Give free places to those who wait longest."""
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
                continue
            waiting, self._waiting = self._waiting, deque()
            worker = self._free_worker()
            self._waiting = waiting
            if worker is None:
                return
            worker.promised += 1
            self._waiting.popleft().set_result(worker)

    def _refuse(self, error: FunctionFailed) -> None:
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_result(error)

    def _freed(self, worker: Worker) -> None:
        if worker.condemned and not worker.pending:
            worker.kill(worker.condemned)
        self._grant()

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
            self._on_output(OutputLine("worker", f"a worker is replaced: {reason}", time.time()))
        self._starting += 1
        self._in_background(self._start_another())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_another(self) -> None:
        try:
            worker = await self._start_worker()
        except FunctionFailed as error:
            if not self._workers and self._starting == 1:
                self._refuse(error)
            return
        finally:
            self._starting -= 1
        self._workers.append(worker)
        self._grant()

    async def _start_worker(self) -> Worker:
        """Raises FunctionFailed when a step fails, or the worker dies in it twice."""
        name = self.spec.classpath.text or self.spec.classpath.colon
        for attempt in (1, 2):
            try:
                worker, message = await self._spawn("worker")
            except _Died as death:
                if attempt == 2:
                    raise self._death(name, death) from None
                continue
            if message["op"] == "failed":
                raise _failure(name, message)
            worker.is_async = message["is_async"]
            return worker
        raise AssertionError("unreachable")

    async def _start_template(self) -> None:
        """Have one process import the module, to fork the workers from; do without where it cannot be forked."""
        name = self.spec.classpath.text or self.spec.classpath.colon
        try:
            worker, message = await self._spawn("template")
        except _Died:
            return
        if message["op"] == "failed":
            raise _failure(name, message)
        if message["forkable"]:
            link = worker.as_control()
            await link.open()
            self._template = worker, link

    async def _spawn(self, role: str) -> tuple[Worker, dict[str, Any]]:
        """A new process and its first message. Raises _Died, FunctionFailed."""
        link = await self._link()
        slot = next(self._slot_numbers)
        worker = Worker(link, slot, role, self._config, self._on_output, self._freed, self._ended)
        try:
            async with asyncio.timeout(self.spec.setup_timeout_s):
                message = await asyncio.shield(worker.ready)
        except TimeoutError:
            where = own_stack(await worker.where(), self._config["package_dir"])
            worker.kill("it was not ready in time")
            raise FunctionFailed(
                f"import and setup took longer than {self.spec.setup_timeout_s:g} s",
                kind="timeout",
                traceback=where or None,
                advice="Make setup faster, or raise its limit.",
            ) from None
        except asyncio.CancelledError:
            worker.kill("the function was stopped")
            raise
        if message is None:
            assert worker.exit is not None
            if not link.is_open and self._keeper.failure:
                raise FunctionFailed(self._keeper.failure, kind="died", advice=_INTERPRETER_ADVICE)
            raise _Died(worker.exit.describe(), worker.tail.last(_LAST_LINES) or self._keeper.last_words())
        return worker, message

    async def _link(self) -> KeeperLink:
        """What forks the next worker; the keeper is started again if it is gone."""
        if self._template is not None and self._template[1].is_open:
            return self._template[1]
        async with self._keeper_starts:
            if self._root is None or not self._root.is_open:
                self._template = None
                await self._keeper.stop()
                self._root = await self._keeper.start()
            return self._root

    def _death(self, name: str, death: _Died) -> FunctionFailed:
        tail = f"\nIts last output:\n{death.output}" if death.output else ""
        return FunctionFailed(f"{name} could not be started: {death.reason}.{tail}", kind="died")


def _failure(name: str, message: dict[str, Any]) -> FunctionFailed:
    error = message["error"]
    doing = {"import": "importing it", "construct": "constructing it", "setup": "its setup"}[message["stage"]]
    return FunctionFailed(
        f"{name} could not be started: {doing} failed with {error['type']}: {error['message']}",
        kind="raised",
        traceback=error["traceback"] or error["full_traceback"] or None,
    )
