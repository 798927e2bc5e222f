"""The parts that plug into OpenTelemetry's SDK. Importing this imports the SDK."""

from __future__ import annotations

from typing import Any

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator

from agentic_rl_tui.core.tracing.recorder import BAGGAGE, CALL_KEY, Recorder, call_of, random_id, send
from agentic_rl_tui.core.tracing.state import Record

_DARING = frozenset({"TOOL", "ROLLOUT", "REWARD", "GROUP_REWARD"})
"""Kinds of spans in which user code runs, which may take the process down."""


class Ids(IdGenerator):
    def generate_span_id(self) -> int:
        return random_id(64)

    def generate_trace_id(self) -> int:
        return random_id(128)


class Outgoing(SpanProcessor):
    """Copies the ids from the baggage onto every span, and sends each at its beginning and at its end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._begun: dict[int, _Begun] = {}

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
        begun = self._begun[span.context.span_id] = _Begun(span, call)
        send(call, begun.record, is_urgent=(span.attributes or {}).get("gen_ai.span.kind") in _DARING)

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is None:
            return
        begun = self._begun.pop(context.span_id, None)
        if begun is None:
            return
        begun.is_over = True
        spans = self._recorder.open.get(begun.call)
        if spans is not None:
            spans.pop(context.span_id, None)
        send(begun.call, lambda: begun.ended(span))


class _Begun:
    """A span under way, until its records have left."""

    __slots__ = ("_span", "_told", "call", "is_over")

    def __init__(self, span: Span, call: int) -> None:
        self.call = call
        self.is_over = False
        self._span = span
        self._told: Record = {}

    def record(self) -> Record | None:
        """What is known at the beginning; None once the end is known too."""
        if self.is_over:
            return None
        record = record_of(self._span)
        self._told = record["attributes"]
        return {"type": "begun", **record}

    def ended(self, span: ReadableSpan) -> Record:
        """The whole span, but for what was told at its beginning; whoever collects puts the two together."""
        record = record_of(span)
        told = self._told
        if told:
            attributes = record["attributes"].items()
            record["attributes"] = {key: value for key, value in attributes if told.get(key) is not value}
        return {"type": "span", **record}


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
