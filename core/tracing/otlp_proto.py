"""OTLP as protobuf, made of the JSON form. Needs the extra ``otlp``; everything else works without it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.tracing.model import Record

_REQUEST = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
_IDS = ("traceId", "spanId", "parentSpanId")


@cache
def is_installed() -> bool:
    try:
        _parts()
    except ImportError:
        return False
    return True


def _parts() -> tuple[Any, Any]:
    return import_module("google.protobuf.json_format").ParseDict, import_module(_REQUEST).ExportTraceServiceRequest


def encode(document: Record) -> bytes:
    """The bytes of an export request; the ids in the document are changed. Raises ConfigError without the extra."""
    try:
        parse, request = _parts()
    except ImportError as error:
        raise ConfigError(
            f"OTLP as protobuf needs opentelemetry-proto, which is not installed ({error.name or error})",
            advice="Run: pip install 'agentic-rl-tui[otlp]'. Or set OTEL_EXPORTER_OTLP_PROTOCOL=http/json.",
        ) from error
    for span in _spans(document):
        for name in _IDS:
            if span.get(name):
                # Collectors read hex in JSON, the mapping of protobuf reads base64.
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    encoded: bytes = parse(document, request()).SerializeToString()
    return encoded


def _spans(document: Record) -> Iterator[Record]:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope["spans"]
