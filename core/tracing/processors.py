"""Spans of processors: what ``@observe_processor`` puts around ``process``, and the ids that all spans carry."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

from agentic_rl_tui.core.tracing import payload
from agentic_rl_tui.core.tracing.decorating import decorated
from agentic_rl_tui.core.tracing.messages import field
from agentic_rl_tui.core.tracing.recorder import PROCESSOR_SCOPE, current, fail, recorder, succeed
from agentic_rl_tui.core.tracing.state import ATTEMPT_ID, ROLLOUT_ID, SAMPLE_ID, flag, is_on, use

_log = logging.getLogger("dashscope.finetune.reinforcement")
KINDS = ("rollout", "reward", "group_reward")
_IDS = {ROLLOUT_ID: "rollout_id", SAMPLE_ID: "sample_id", ATTEMPT_ID: "attempt_id"}


def observe_processor(_fn: Any = None, *, otel_span_kind: Any = None, capture_io_attributes: bool = True) -> Any:
    """Trace a ``process`` method; its kind comes from the input or the class."""
    return _decorator(_fn, None, otel_span_kind, capture_io_attributes)


def trace_processor_span(
    _fn: Any = None, *, logical_kind: str, otel_span_kind: Any = None, capture_io_attributes: bool = True
) -> Any:
    """Trace a ``process`` method as ``rollout``, ``reward`` or ``group_reward``."""
    return _decorator(_fn, logical_kind, otel_span_kind, capture_io_attributes)


def _decorator(_fn: Any, kind: str | None, span_kind: Any, shows_io: bool) -> Any:
    def decorate(fn: Any) -> Any:
        use.touch("observe_processor")
        if inspect.iscoroutinefunction(fn):

            @wraps(fn)
            async def process_async(self: Any, *args: Any, **kwargs: Any) -> Any:
                span = _begin(self, args, kwargs, kind, span_kind, shows_io)
                if span is None:
                    return await fn(self, *args, **kwargs)
                with _around(span, shows_io) as done:
                    result = await fn(self, *args, **kwargs)
                    done.append(result)
                return result

            return process_async

        @wraps(fn)
        def process(self: Any, *args: Any, **kwargs: Any) -> Any:
            span = _begin(self, args, kwargs, kind, span_kind, shows_io)
            if span is None:
                return fn(self, *args, **kwargs)
            with _around(span, shows_io) as done:
                result = fn(self, *args, **kwargs)
                done.append(result)
            return result

        return process

    return decorated(decorate, _fn)


def _begin(
    processor: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], kind: str | None, span_kind: Any, shows_io: bool
) -> Any:
    if not is_on() or (made := recorder()) is None:
        return None
    given = args[0] if args else next(iter(kwargs.values()), None)
    logical = kind or kind_of(processor, given)
    if logical is None:
        _log.warning("observe_processor cannot tell what %s is: no span", type(processor).__name__)
        return None
    name = f"invoke_{'rollout' if logical == 'rollout' else 'reward'}"
    attributes = {
        "gen_ai.span.kind": logical.upper(),
        "gen_ai.operation.name": name,
        "operation.name": name,
        **ids_of(field(given, "request_metadata")),
    }
    otel_kind = getattr(span_kind, "name", span_kind) or "INTERNAL"
    span = made.start(PROCESSOR_SCOPE, f"{name} {type(processor).__name__}", str(otel_kind), attributes)
    apply_processor_span_attributes_before(span, func_type=logical, input_data=given, capture_full_io=shows_io)
    return span


@contextmanager
def _around(span: Any, shows_io: bool) -> Iterator[list[Any]]:
    done: list[Any] = []
    try:
        with current(span):
            yield done
    except BaseException as error:
        fail(span, error)
        span.end()
        raise
    apply_processor_span_attributes_after(span, done[0] if done else None, capture_full_io=shows_io)
    succeed(span)
    span.end()


def kind_of(processor: Any, given: Any) -> str | None:
    """rollout, reward or group_reward, by the input's func_type or the classes that the processor extends."""
    kind = getattr(field(given, "func_type"), "value", field(given, "func_type"))
    if kind in KINDS:
        return str(kind)
    bases = {base.__name__ for base in type(processor).__mro__}
    for name in KINDS:
        if f"Abstract{''.join(part.title() for part in name.split('_'))}Processor" in bases:
            return name
    return None


def resolve_processor_func_type_for_span(input_data: Any, logical_kind: str) -> Any:
    return field(input_data, "func_type", logical_kind)


def ids_of(metadata: Any) -> dict[str, str]:
    """The ids of a request as span attributes."""
    found = {key: field(metadata, name) for key, name in _IDS.items()}
    ids = {key: str(value) for key, value in found.items() if value is not None}
    return {**ids, "request_id": ids[ROLLOUT_ID]} if ROLLOUT_ID in ids else ids


def apply_processor_span_attributes_before(
    span: Any, *, func_type: Any, input_data: Any, capture_full_io: bool = True
) -> None:
    del func_type
    model = field(field(input_data, "resource"), "model_name")
    if model:
        span.set_attribute("gen_ai.request.model", str(model))
    if capture_full_io:
        span.set_attribute("input.value", payload.preview(input_data))


def apply_processor_span_attributes_after(span: Any, result: Any, *, capture_full_io: bool = True) -> None:
    status = getattr(field(result, "status"), "value", field(result, "status"))
    if status is not None:
        span.set_attribute("agentic_rl.result.status", str(status))
    score = field(field(result, "reward"), "reward_score")
    if isinstance(score, int | float):
        span.set_attribute("agentic_rl.result.reward_score", float(score))
    latency = field(result, "latency_s")
    if isinstance(latency, int | float):
        span.set_attribute("agentic_rl.result.latency_s", float(latency))
    if capture_full_io:
        span.set_attribute("output.value", payload.preview(result))


@contextmanager
def rollout_context(
    rollout_id: str | None = None, sample_id: str | None = None, attempt_id: str | None = None
) -> Iterator[None]:
    """Every span inside carries the given ids."""
    given = {ROLLOUT_ID: rollout_id, SAMPLE_ID: sample_id, ATTEMPT_ID: attempt_id}
    use.touch()
    if recorder() is None:
        yield
        return
    from opentelemetry import baggage, context

    made = context.get_current()
    for key, value in given.items():
        if value is not None:
            made = baggage.set_baggage(key, str(value), made)
    token = context.attach(made)
    try:
        yield
    finally:
        context.detach(token)


def trace_processor_process(_func_type: Any, processor: Any, input_data: Any) -> Any:
    """Run ``process`` in a span of the given kind, unless it has one of its own."""
    kind = str(getattr(_func_type, "value", _func_type))
    return _decorator(lambda _self, given: processor.process(given), kind, None, True)(processor, input_data)


async def async_trace_processor_process(_func_type: Any, processor: Any, input_data: Any) -> Any:
    kind = str(getattr(_func_type, "value", _func_type))

    async def process(_self: Any, given: Any) -> Any:
        return await processor.process(given)

    return await _decorator(process, kind, None, True)(processor, input_data)


def log_trace_id(role: str) -> None:
    """Log the current trace id where AGENTIC_RL_LOG_TRACE_ID asks for it."""
    if flag("AGENTIC_RL_LOG_TRACE_ID"):
        from agentic_rl_tui.core.tracing.api import current_trace_id_hex

        _log.info("%s trace_id=%s pid=%d", role, current_trace_id_hex(), os.getpid())
