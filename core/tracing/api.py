"""The tracing names that user code imports. Importing this loads no OpenTelemetry; the first traced thing does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import wraps
from typing import Any

from agentic_rl_tui.core.tracing import payload
from agentic_rl_tui.core.tracing.clients import (
    instrument_dashscope_generation_call,
    instrument_openai_chat_completions,
    trace_client,
)
from agentic_rl_tui.core.tracing.decorating import decorated, sync_or_async
from agentic_rl_tui.core.tracing.llm import Invocation, input_of, run_llm
from agentic_rl_tui.core.tracing.messages import (
    dashscope_response_to_output_messages,
    openai_chat_messages_to_input_messages,
    openai_completion_to_output_messages,
    tool_calls_to_parts,
    unwrap_openai_completion,
)
from agentic_rl_tui.core.tracing.processors import (
    apply_processor_span_attributes_after,
    apply_processor_span_attributes_before,
    async_trace_processor_process,
    log_trace_id,
    observe_processor,
    resolve_processor_func_type_for_span,
    rollout_context,
    trace_processor_process,
    trace_processor_span,
)
from agentic_rl_tui.core.tracing.recorder import PROCESSOR_SCOPE, current, peek, recorder
from agentic_rl_tui.core.tracing.state import ATTEMPT_ID as AGENTIC_RL_ATTEMPT_ID_BAGGAGE_KEY
from agentic_rl_tui.core.tracing.state import ROLLOUT_ID as AGENTIC_RL_ROLLOUT_ID_BAGGAGE_KEY
from agentic_rl_tui.core.tracing.state import SAMPLE_ID as AGENTIC_RL_SAMPLE_ID_BAGGAGE_KEY
from agentic_rl_tui.core.tracing.state import is_on, is_wanted, linkage, number, use
from agentic_rl_tui.core.tracing.tools import observe_tool, trace_tool

__all__ = [
    "AGENTIC_RL_ATTEMPT_ID_BAGGAGE_KEY",
    "AGENTIC_RL_ROLLOUT_ID_BAGGAGE_KEY",
    "AGENTIC_RL_SAMPLE_ID_BAGGAGE_KEY",
    "GENAI_AVAILABLE",
    "ExecuteToolInvocation",
    "ForceFlushMode",
    "InputMessage",
    "NoopHandler",
    "OutputMessage",
    "Reasoning",
    "SafeHandlerProxy",
    "SafeInvocationProxy",
    "SafeSpanProxy",
    "Text",
    "ToolCall",
    "apply_processor_span_attributes_after",
    "apply_processor_span_attributes_before",
    "async_trace_processor_process",
    "current_span_ids_hex",
    "current_trace_id_hex",
    "dashscope_response_to_output_messages",
    "ensure_agentic_rl_baggage_span_processor",
    "genai_llm_span",
    "get_handler",
    "get_tracer",
    "get_upstream_trace_linkage",
    "instrument_dashscope_generation_call",
    "instrument_openai_chat_completions",
    "is_tracing_enabled",
    "log_trace_id",
    "maybe_force_flush",
    "maybe_force_flush_async",
    "observe_llm",
    "observe_processor",
    "observe_tool",
    "openai_chat_messages_to_input_messages",
    "openai_completion_to_output_messages",
    "reset_upstream_trace_linkage",
    "resolve_processor_func_type_for_span",
    "rollout_context",
    "run_with_genai_llm_span",
    "set_upstream_trace_linkage",
    "span_payload_preview",
    "to_jsonable",
    "tool_calls_to_parts",
    "trace_client",
    "trace_processor_process",
    "trace_processor_span",
    "trace_tool",
    "unwrap_openai_completion",
]

# Whoever imports these names wants traces: from here on what happens is watched, also before the first is used.
use.touch()

GENAI_AVAILABLE = True
ExecuteToolInvocation = InputMessage = OutputMessage = Text = ToolCall = Reasoning = None
Mapper = Callable[[Any, Any], None]


class ForceFlushMode(str, Enum):  # noqa: UP042 - the vendor's class mixes str in
    NONE = "none"
    SHUTDOWN = "shutdown"
    REQUEST = "request"


def observe_llm(
    _fn: Any = None,
    *,
    provider: str | None = None,
    request_model_arg: str = "model",
    messages_arg: str = "messages",
    prompt_arg: str = "prompt",
    result_mapper: Mapper | None = None,
    handler: Any = None,
) -> Any:
    """Trace a function that calls a model. Model and messages are read from its keyword arguments."""
    del handler

    def decorate(fn: Any) -> Any:
        use.touch("observe_llm")

        @wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not is_on():
                return fn(*args, **kwargs)
            asked = kwargs.get(messages_arg)
            invocation = Invocation(
                request_model=kwargs.get(request_model_arg),
                provider=provider,
                input_messages=input_of(kwargs.get(prompt_arg) if asked is None else asked),
            )
            return run_llm(fn, args, kwargs, invocation, result_mapper)

        return sync_or_async(fn, call)

    return decorated(decorate, _fn)


def run_with_genai_llm_span(
    fn: Callable[..., Any],
    /,
    *fn_args: Any,
    provider: str | None = None,
    request_model: Any = None,
    input_messages: Any = None,
    result_mapper: Mapper | None = None,
    handler: Any = None,
    **fn_kwargs: Any,
) -> Any:
    """Call the function in a span of a model call; the span's own options are not handed to it."""
    del handler
    use.touch("run_with_genai_llm_span")
    invocation = Invocation(request_model=request_model, provider=provider, input_messages=input_of(input_messages))
    return run_llm(fn, fn_args, fn_kwargs, invocation, result_mapper)


@contextmanager
def genai_llm_span(handler: Any = None) -> Iterator[Any]:
    """A model call by hand: the attributes that are set on what this yields end up on the span."""
    del handler
    invocation = Invocation()
    use.touch("genai_llm_span")
    made = recorder()
    if made is None:
        yield invocation
        return
    invocation.begin(made)
    try:
        with current(invocation.span):
            yield invocation
    except BaseException as error:
        invocation.end(error)
        raise
    invocation.end()


# Where we are


def is_tracing_enabled() -> bool:
    return is_wanted() is not False


def get_tracer() -> Any:
    """A tracer for spans of one's own; None when tracing is off."""
    use.touch()
    made = recorder()
    return None if made is None else made.tracer(PROCESSOR_SCOPE)


def current_span_ids_hex() -> tuple[str | None, str | None]:
    """Trace id and span id."""
    if peek() is None:
        return None, None
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return (f"{context.trace_id:032x}", f"{context.span_id:016x}") if context.is_valid else (None, None)


def current_trace_id_hex() -> str | None:
    return current_span_ids_hex()[0]


def ensure_agentic_rl_baggage_span_processor() -> None:
    """Ours copies the ids anyway; this only sees to it that it is there."""
    recorder()


def set_upstream_trace_linkage(*, traceparent_present: bool, upstream_trace_id: str | None) -> tuple[Any, ...]:
    return (linkage.set((traceparent_present, upstream_trace_id)),)


def reset_upstream_trace_linkage(tokens: tuple[Any, ...]) -> None:
    for token in tokens:
        linkage.reset(token)


def get_upstream_trace_linkage() -> tuple[bool, str | None]:
    return linkage.get()


# Spans leave as they end, so ours have nothing to flush; other exporters on the provider may.


def maybe_force_flush(*, reason: str) -> None:
    """Give exporters that user code added a bounded time to send what they hold."""
    del reason
    made = peek()
    if made is not None:
        made.provider.force_flush(number("AGENTIC_RL_FORCE_FLUSH_TIMEOUT_MS", 3000, 60_000))


async def maybe_force_flush_async(*, reason: str) -> None:
    import asyncio

    await asyncio.to_thread(maybe_force_flush, reason=reason)


# Payloads and the vendor's inner parts


def span_payload_preview(obj: Any) -> str:
    return payload.preview(obj)


def to_jsonable(obj: Any, *, limits: Any = None) -> Any:
    del limits
    return payload.plain_data(obj, masked=False)


class NoopHandler:
    """Accepts every call of a span handler and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **_kwargs: args[0] if args else None


def get_handler() -> NoopHandler:
    return NoopHandler()


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
