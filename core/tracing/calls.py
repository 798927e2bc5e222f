"""One call of a function as a trace: its outermost span, and what is left open at its end. For serving calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl_tui.core.tracing import upstream, watch
from agentic_rl_tui.core.tracing.messages import field
from agentic_rl_tui.core.tracing.payload import cut
from agentic_rl_tui.core.tracing.processors import ids_of
from agentic_rl_tui.core.tracing.recorder import (
    BAGGAGE,
    PROCESSOR_SCOPE,
    UNFINISHED,
    Recorder,
    missing,
    recorder,
    succeed,
)
from agentic_rl_tui.core.tracing.state import Sink, current_call, is_on, is_wanted, use

_NOT_SAMPLED = "the call was not to be sampled, as its traceparent or OTEL_TRACES_SAMPLER says"
_ANSWERED = {"ok": "success", "failed": "failed"}


def attach(sink: Sink) -> None:
    """Send the records of this process to `sink` from here on."""
    use.sink = sink


def prepare() -> None:
    """Load what a traced call needs, so that the first is no slower than the others; nothing when tracing is off."""
    if is_on() and recorder() is not None:
        watch.install()


class TracedCall:
    """Between `begin` and `end` the outermost span is the current one of its context."""

    def __init__(self, made: Recorder, call_id: int, span: Any) -> None:
        self._made = made
        self._call_id = call_id
        self._span = span

    def end(self, status: str = "ok", error: tuple[str, str] | None = None) -> None:
        """End the span, and those inside that nobody ended.

        status: how the call ended, ``ok`` and ``failed`` being answers. error: type and message of what went wrong.
        """
        self._made.roots.pop(self._call_id, None)
        left = self._made.open.pop(self._call_id, {})
        for span in list(left.values()):
            if span is not self._span and span.is_recording():
                span.set_attribute(UNFINISHED, "it was open when the call ended")
                span.end()
        if status in _ANSWERED:
            self._span.set_attribute("agentic_rl.result.status", _ANSWERED[status])
            succeed(self._span)
        else:
            from opentelemetry.trace import Status, StatusCode

            kind, message = error or (status, "")
            self._span.set_attribute("error.type", kind)
            self._span.set_status(Status(StatusCode.ERROR, cut(f"{kind}: {message}", 4096)))
        self._span.end()


def begin(call_id: int, input_data: Any, headers: Mapping[str, str] | None = None) -> TracedCall | None:
    """Open the trace of a call in the current context, which has to be the call's own. None when tracing is off.

    headers: what the caller said of its own trace.
    """
    current_call.set(call_id)
    if not use.is_used and is_wanted() is not True:
        return None
    made = recorder()
    if made is None:
        reason = missing()
        if reason is not None:
            use.note("missing", reason=reason)
        return None
    from opentelemetry import baggage, context, trace

    watch.install()
    ids = ids_of(field(input_data, "request_metadata"))
    given, told = upstream.enter(headers)
    surroundings = context.get_current() if given is None else given
    for key in ids.keys() & set(BAGGAGE):
        surroundings = baggage.set_baggage(key, ids[key], surroundings)
    attributes: dict[str, Any] = {
        "gen_ai.span.kind": "CHAIN",
        "gen_ai.operation.name": "invoke_agentic_rl",
        "gen_ai.user.query_root_flag": 1,
        **told,
        **ids,
    }
    made.open[call_id] = {}
    span = made.tracer(PROCESSOR_SCOPE).start_span(
        "invoke_agentic_rl", context=surroundings, kind=trace.SpanKind.INTERNAL, attributes=attributes
    )
    context.attach(trace.set_span_in_context(span, surroundings))
    made.roots[call_id] = (span, surroundings)
    use.note("facts", **use.facts())
    if not span.is_recording():
        use.note("missing", reason=_NOT_SAMPLED)
    return TracedCall(made, call_id, span)
