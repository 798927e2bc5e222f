"""Where a collector is, by the variables of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Target:
    """url takes POSTs as it is; headers go with each."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    service: str = ""
    timeout_s: float = 10.0


def target_of(*environments: Mapping[str, str]) -> Target | None:
    """The collector that the first environment with an endpoint names; None without one.

    The traces endpoint is used as it is; to the general one ``/v1/traces`` is appended, as the specification has it.
    """
    for given in environments:
        url = given.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        base = given.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
        if not url and base:
            url = f"{base.rstrip('/')}/v1/traces"
        if url:
            headers = _headers(
                given.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or given.get("OTEL_EXPORTER_OTLP_HEADERS")
            )
            return Target(url, headers, given.get("OTEL_SERVICE_NAME", "").strip(), _timeout_s(given))
    return None


def _headers(text: str | None) -> tuple[tuple[str, str], ...]:
    """``key=value`` pairs with commas between them, percent-encoded."""
    pairs = [part.partition("=") for part in (text or "").split(",")]
    return tuple((name.strip().lower(), unquote(value.strip())) for name, sign, value in pairs if sign and name.strip())


def _timeout_s(given: Mapping[str, str]) -> float:
    """The variable counts milliseconds."""
    text = given.get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT") or given.get("OTEL_EXPORTER_OTLP_TIMEOUT") or ""
    try:
        return max(0.1, float(text) / 1000)
    except ValueError:
        return 10.0
