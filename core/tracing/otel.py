"""The parts that plug into OpenTelemetry's SDK. Importing this imports the SDK."""

from __future__ import annotations

from typing import Any

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator

from agentic_rl_tui.core.tracing.recorder import BAGGAGE, CALL_KEY, Recorder, call_of, random_id, send
from agentic_rl_tui.core.tracing.state import Record


class Ids(IdGenerator):
    def generate_span_id(self) -> int:
        return random_id(64)

    def generate_trace_id(self) -> int:
        return random_id(128)


class Outgoing(SpanProcessor):
    """Copies the ids from the baggage onto every span, and sends each at its beginning and at its end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._begun: dict[int, tuple[int, Record]] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        carried = baggage.get_all(parent_context)
        if carried:
            known = span.attributes or {}
            ids = {key: str(carried[key]) for key in BAGGAGE if key in carried and key not in known}
            if ids:
                span.set_attributes(ids)
        call = call_of(span)
        spans = self._recorder.open.get(call)
        if spans is not None:
            spans[span.context.span_id] = span
        record = record_of(span)
        self._begun[span.context.span_id] = call, record["attributes"]
        send(call, {"type": "begun", **record})

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is None:
            return
        call, told = self._begun.pop(context.span_id, (0, {}))
        spans = self._recorder.open.get(call)
        if spans is not None:
            spans.pop(context.span_id, None)
        record = record_of(span)
        # What was sent at the beginning is not sent again; whoever collects puts the two together.
        record["attributes"] = {key: value for key, value in record["attributes"].items() if told.get(key) is not value}
        send(call, {"type": "span", **record})


def record_of(span: ReadableSpan) -> Record:
    """A span as plain data. Times in nanoseconds since the epoch, ids in hex."""
    context, parent = span.context, span.parent
    assert context is not None
    attributes = dict(span.attributes or {})
    attributes.pop(CALL_KEY, None)
    scope = span.instrumentation_scope
    return {
        "trace_id": f"{context.trace_id:032x}",
        "span_id": f"{context.span_id:016x}",
        "parent_id": None if parent is None else f"{parent.span_id:016x}",
        "name": span.name,
        "kind": span.kind.name,
        "start_ns": span.start_time or 0,
        "end_ns": span.end_time,
        "attributes": attributes,
        "events": [
            {"name": event.name, "time_ns": event.timestamp, "attributes": dict(_items(event.attributes))}
            for event in span.events
        ],
        "status": span.status.status_code.name,
        "message": span.status.description or "",
        "scope": "" if scope is None else scope.name,
    }


def _items(attributes: Any) -> list[tuple[str, Any]]:
    return list((attributes or {}).items())
