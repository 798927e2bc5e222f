"""Traces of function calls: lists, spans, export and import."""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.tracing import otlp
from agentic_rl_tui.core.tracing.model import Run
from agentic_rl_tui.core.tracing.store import TraceReader, query_of

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_MAX_IMPORT_BYTES = 256 << 20
_MAX_EXPORTED = 5_000
_TOLD = 6


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
    """One run with all its spans, by the id of the run or of its trace, or a start of one that no other has."""
    name = wire.path_id(request, "trace_id")
    await platform.traces.flush()
    found = await asyncio.to_thread(_one, platform.traces.reader, name)
    spans = await asyncio.to_thread(platform.traces.reader.spans, found)
    return {"run": found.record(), "spans": [span.record() for span in spans]}


async def export(request: Request, platform: "Platform") -> dict[str, Any]:
    """OTLP JSON of the runs that ``ids`` names, with commas between them, or else of those that the query finds."""
    await platform.traces.flush()
    reader = platform.traces.reader

    def collect() -> dict[str, Any]:
        ids = [name for name in request.query_params.get("ids", "").split(",") if name]
        found = [item for name in ids for item in _meant(reader, name)] or reader.runs(query_of(request.query_params))
        runs = {item.key: item for item in found[:_MAX_EXPORTED]}
        return otlp.encode([(item, reader.spans(item)) for item in runs.values()])

    return await asyncio.to_thread(collect)


def _one(reader: TraceReader, name: str) -> Run:
    """Raises NotFound, and Rejected where several runs are meant."""
    found = reader.find(name)
    if not found:
        raise NotFound(f"Trace {name} not found")
    if len(found) > 1:
        told = ", ".join(f"{item.run_id} ({item.function or item.kind})" for item in found[:_TOLD])
        more = " and others" if len(found) > _TOLD else ""
        raise wire.invalid(f"{name} fits several runs: {told}{more}; give the id of one")
    return found[0]


def _meant(reader: TraceReader, name: str) -> list[Run]:
    """All runs of a trace that is named whole, else the one that is meant. Raises like `_one`."""
    found = reader.find(name)
    return found if found and all(item.trace_id == name for item in found) else [_one(reader, name)]


async def take(request: Request, platform: "Platform") -> dict[str, Any]:
    """Keep what an OTLP JSON body holds."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_IMPORT_BYTES:
            raise wire.too_large(f"The body is larger than {_MAX_IMPORT_BYTES} bytes")
    found = await asyncio.to_thread(otlp.decode, bytes(body))
    await platform.traces.save(found)
    return {
        "imported": len(found),
        "trace_ids": [item.trace_id for item, _ in found],
        "run_ids": [item.run_id for item, _ in found],
    }


routes: list[BaseRoute] = [
    wire.endpoint("/local/v1/traces", get=runs, post=take),
    wire.endpoint("/local/v1/traces/export", get=export),
    wire.endpoint("/local/v1/traces/{trace_id}", get=run),
]
