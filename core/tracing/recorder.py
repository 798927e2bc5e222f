"""OpenTelemetry in this process: one provider, our processor in it, spans handed on as they begin and end."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from typing import Any

from agentic_rl_tui.core.tracing import state
from agentic_rl_tui.core.tracing.state import ATTEMPT_ID, ROLLOUT_ID, SAMPLE_ID, Make, current_call, use

BAGGAGE = (ROLLOUT_ID, SAMPLE_ID, ATTEMPT_ID)
PROCESSOR_SCOPE = "dashscope.finetune.reinforcement"
GENAI_SCOPE = "opentelemetry.util.genai.handler"
CALL_KEY = "agentic_rl.call"
CONTEXT_LOST = "agentic_rl.context_lost"
UNFINISHED = "agentic_rl.unfinished"

_lock = threading.Lock()


class Recorder:
    """The tracers of this process. calls: the outermost span of each call under way, by its number."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self._tracers = {name: provider.get_tracer(name) for name in (PROCESSOR_SCOPE, GENAI_SCOPE)}
        self.roots: dict[int, Any] = {}
        self.open: dict[int, dict[int, Any]] = {}

    def tracer(self, scope: str) -> Any:
        return self._tracers[scope]

    def start(self, scope: str, name: str, kind: str, attributes: Mapping[str, Any]) -> Any:
        """A span under the current one. Where the context was lost, under the only call there is."""
        context = None
        given = dict(attributes)
        if len(self.roots) == 1 and not _trace.get_current_span().get_span_context().is_valid:
            ((call, root),) = self.roots.items()
            context = _trace.set_span_in_context(root[0], root[1])
            given[CONTEXT_LOST] = True
            given[CALL_KEY] = call
        return self._tracers[scope].start_span(
            name, context=context, kind=_trace.SpanKind[kind], attributes=given, record_exception=False
        )


_trace: Any = None
_context: Any = None
_succeeded: Any = None
"""OpenTelemetry's, from the first recorder on: importing them again for each span is what a span costs most."""
_recorder: Recorder | None = None
_missing: str | None = None


def recorder() -> Recorder | None:
    """The recorder, made at its first use; None when tracing is off or OpenTelemetry is not installed."""
    if _recorder is not None:
        return _recorder if state.is_on() else None
    if not state.is_on() or _missing is not None:
        return None
    with _lock:
        return _recorder or _make()


def missing() -> str | None:
    """Why no spans can be made although they are wanted."""
    return _missing


def peek() -> Recorder | None:
    """The recorder if it was made already."""
    return _recorder


def _make() -> Recorder | None:
    global _recorder, _missing, _trace, _context, _succeeded
    try:
        from opentelemetry import context, trace
        from opentelemetry.sdk.trace import TracerProvider

        from agentic_rl_tui.core.tracing.otel import Ids, Outgoing
    except ImportError as error:
        _missing = f"OpenTelemetry is not installed in this interpreter ({error.name or error})"
        return None
    _trace, _context, _succeeded = trace, context, trace.Status(trace.StatusCode.OK)
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(id_generator=Ids(), shutdown_on_exit=False)
        trace.set_tracer_provider(provider)
    _recorder = Recorder(provider)
    provider.add_span_processor(Outgoing(_recorder))
    from agentic_rl_tui.core.tracing import threads

    threads.carry_context()
    return _recorder


class current:  # noqa: N801 - used like a function
    """Makes a span the current one inside the block, without ending it or noting errors on it."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Any) -> None:
        self._span = span

    def __enter__(self) -> None:
        self._token = _context.attach(_trace.set_span_in_context(self._span))

    def __exit__(self, *_error: object) -> None:
        _context.detach(self._token)


def fail(span: Any, error: BaseException) -> None:
    """Mark a span with the error that ended it."""
    from opentelemetry.trace import Status, StatusCode

    from agentic_rl_tui.core.tracing.payload import cut

    words = str(error)
    message = cut(f"{type(error).__name__}: {words}" if words else type(error).__name__, 4096)
    span.set_status(Status(StatusCode.ERROR, message))
    span.set_attribute("error.type", type(error).__qualname__)
    span.record_exception(error)


def succeed(span: Any) -> None:
    if getattr(getattr(span, "status", None), "status_code", None) is not _trace.StatusCode.ERROR:
        span.set_status(_succeeded)


def random_id(bits: int) -> int:
    """Apart from `random`, which user code seeds the same in every worker."""
    while True:
        found = secrets.randbits(bits)
        if found:
            return found


def send(call: int, make: Make, *, is_urgent: bool = False) -> None:
    if use.sink is not None:
        use.sink(call, make, is_urgent)


def call_of(span: Any) -> int:
    attributes = getattr(span, "attributes", None) or {}
    marked = attributes.get(CALL_KEY)
    return int(marked) if isinstance(marked, int) else current_call.get()
