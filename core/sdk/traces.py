"""The traces that the local platform keeps. Other profiles keep theirs in the service's own console."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentic_rl_tui.core.client.transport import Request, Transport, checked_id
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.tracing.model import Run, Span

_ADDRESS = "//local/v1/traces"
_LONG_S = 300.0


async def list_traces(transport: Transport, **query: Any) -> tuple[list[Run], int]:
    """Runs, newest first, and how many there are in all. query: see ``core.tracing.store.query_of``."""
    body = await _get(transport, _ADDRESS, {key: value for key, value in query.items() if value not in (None, "", 0)})
    return [Run.of(record) for record in body.get("runs", ())], int(body.get("total", 0))


async def read_trace(transport: Transport, trace_id: str) -> tuple[Run, list[Span]]:
    """One run and its spans, by the id of the run or of its trace, or a start of one. Raises NotFound.

    Raises Rejected where several runs are meant; the key of a run always means one.
    """
    body = await _get(transport, f"{_ADDRESS}/{checked_id(trace_id, N_('trace id'))}")
    return Run.of(body["run"]), [Span.of(record) for record in body["spans"]]


async def export_traces(transport: Transport, trace_ids: Iterable[str] = (), **query: Any) -> bytes:
    """OTLP JSON of the given runs and traces, or of the runs that the query finds."""
    given = {"ids": ",".join(trace_ids)} | query
    body = await _get(transport, f"{_ADDRESS}/export", {key: value for key, value in given.items() if value})
    return json.dumps({"resourceSpans": body["resourceSpans"]}, ensure_ascii=False, indent=1).encode()


async def import_traces(transport: Transport, content: bytes) -> list[str]:
    """Keep the runs of an OTLP JSON document; gives their run ids. Raises Rejected for anything else."""
    _check_local(transport)
    request = Request("POST", _ADDRESS, content=content, headers={"content-type": "application/json"}, limit_s=_LONG_S)
    body = (await transport.call(request)).body
    return [str(run_id) for run_id in _mapping(body).get("run_ids", ())]


async def _get(transport: Transport, target: str, query: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    _check_local(transport)
    return _mapping((await transport.call(Request("GET", target, query=query, limit_s=_LONG_S))).body)


def _mapping(body: Any) -> Mapping[str, Any]:
    return body if isinstance(body, Mapping) else {}


def _check_local(transport: Transport) -> None:
    if not transport.profile.is_local:
        raise ConfigError(
            _("traces of this profile are kept by the service"),
            advice=_("Read them in its console (ARMS); `--profile local` shows those of the local platform."),
        )
