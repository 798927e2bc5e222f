"""The tracing names that user code imports, at rest: every one passes through what it is given and records nothing.

A host that records spans answers for these names with its own module (see `worker.alias_names.OBSERVABILITY`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from types import SimpleNamespace
from typing import Any

AGENTIC_RL_ROLLOUT_ID_BAGGAGE_KEY = "bailian.agentic_rl.rollout_id"
AGENTIC_RL_SAMPLE_ID_BAGGAGE_KEY = "bailian.agentic_rl.sample_id"
AGENTIC_RL_ATTEMPT_ID_BAGGAGE_KEY = "bailian.agentic_rl.attempt_id"

GENAI_AVAILABLE = False
ExecuteToolInvocation = InputMessage = OutputMessage = Text = ToolCall = Reasoning = None
PREVIEW_CHARS = 128 * 1024


class ForceFlushMode(str, Enum):  # noqa: UP042 - the vendor's class mixes str in
    NONE = "none"
    SHUTDOWN = "shutdown"
    REQUEST = "request"


def _decorator(function: Any) -> Any:
    """Serve ``@name`` and ``@name(...)`` alike."""
    return function if function is not None else lambda given: given


def observe_processor(_fn: Any = None, *, otel_span_kind: Any = None, capture_io_attributes: bool = True) -> Any:
    del otel_span_kind, capture_io_attributes
    return _decorator(_fn)


def trace_processor_span(
    _fn: Any = None, *, logical_kind: str, otel_span_kind: Any = None, capture_io_attributes: bool = True
) -> Any:
    del logical_kind, otel_span_kind, capture_io_attributes
    return _decorator(_fn)


def observe_llm(
    _fn: Any = None,
    *,
    provider: str | None = None,
    request_model_arg: str = "model",
    messages_arg: str = "messages",
    prompt_arg: str = "prompt",
    result_mapper: Callable[[Any, Any], None] | None = None,
    handler: Any = None,
) -> Any:
    del provider, request_model_arg, messages_arg, prompt_arg, result_mapper, handler
    return _decorator(_fn)


def observe_tool(_fn: Any = None, *, name: str | None = None, provider: str | None = None, handler: Any = None) -> Any:
    del name, provider, handler
    return _decorator(_fn)


def trace_client(client: Any) -> None:
    del client


def trace_tool(tools: Any, *, provider: str | None = None) -> None:
    del tools, provider


def instrument_openai_chat_completions(client: Any, *, provider: str = "openai", handler: Any = None) -> Any:
    del provider, handler
    return client


def instrument_dashscope_generation_call(
    generation_cls: Any, *, provider: str = "dashscope", handler: Any = None
) -> Any:
    del provider, handler
    return generation_cls


def run_with_genai_llm_span(
    fn: Callable[..., Any],
    /,
    *fn_args: Any,
    provider: str | None = None,
    request_model: Any = None,
    input_messages: Any = None,
    result_mapper: Callable[[Any, Any], None] | None = None,
    handler: Any = None,
    **fn_kwargs: Any,
) -> Any:
    """Call the function; the span's own options are not handed to it."""
    del provider, request_model, input_messages, result_mapper, handler
    return fn(*fn_args, **fn_kwargs)


@contextmanager
def genai_llm_span(handler: Any = None) -> Iterator[Any]:
    """Yields an object whose attributes can be set freely."""
    del handler
    yield SimpleNamespace()


@contextmanager
def rollout_context(
    rollout_id: str | None = None, sample_id: str | None = None, attempt_id: str | None = None
) -> Iterator[None]:
    del rollout_id, sample_id, attempt_id
    yield


def is_tracing_enabled() -> bool:
    return False


def get_tracer() -> Any:
    return None


def get_handler() -> NoopHandler:
    return NoopHandler()


def current_trace_id_hex() -> str | None:
    return None


def current_span_ids_hex() -> tuple[str | None, str | None]:
    return None, None


def log_trace_id(role: str) -> None:
    del role


def ensure_agentic_rl_baggage_span_processor() -> None:
    return None


_linkage: ContextVar[tuple[bool, str | None]] = ContextVar("agentic_rl_linkage", default=(False, None))


def set_upstream_trace_linkage(*, traceparent_present: bool, upstream_trace_id: str | None) -> tuple[Any, ...]:
    return (_linkage.set((traceparent_present, upstream_trace_id)),)


def reset_upstream_trace_linkage(tokens: tuple[Any, ...]) -> None:
    for token in tokens:
        _linkage.reset(token)


def get_upstream_trace_linkage() -> tuple[bool, str | None]:
    return _linkage.get()


def maybe_force_flush(*, reason: str) -> None:
    del reason


async def maybe_force_flush_async(*, reason: str) -> None:
    del reason


def resolve_processor_func_type_for_span(input_data: Any, logical_kind: str) -> Any:
    return getattr(input_data, "func_type", logical_kind)


def apply_processor_span_attributes_before(
    span: Any, *, func_type: Any, input_data: Any, capture_full_io: bool = True
) -> None:
    del span, func_type, input_data, capture_full_io


def apply_processor_span_attributes_after(span: Any, result: Any, *, capture_full_io: bool = True) -> None:
    del span, result, capture_full_io


def trace_processor_process(_func_type: Any, processor: Any, input_data: Any) -> Any:
    return processor.process(input_data)


async def async_trace_processor_process(_func_type: Any, processor: Any, input_data: Any) -> Any:
    return await processor.process(input_data)


def span_payload_preview(obj: Any) -> str:
    """JSON, cut to a length that a span can hold."""
    return json.dumps(to_jsonable(obj), ensure_ascii=False)[:PREVIEW_CHARS]


def to_jsonable(obj: Any, *, limits: Any = None) -> Any:
    """Plain data, cut to depth 6, 200 items and 8192 characters per text."""
    del limits
    return _plain(obj, 6)


def _plain(obj: Any, depth: int) -> Any:
    if obj is None or isinstance(obj, bool | int | float):
        return obj
    if isinstance(obj, str):
        return obj[:8192]
    if depth == 0:
        return str(obj)[:8192]
    dump = getattr(obj, "model_dump", None)
    if callable(dump):
        return _plain(dump(mode="json"), depth)
    if isinstance(obj, dict):
        return {str(key): _plain(value, depth - 1) for key, value in list(obj.items())[:200]}
    if isinstance(obj, list | tuple | set):
        return [_plain(item, depth - 1) for item in list(obj)[:200]]
    return str(obj)[:8192]


def unwrap_openai_completion(completion: Any) -> Any:
    return completion


def tool_calls_to_parts(tool_calls: Any) -> list[Any]:
    del tool_calls
    return []


def openai_chat_messages_to_input_messages(messages: Any) -> list[Any]:
    del messages
    return []


def openai_completion_to_output_messages(completion: Any) -> list[Any]:
    del completion
    return []


def dashscope_response_to_output_messages(response: Any) -> list[Any]:
    del response
    return []


class NoopHandler:
    """Accepts every call of a span handler and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **_kwargs: args[0] if args else None


class _Proxy:
    """Passes everything on to what it wraps."""

    def __init__(self, wrapped: Any = None, *_args: Any, **_kwargs: Any) -> None:
        self.__dict__["_wrapped"] = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_wrapped"], name)


class SafeHandlerProxy(_Proxy):
    pass


class SafeInvocationProxy(_Proxy):
    pass


class SafeSpanProxy(_Proxy):
    pass
