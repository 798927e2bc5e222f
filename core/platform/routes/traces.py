"""Traces of function calls: lists, spans, export and import."""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.tracing import otlp
from agentic_rl_tui.core.tracing.store import query_of

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_MAX_IMPORT_BYTES = 256 << 20
_MAX_EXPORTED = 5_000


async def runs(request: Request, platform: "Platform") -> dict[str, Any]:
    """Runs of functions, newest first; see ``store.query_of`` for the query."""
    try:
        wanted = query_of(request.query_params)
    except ValueError as error:
        raise wire.invalid(f"The query cannot be read: {error}") from error
    await platform.traces.flush()
    reader = platform.traces.reader
    found = await asyncio.to_thread(reader.runs, wanted)
    total = await asyncio.to_thread(reader.count, wanted)
    return {"runs": [run.record() for run in found], "total": total}


async def run(request: Request, platform: "Platform") -> dict[str, Any]:
    """One run with all its spans. The id may be shortened to a start that no other run has."""
    trace_id = wire.path_id(request, "trace_id")
    await platform.traces.flush()
    found = await asyncio.to_thread(platform.traces.reader.run, trace_id)
    if found is None:
        raise NotFound(f"Trace {trace_id} not found")
    spans = await asyncio.to_thread(platform.traces.reader.spans, found.trace_id)
    return {"run": found.record(), "spans": [span.record() for span in spans]}


async def export(request: Request, platform: "Platform") -> dict[str, Any]:
    """OTLP JSON of the runs that ``ids`` names, with commas between them, or else of those that the query finds."""
    await platform.traces.flush()
    reader = platform.traces.reader

    def collect() -> dict[str, Any]:
        ids = [name for name in request.query_params.get("ids", "").split(",") if name]
        found = [reader.run(name) for name in ids] if ids else reader.runs(query_of(request.query_params))
        missing = [name for name, item in zip(ids, found, strict=False) if item is None]
        if missing:
            raise NotFound(f"Trace {missing[0]} not found")
        return otlp.encode([(item, reader.spans(item.trace_id)) for item in found[:_MAX_EXPORTED] if item is not None])

    return await asyncio.to_thread(collect)


async def take(request: Request, platform: "Platform") -> dict[str, Any]:
    """Keep what an OTLP JSON body holds."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_IMPORT_BYTES:
            raise wire.too_large(f"The body is larger than {_MAX_IMPORT_BYTES} bytes")
    found = await asyncio.to_thread(otlp.decode, bytes(body))
    await platform.traces.save(found)
    return {"imported": len(found), "trace_ids": [item.trace_id for item, _ in found]}


routes: list[BaseRoute] = [
    wire.endpoint("/local/v1/traces", get=runs, post=take),
    wire.endpoint("/local/v1/traces/export", get=export),
    wire.endpoint("/local/v1/traces/{trace_id}", get=run),
]
