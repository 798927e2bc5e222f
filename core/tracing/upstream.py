"""The trace that a call comes from: its caller's span becomes the parent, and user code can ask for what was told."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

from agentic_rl_tui.core.tracing.state import linkage

LINKED = "agentic_rl.trace.linked"
REQUEST = "agentic_rl.upstream.trace_id"
_VENDOR = "dashscope.finetune.reinforcement.component.observability.tracing"
_log = logging.getLogger("dashscope.finetune.reinforcement")


def enter(headers: Mapping[str, str] | None) -> tuple[Any, dict[str, Any]]:
    """The context to open the outermost span in, None for the current one, and what that span says of it.

    Like the vendor's module: a ``traceparent`` that was sent counts as a link, also where it names no valid span.
    """
    if not headers:
        return None, {LINKED: 0}
    is_linked = False
    surroundings = None
    if headers.keys() - {"x-request-id"}:
        surroundings = _extracted(headers)
        is_linked = surroundings is not None and "traceparent" in headers
    request = headers.get("x-request-id")
    linkage.set((is_linked, request))
    _tell_the_vendor(is_linked, request)
    return surroundings, {LINKED: int(is_linked), **({REQUEST: request} if request else {})}


def _extracted(headers: Mapping[str, str]) -> Any:
    """Imported here: what reads the headers is looked up among all installed packages."""
    try:
        from opentelemetry.propagate import extract

        return extract(headers)
    except Exception as error:  # a propagator that OTEL_PROPAGATORS names may be absent, or anybody's
        _log.warning("the caller's trace cannot be read: %s: %s", type(error).__name__, error)
        return None


def _tell_the_vendor(is_linked: bool, request: str | None) -> None:
    """The vendor's package keeps what its ``get_upstream_trace_linkage`` says in variables of its own."""
    module = sys.modules.get(_VENDOR)
    tell = getattr(module, "set_upstream_trace_linkage", None)
    if tell is not None:
        tell(traceparent_present=is_linked, upstream_trace_id=request)
