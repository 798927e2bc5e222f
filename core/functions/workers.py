"""One worker process as the pool talks to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus, SubResult
from agentic_rl_tui.core.functions.frames import Splitter, call_frame, frame
from agentic_rl_tui.core.functions.keeper import STACK_OFFSET, Exit, KeeperLink
from agentic_rl_tui.core.functions.output import OnOutput, OutputLine, PipeReader, Tail
from agentic_rl_tui.core.i18n import _

_STACK_POLL_S = 0.01
_STACK_POLLS = 100


@dataclass(slots=True)
class Pending:
    """A call on its way. order: its place among all calls sent to this worker, from 1; printed_before: see Tail."""

    call_id: int
    order: int
    printed_before: int
    done: asyncio.Future[CallResult]
    sent_at: float
    acknowledged: bool = False
    timed_out: bool = False
    trace: list[dict[str, Any]] = field(default_factory=list)


class NotStarted(Exception):
    """The worker ended before it began this call, so that another may run it."""


class Worker:
    """In: calls. Out: their results, output lines, `on_free` after each result, one `on_end` when the process is gone.

    `ready` holds the frame by which the worker reports that it is set up, or that it failed; None when it died first.
    """

    def __init__(
        self,
        link: KeeperLink,
        slot: int,
        role: str,
        config: dict[str, Any],
        on_output: OnOutput | None,
        on_free: Callable[[Worker], None],
        on_end: Callable[[Worker], None],
    ) -> None:
        self.slot = slot
        self.link = link
        self.exit: Exit | None = None
        self.condemned = ""
        self.promised = 0
        self.is_async = False
        self.tail = Tail()
        self.pending: dict[int, Pending] = {}
        self.ready: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self.forked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_output = on_output
        self._on_free = on_free
        self._on_end = on_end
        self._handed_over = False
        self._sent = 0
        self._writes: list[bytes] = []
        self._splitter = Splitter()
        self._loop = asyncio.get_running_loop()
        self._ends = link.spawn(slot, role, config, self._forked, self._exited)
        self._ends.sock.setblocking(False)
        self._loop.add_reader(self._ends.sock, self._readable)
        self._pipes = (
            PipeReader(self._ends.stdout_fd, "stdout", self._printed),
            PipeReader(self._ends.stderr_fd, "stderr", self._printed),
        )

    @property
    def is_usable(self) -> bool:
        return self.exit is None and not self.condemned

    def send_call(self, call_id: int, payload: bytes, upstream: bytes = b"") -> Pending:
        self._sent += 1
        pending = Pending(call_id, self._sent, self.tail.count, self._loop.create_future(), self._loop.time())
        self.pending[call_id] = pending
        self._write(call_frame(call_id, payload, upstream))
        return pending

    def cancel(self, call_id: int) -> None:
        if call_id in self.pending:
            self._write(frame("cancel", id=call_id))

    async def where(self) -> str:
        """Where its threads stand, as faulthandler tells it; empty when it cannot say."""
        self.link.tell("where", slot=self.slot)
        told = ""
        for _turn in range(_STACK_POLLS):
            await asyncio.sleep(_STACK_POLL_S)
            if self.exit is not None:
                break
            before, told = told, bytes(self._ends.memory[STACK_OFFSET:]).split(b"\0", 1)[0].decode("utf-8", "replace")
            if told and told == before:
                break
        return told

    def kill(self, reason: str) -> None:
        self.condemned = self.condemned or reason
        self.link.tell("kill", slot=self.slot, reason=reason)

    def as_control(self) -> KeeperLink:
        """Hand the socket over: a template speaks as a keeper once it is ready."""
        self._loop.remove_reader(self._ends.sock)
        self._handed_over = True
        return KeeperLink(self._ends.sock)

    def _write(self, data: bytes) -> None:
        """Frames of one turn of the loop leave in one piece."""
        self._writes.append(data)
        if len(self._writes) == 1:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        data = b"".join(self._writes)
        self._writes.clear()
        if not data or self._ends.sock.fileno() < 0:
            return
        try:
            sent = self._ends.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(data):
            self._writes.append(data[sent:])
            self._loop.add_writer(self._ends.sock, self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._ends.sock)
        self._flush()

    def _readable(self) -> None:
        try:
            data = self._ends.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._ends.sock)
            self._loop.create_task(self._await_exit())
            return
        for body in self._splitter.feed(data):
            self._handle(orjson.loads(body))

    def _handle(self, message: dict[str, Any]) -> None:
        op = message["op"]
        if op == "result":
            pending = self.pending.pop(message["id"], None)
            if pending is None:
                return
            if not pending.done.done():
                pending.done.set_result(read_result(message))
            self._on_free(self)
        elif op == "log":
            for text, time_s in message["lines"]:
                self._printed(OutputLine("log", text, time_s))
        elif op == "trace":
            self._traced(message["call"], message["record"])
        elif op == "canceling":
            if message["id"] in self.pending:
                self.pending[message["id"]].acknowledged = True
        elif op in {"ready", "failed", "template"} and not self.ready.done():
            self.ready.set_result(message)

    def _traced(self, call_id: int, record: dict[str, Any]) -> None:
        """What came without its call belongs to the only one there is, or to none."""
        pending = self.pending.get(call_id)
        if pending is None and len(self.pending) == 1:
            pending = next(iter(self.pending.values()))
        if pending is not None:
            pending.trace.append(record)

    def _printed(self, line: OutputLine) -> None:
        self.tail.add(line.text)
        if self._on_output is not None:
            self._on_output(line)

    async def _await_exit(self) -> None:
        """A worker that only closed its connection is of no use any more."""
        self.condemned = self.condemned or _("it closed its connection to the platform")
        for _turn in range(2):
            if self.exit is not None:
                return
            await asyncio.wait([self.gone], timeout=0.25)
            if self.exit is None:
                self.kill(self.condemned)

    def _forked(self) -> None:
        if not self.forked.done():
            self.forked.set_result(None)

    def _exited(self, gone: Exit) -> None:
        if self.exit is not None:
            return
        self.exit = gone
        self._drain()
        self._release()
        self._forked()
        if not self.ready.done():
            self.ready.set_result(None)
        started = int.from_bytes(self._ends.memory[:8], "little")
        self._ends.memory.close()
        pending, self.pending = self.pending, {}
        for call in pending.values():
            if call.done.done():
                continue
            if call.order > started:
                call.done.set_exception(NotStarted())
            else:
                call.done.set_result(self._died(call))
        self.gone.set_result(None)
        self._on_end(self)

    def _died(self, call: Pending) -> CallResult:
        assert self.exit is not None
        printed = self.tail.since(call.printed_before)
        error = CallError(
            "WorkerDied",
            _("the worker died during the call: {how}").format(how=self.exit.describe()),
            full_traceback=printed,
        )
        return CallResult(CallStatus.DIED, error=error, printed=printed, latency_s=self._loop.time() - call.sent_at)

    def _drain(self) -> None:
        """Take the results and lines that came before the end."""
        with contextlib.suppress(OSError):
            while not self._handed_over and (data := self._ends.sock.recv(1 << 16)):
                for body in self._splitter.feed(data):
                    self._handle(orjson.loads(body))
        for pipe in self._pipes:
            pipe.drain()

    def _release(self) -> None:
        if not self._handed_over:
            self._loop.remove_reader(self._ends.sock)
            self._loop.remove_writer(self._ends.sock)
            self._ends.sock.close()
        for pipe in self._pipes:
            pipe.close()


def read_error(told: dict[str, str] | None) -> CallError | None:
    if told is None:
        return None
    return CallError(told["type"], told["message"], told["traceback"], told["full_traceback"])


def read_result(message: dict[str, Any]) -> CallResult:
    subs = tuple(
        SubResult(
            name=sub["name"],
            weight=_number(sub["weight"]),
            score=_number(sub["score"]),
            status=sub["status"],
            metrics={name: _number(value) for name, value in sub["metrics"].items()},
            error=read_error(sub.get("error")),
            latency_s=sub["latency_s"],
        )
        for sub in message.get("subs", ())
    )
    return CallResult(
        status=CallStatus(message["status"]),
        output=message.get("output"),
        error=read_error(message.get("error")),
        latency_s=message["latency_s"],
        sub_results=subs,
        printed=message.get("printed", ""),
        unchecked=message.get("unchecked"),
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
