"""What a caller says of the trace that its call belongs to: four headers, kept as they are on the way to the worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Upstream = Mapping[str, str]
"""By the names of the headers, in lower case."""

_NAMES = {name.encode(): name for name in ("traceparent", "tracestate", "baggage", "x-request-id")}
_LISTS = frozenset({b"tracestate", b"baggage"})
"""Headers that may come in several pieces."""


def upstream_of(headers: Iterable[tuple[bytes, bytes]]) -> Upstream | None:
    """From the headers of an ASGI scope, whose names are in lower case. None where nothing is said."""
    found: dict[str, str] | None = None
    for key, value in headers:
        if key not in _NAMES:
            continue
        found, name, text = found or {}, _NAMES[key], value.decode("latin-1")
        if name not in found:
            found[name] = text
        elif key in _LISTS:
            found[name] += f",{text}"
    return found
