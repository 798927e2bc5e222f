"""Where a collector is and what it wants to be sent, by the variables of OpenTelemetry."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import orjson

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.tracing import otlp, otlp_proto
from agentic_rl_tui.core.tracing.model import Run, Span

JSON, PROTOBUF = "http/json", "http/protobuf"


@dataclass(frozen=True, slots=True)
class Target:
    """url takes POSTs as it is; headers go with each. protocol is as it was given, empty for the best there is."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    service: str = ""
    timeout_s: float = 10.0
    protocol: str = ""
    is_packed: bool = False

    def body(self, traces: Sequence[tuple[Run, Sequence[Span]]]) -> tuple[bytes, dict[str, str]]:
        """What to post, and the headers that go with it. Takes its time with large traces.

        Raises ConfigError for a protocol that is not known, or not to be had here.
        """
        if self.protocol not in ("", JSON, PROTOBUF):
            raise ConfigError(
                f"OTEL_EXPORTER_OTLP_PROTOCOL={self.protocol} is not known here",
                advice=f"Set it to {PROTOBUF} or {JSON}.",
            )
        document = otlp.encode(traces, service=self.service or otlp.SERVICE)
        if self.protocol == PROTOBUF or (not self.protocol and otlp_proto.is_installed()):
            content, kind = otlp_proto.encode(document), "application/x-protobuf"
        else:
            content, kind = orjson.dumps(document, default=str), "application/json"
        headers = {**dict(self.headers), "content-type": kind}
        if self.is_packed:
            return gzip.compress(content, 6), {**headers, "content-encoding": "gzip"}
        return content, headers


def target_of(*environments: Mapping[str, str]) -> Target | None:
    """The collector that the first environment with an endpoint names; None without one.

    The traces endpoint is used as it is; to the general one ``/v1/traces`` is appended, as the specification has it.
    ``OTEL_TRACES_EXPORTER=none`` in any of them turns sending off.
    """
    if any(given.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none" for given in environments):
        return None
    for given in environments:
        url = given.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        base = given.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
        if not url and base:
            url = f"{base.rstrip('/')}/v1/traces"
        if url:
            headers = _headers(_said(given, "HEADERS"))
            return Target(
                url,
                headers,
                given.get("OTEL_SERVICE_NAME", "").strip(),
                _timeout_s(given),
                _said(given, "PROTOCOL").lower(),
                _said(given, "COMPRESSION").lower() == "gzip",
            )
    return None


def _said(given: Mapping[str, str], name: str) -> str:
    """The variable for traces alone, else the one for everything."""
    found = given.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or given.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
    return found.strip()


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """``key=value`` pairs with commas between them, percent-encoded."""
    pairs = [part.partition("=") for part in text.split(",")]
    return tuple((name.strip().lower(), unquote(value.strip())) for name, sign, value in pairs if sign and name.strip())


def _timeout_s(given: Mapping[str, str]) -> float:
    """The variable counts milliseconds."""
    try:
        return max(0.1, float(_said(given, "TIMEOUT")) / 1000)
    except ValueError:
        return 10.0
