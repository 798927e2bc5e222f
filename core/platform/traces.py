"""Traces on their way from the functions to the disk and to a collector. Nothing here can hold up or harm a job."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces_export import TraceExport
from agentic_rl_tui.core.tracing.collect import Tally, judge, link, spans_of, tool_results
from agentic_rl_tui.core.tracing.export import Target, target_of
from agentic_rl_tui.core.tracing.model import Run, Span
from agentic_rl_tui.core.tracing.store import TraceReader, TraceStore

_log = logging.getLogger(__name__)

MAX_QUEUED = 2_000
"""Traces that wait to be written, or sent to one collector; further ones are dropped and counted."""
_BATCH = 64
_WRITE_EVERY_S = 0.2
_PRUNE_EVERY_S = 300.0
_OFF = frozenset({"false", "0", "no", "off"})

Trace = tuple[Run, Sequence[Span]]


class TraceKeeper:
    """In: ends of calls. Out: a store below `folder`, sums a job, exports.

    calls_of: gives the model calls of the rollout with a key as the ids of the spans they came from, empty where a
    call named none; None where nobody counted.
    """

    def __init__(self, folder: Path, tasks: Tasks, *, max_age_s: float, max_bytes: int) -> None:
        self.folder = folder
        self.reader = TraceReader(folder)
        self.calls_of: Callable[[str], Sequence[str] | None] = lambda _key: None
        self.dropped = 0
        self._told_dropped = 0
        self._tasks = tasks
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._store: TraceStore | None = None
        self._queue: deque[Trace] = deque()
        self._wake = asyncio.Event()
        self._tallies: dict[str, Tally] = {}
        self._exports: dict[Target, TraceExport] = {}
        self._is_writing = asyncio.Lock()
        self._is_opening = asyncio.Lock()

    def start(self) -> None:
        self._tasks.start(self._write_always())
        self._tasks.start(self._prune_always())

    async def stop(self) -> None:
        """Write what waits; give collectors a moment."""
        await self.flush()
        await asyncio.gather(*(export.stop() for export in self._exports.values()))
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
            self._store = None

    def take(
        self,
        payload: Mapping[str, Any],
        result: CallResult,
        *,
        function: str,
        kind: str,
        env: Mapping[str, str],
        job_id: str = "",
        source: str = "call",
    ) -> None:
        """Keep the trace of a call that ended. Returns at once, whatever becomes of it."""
        if not result.trace and kind != "rollout":
            return
        try:
            self._take(payload, result, function=function, kind=kind, env=env, job_id=job_id, source=source)
        except Exception:
            _log.exception("the trace of a call of %s cannot be kept", function)

    def _take(
        self,
        payload: Mapping[str, Any],
        result: CallResult,
        *,
        function: str,
        kind: str,
        env: Mapping[str, str],
        job_id: str,
        source: str,
    ) -> None:
        detail = "" if result.is_ok else _detail(result)
        spans = spans_of(result.trace, ended=detail or None)
        key = (payload.get("model_resource") or {}).get("api_key")
        completeness = judge(
            result.trace,
            spans,
            model_calls=self.calls_of(key) if isinstance(key, str) else None,
            tool_results=_new_tool_results(payload, result),
            is_forbidden=env.get("ENABLE_TRAJECTORY", "").strip().lower() in _OFF,
        )
        if job_id and kind == "rollout":
            self._tallies.setdefault(job_id, Tally()).add(completeness)
        if not spans:
            return
        spans = link(spans, completeness)
        metadata = payload.get("request_metadata") or {}
        run = Run.over(
            spans,
            function=function,
            kind=kind,
            source=source,
            job_id=job_id or str(metadata.get("job_id") or ""),
            status=result.status.value,
            detail=detail,
            completeness=completeness,
            **{name: str(metadata.get(name) or "") for name in ("rollout_id", "sample_id", "attempt_id")},
        )
        self.keep(run, spans)
        target = target_of(env, os.environ)
        if target is not None and not _exports_itself(result):
            export = self._export(target)
            export.add((run, spans))
            if export.fault and job_id in self._tallies:
                self._tallies[job_id].notes[export.fault] = None

    def keep(self, run: Run, spans: Sequence[Span]) -> None:
        if len(self._queue) >= MAX_QUEUED:
            self.dropped += 1
            return
        self._queue.append((run, spans))
        self._wake.set()

    async def save(self, traces: Sequence[Trace]) -> None:
        """Write traces now. Raises what the disk says."""
        store = await self._opened()
        await asyncio.to_thread(store.add, traces)

    def tally(self, job_id: str) -> Tally | None:
        """How complete the traces of a job's rollouts are; None before the first."""
        return self._tallies.get(job_id)

    def forget(self, job_id: str) -> None:
        self._tallies.pop(job_id, None)

    async def remove_job(self, job_id: str) -> None:
        self.forget(job_id)
        await self.flush()
        store = await self._opened()
        await asyncio.to_thread(store.remove_job, job_id)

    # Writing

    async def _opened(self) -> TraceStore:
        async with self._is_opening:
            if self._store is None:
                self._store = await asyncio.to_thread(TraceStore, self.folder)
            return self._store

    async def flush(self) -> None:
        """Write everything that waits. What the disk refuses is dropped and told of."""
        async with self._is_writing:
            if self._store is None and self.reader.exists:
                await self._bring_up_to_date()
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
                try:
                    store = await self._opened()
                    await asyncio.to_thread(store.add, batch)
                except Exception as error:
                    self.dropped += len(batch)
                    _log.warning("%d traces cannot be written: %s", len(batch), error)
        if self.dropped > self._told_dropped:
            self._told_dropped = self.dropped
            _log.warning("%d traces were dropped so far", self.dropped)

    async def _bring_up_to_date(self) -> None:
        """Whoever reads after a flush finds the tables of this release."""
        try:
            await self._opened()
        except Exception as error:
            _log.warning("the traces that were kept cannot be opened: %s", error)

    async def _write_always(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(_WRITE_EVERY_S)
            self._wake.clear()
            await self.flush()

    async def prune(self) -> None:
        """Remove what is too old or too much."""
        if self.reader.exists:
            store = await self._opened()
            await asyncio.to_thread(store.prune, max_age_s=self._max_age_s, max_bytes=self._max_bytes)

    async def _prune_always(self) -> None:
        while True:
            try:
                await self.prune()
            except Exception as error:
                _log.warning("old traces cannot be removed: %s", error)
            await asyncio.sleep(_PRUNE_EVERY_S)

    def _export(self, target: Target) -> TraceExport:
        export = self._exports.get(target)
        if export is None:
            export = self._exports[target] = TraceExport(target)
            self._tasks.start(export.run())
        return export


def _detail(result: CallResult) -> str:
    message = result.error.message if result.error is not None else result.status.value
    if result.status is CallStatus.TIMEOUT:
        return f"timed out: {message}"
    return message


def _new_tool_results(payload: Mapping[str, Any], result: CallResult) -> int:
    """Answers of tools that the rollout added to the conversation it was given."""
    output = (result.output or {}).get("agent_output")
    after = tool_results(output.get("messages")) if isinstance(output, Mapping) else 0
    return max(0, after - tool_results(payload.get("messages")))


def _exports_itself(result: CallResult) -> bool:
    """Whether the vendor's own module ran there: it sends its spans by itself."""
    return any(record.get("type") == "facts" and record.get("api") == "real" for record in result.trace)
