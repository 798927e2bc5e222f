"""One processor and its calls: parse, run, check, report. Knows nothing of threads, loops or sockets."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from agentic_rl_tui.core.functions.frames import encode, pack
from agentic_rl_tui.core.functions.worker import faults, traced
from agentic_rl_tui.core.functions.worker.answer import InvalidAnswer, encode_answer, encode_unchecked, problems_of
from agentic_rl_tui.core.functions.worker.output import Printed, flush_streams, printed, sendable
from agentic_rl_tui.core.functions.worker.runtime import Runtime
from agentic_rl_tui.core.functions.worker.subs import SubWatch, describe_subs, outcomes_of


@dataclass(slots=True)
class Call:
    """canceled is set by the pool's wish; a call that has not begun then never begins.

    upstream: the headers of the caller's trace, as JSON; empty where it sent none.
    """

    call_id: int
    payload: bytes
    upstream: bytes = b""
    canceled: bool = False
    begun: float = 0.0
    trace: Any = None
    printed: Printed = field(default_factory=Printed)


class Serving:
    """processor is set up; `watch` sees the sub-rewards of the vendor's decorator."""

    def __init__(self, runtime: Runtime, kind: str, processor: Any, package_dir: str, watch: SubWatch) -> None:
        self._runtime = runtime
        self._kind = kind
        self._processor = processor
        self._package_dir = package_dir
        self._parse = runtime.inputs[kind].__pydantic_validator__.validate_json
        self._watch = watch

    def run_sync(self, call: Call) -> bytes:
        """Run a plain ``process`` to its result frame. Call inside a context of its own."""
        try:
            input_data = self._begin(call)
            try:
                value = self._processor.process(input_data)
            except BaseException as error:
                return self._failed(call, input_data, error)
            return self._answered(call, input_data, value)
        except BaseException as error:
            return self._broken(call, error)

    async def run_async(self, call: Call) -> bytes:
        """Run an ``async def process`` to its result frame. Call inside a context of its own."""
        try:
            input_data = self._begin(call)
            try:
                value = await self._processor.process(input_data)
            except BaseException as error:
                return self._failed(call, input_data, error)
            return self._answered(call, input_data, value)
        except BaseException as error:
            return self._broken(call, error)

    def canceled(self, call: Call, error: BaseException | None = None) -> bytes:
        told = faults.describe(error, self._package_dir) if error else faults.problem("Canceled", "never begun")
        return self._frame(call, "canceled", error=told)

    def _begin(self, call: Call) -> Any:
        printed.set(call.printed)
        outcomes_of.set([])
        call.begun = perf_counter()
        input_data = self._parse(call.payload)
        call.trace = traced.begin(call.call_id, input_data, call.upstream)
        self._watch.begin(input_data, outcomes_of.get())
        return input_data

    def _answered(self, call: Call, input_data: Any, value: Any) -> bytes:
        latency_s = perf_counter() - call.begun
        try:
            answer, failed = encode_answer(value, input_data, self._kind, self._runtime)
        except InvalidAnswer as error:
            told = faults.problem("InvalidAnswer", "; ".join([*error.problems, *self._odd_subs()]))
            plain = encode_unchecked(value)
            return self._frame(
                call, "invalid_output", error=told, latency_s=latency_s, input_data=input_data, unchecked=plain
            )
        except Exception as error:
            told = faults.describe(error, self._package_dir)
            return self._frame(call, "invalid_output", error=told, latency_s=latency_s, input_data=input_data)
        status = "failed" if failed else "ok"
        return self._frame(call, status, answer=answer, latency_s=latency_s, input_data=input_data)

    def _odd_subs(self) -> list[str]:
        """The sub-rewards that explain a total that is no number."""
        subs = describe_subs(outcomes_of.get(), self._package_dir)
        return [f"sub-reward {sub['name']!r} scored {sub['odd']}" for sub in subs if sub.get("odd")]

    def _broken(self, call: Call, error: BaseException) -> bytes:
        """The input does not fit, or there was no memory left for the call's own ends."""
        if isinstance(error, ValidationError):
            return self._rejected(call, error)
        return self._frame(call, "raised", error=faults.describe(error, self._package_dir))

    def _rejected(self, call: Call, error: ValidationError) -> bytes:
        told = faults.problem("ValidationError", "; ".join(problems_of(error)))
        return self._frame(call, "invalid_input", error=told)

    def _failed(self, call: Call, input_data: Any, error: BaseException) -> bytes:
        if call.canceled and type(error).__name__ == "CancelledError":
            status = "canceled"
        elif isinstance(error, SystemExit):
            status = "died"
        else:
            status = "raised"
        told = faults.describe(error, self._package_dir)
        if status == "died":
            told["message"] = f"process called sys.exit({'' if error.args == () else error.args[0]!r})"
        return self._frame(call, status, error=told, input_data=input_data)

    def _frame(
        self,
        call: Call,
        status: str,
        *,
        answer: bytes | None = None,
        error: dict[str, str] | None = None,
        latency_s: float | None = None,
        input_data: Any = None,
        unchecked: bytes | None = None,
    ) -> bytes:
        self._watch.end(input_data)
        traced.end(call.trace, status, error)
        flush_streams()
        if latency_s is None:
            latency_s = perf_counter() - call.begun if call.begun else 0.0
        parts = [b'{"op":"result","id":%d,"status":"%s","latency_s":%r' % (call.call_id, status.encode(), latency_s)]
        if answer is not None:
            parts += [b',"output":', answer]
        if unchecked is not None:
            parts += [b',"unchecked":', unchecked]
        if error is not None:
            parts += [b',"error":', encode(error)]
        subs = outcomes_of.get()
        if subs:
            parts += [b',"subs":', encode(describe_subs(subs, self._package_dir))]
        text = call.printed.text()
        if text:
            parts += [b',"printed":', encode(sendable(text))]
        parts.append(b"}")
        return pack(b"".join(parts))
