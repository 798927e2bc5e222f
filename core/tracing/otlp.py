"""OTLP in JSON, as collectors take it and as files hold it: writing, and reading what anybody wrote."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.tracing import reasons
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Record, Run, Span, outermost

SERVICE = "agentic-rl-function"
_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")
_RUN_KEY = "agentic_rl.run"
_INT64 = 1 << 63
_ENDLESS = {float("inf"): "Infinity", float("-inf"): "-Infinity"}


def encode(traces: Iterable[tuple[Run, Sequence[Span]]], *, service: str = SERVICE) -> Record:
    """The body of an export request; each run is a resource of its own, which keeps what a list shows of it."""
    return {"resourceSpans": [_resource(run, spans, service) for run, spans in traces]}


def _resource(run: Run, spans: Sequence[Span], service: str) -> Record:
    attributes: dict[str, Any] = {"service.name": service, _RUN_KEY: json.dumps(run.record(), ensure_ascii=False)}
    for name in ("function", "job_id"):
        if getattr(run, name):
            attributes[f"agentic_rl.{name}"] = getattr(run, name)
    ordered = sorted(spans, key=lambda span: span.scope)
    return {
        "resource": {"attributes": _attributes(attributes)},
        "scopeSpans": [
            {"scope": {"name": scope}, "spans": [_span(span) for span in group]}
            for scope, group in groupby(ordered, key=lambda span: span.scope)
        ],
    }


def _span(span: Span) -> Record:
    found: Record = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": _text(span.name),
        "kind": _KINDS.index(span.kind) if span.kind in _KINDS else 1,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns or span.start_ns),
        "attributes": _attributes(span.attributes),
        "events": [
            {
                "name": _text(event.get("name", "")),
                "timeUnixNano": str(event.get("time_ns", 0)),
                "attributes": _attributes(event.get("attributes") or {}),
            }
            for event in span.events
        ],
        "status": {"code": _STATUSES.index(span.status) if span.status in _STATUSES else 0},
    }
    if span.message:
        found["status"]["message"] = _text(span.message)
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    return found


def _attributes(values: Mapping[str, Any]) -> list[Record]:
    return [{"key": _text(key), "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> Record:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _ENDLESS.get(value, "NaN")}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _attributes(value)}}
    return {"stringValue": "" if value is None else _text(value)}


def _text(value: Any) -> str:
    """Without halves of characters, which no encoding takes."""
    return str(value).encode("utf-8", "replace").decode()


def decode(text: str | bytes) -> list[tuple[Run, tuple[Span, ...]]]:
    """The runs in an export: one document, or one a line as file exporters write them. Raises InputError.

    Runs of ours stay apart also where they belong to one trace; of what others wrote, a trace is a run.
    """
    spans: dict[tuple[str, str], dict[str, Span]] = {}
    runs: dict[tuple[str, str], Run] = {}
    for document in _documents(text):
        for resource in _list(document, "resourceSpans", "resource_spans"):
            run = _run_of(_plain(_list(resource.get("resource") or {}, "attributes")))
            for scope in _list(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                name = _scope_name(scope)
                for raw in _list(scope, "spans"):
                    span = _read_span(raw, name)
                    is_its_own = run is not None and run.trace_id == span.trace_id
                    key = span.trace_id, run.run_id if run is not None and is_its_own else ""
                    spans.setdefault(key, {})[span.span_id] = span
                    if run is not None and is_its_own:
                        runs.setdefault(key, run)
    found = []
    for key, group in spans.items():
        ordered = tuple(sorted(group.values(), key=lambda span: span.start_ns))
        known = runs.get(key) or Run.over(ordered, source="import", **_named(ordered))
        if not _fits(known):
            raise InputError(_("a span cannot be read: {error}").format(error="a number is out of range"))
        found.append((replace(known, run_id=known.run_id or outermost(ordered).span_id), ordered))
    if not found:
        raise InputError(_("the file holds no spans"), advice=_("Give an export in OTLP JSON: a resourceSpans object."))
    return found


def _named(spans: Sequence[Span]) -> dict[str, Any]:
    root = outermost(spans)
    return {
        "function": root.name,
        "status": "raised" if root.is_error else "ok",
        "detail": root.message,
        "completeness": _as_far_as_known(spans),
    }


def _as_far_as_known(spans: Sequence[Span]) -> Completeness:
    """Nobody counted the calls of a foreign program: there were as many as there are spans, or more."""
    roles = Counter(span.role for span in spans)
    llm, tools = roles["LLM"], roles["TOOL"]
    return Completeness(Counted(llm, llm), Counted(tools, tools), (reasons.FOREIGN,))


def _run_of(facts: Mapping[str, Any]) -> Run | None:
    """What one of our own exports says of the run that a resource stands for."""
    if not isinstance(facts.get(_RUN_KEY), str):
        return None
    try:
        run = Run.of(json.loads(facts[_RUN_KEY]))
        is_whole = isinstance(run.trace_id, str) and isinstance(run.run_id, str) and _fits(run)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return run if is_whole else None


def _fits(run: Run) -> bool:
    """Whether a database keeps every value of a run. Raises ValueError for halves of characters."""
    json.dumps(run.record(), ensure_ascii=False).encode()
    return all(abs(value) < _INT64 for value in run.record().values() if isinstance(value, int | float))


def _documents(text: str | bytes) -> Iterator[Mapping[str, Any]]:
    try:
        try:
            yield _mapping(json.loads(text))
        except ValueError:
            lines = text.splitlines()
            if len(lines) < 2:
                raise
            for line in lines:
                if line.strip():
                    yield _mapping(json.loads(line))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(_("the file is no OTLP JSON: {error}").format(error=error)) from error


def _mapping(document: Any) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise ValueError("a document is no object")
    return document


def _scope_name(holder: Mapping[str, Any]) -> str:
    scope = holder.get("scope")
    return _text(scope.get("name", "")) if isinstance(scope, Mapping) else ""


def _list(holder: Any, *names: str) -> list[Any]:
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else None
        if isinstance(value, list):
            return [item for item in value if isinstance(item, Mapping)]
    return []


def _read_span(raw: Mapping[str, Any], scope: str) -> Span:
    try:
        trace_id, span_id = _text(raw["traceId"]).lower(), _text(raw["spanId"]).lower()
        start, end = _moment(raw["startTimeUnixNano"]), _moment(raw.get("endTimeUnixNano"))
        status = raw.get("status") or {}
        return Span(
            trace_id,
            span_id,
            _text(raw.get("parentSpanId") or "").lower() or None,
            _text(raw.get("name", "")),
            _word(raw.get("kind", 1), _KINDS, "SPAN_KIND_"),
            start,
            end or None,
            _plain(_list(raw, "attributes")),
            tuple(
                {
                    "name": _text(event.get("name", "")),
                    "time_ns": _moment(event.get("timeUnixNano")),
                    "attributes": _plain(_list(event, "attributes")),
                }
                for event in _list(raw, "events")
            ),
            _word(status.get("code", 0), _STATUSES, "STATUS_CODE_"),
            _text(status.get("message", "")),
            scope,
        )
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            _("a span cannot be read: {error}").format(error=f"{type(error).__name__}: {error}")
        ) from error


def _moment(value: Any) -> int:
    """Nanoseconds. Raises ValueError for more than a database keeps."""
    found = int(value or 0)
    if abs(found) >= _INT64:
        raise ValueError("a time is out of range")
    return found


def _word(code: Any, words: Sequence[str], prefix: str) -> str:
    """Enumerations come as numbers or as their names."""
    if isinstance(code, int):
        return words[code] if 0 <= code < len(words) else words[0]
    name = str(code).removeprefix(prefix)
    return name if name in words else words[0]


def _plain(attributes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {_text(item.get("key")): _read(item.get("value")) for item in attributes}


def _read(value: Any) -> Any:
    if not isinstance(value, Mapping) or not value:
        return None
    name, inner = next(iter(value.items()))
    if name in ("intValue", "doubleValue"):
        try:
            return int(inner) if name == "intValue" else float(inner)
        except (TypeError, ValueError, OverflowError):
            return None
    if name == "arrayValue":
        return [_read(item) for item in _list(inner, "values")]
    if name == "kvlistValue":
        return _plain(_list(inner, "values"))
    return _text(inner) if isinstance(inner, str) else inner
