"""The backend that speaks through the SDK. Importing this imports the SDK: do it off the first frame."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

from agentic_rl_tui.app.backend import HealthFacts, LogChunk, LogNote, StepNews
from agentic_rl_tui.core.client.transport import Request, checked_id
from agentic_rl_tui.core.functions.harness_inputs import ModelResource
from agentic_rl_tui.core.functions.harness_report import ModelCall
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.models.jobs import Job, JobPage, LogPage
from agentic_rl_tui.core.models.processors import ProcessorInfo
from agentic_rl_tui.core.sdk import AgenticRL, events
from agentic_rl_tui.core.sdk.clone import Cloned, Start
from agentic_rl_tui.core.sdk.compare import JobComparison
from agentic_rl_tui.core.sdk.deploy import Deployment, deploy, deployments, remove_instance
from agentic_rl_tui.core.sdk.origins import Origin
from agentic_rl_tui.core.sdk.traces import export_traces, import_traces, list_traces, read_trace
from agentic_rl_tui.core.settings import Settings
from agentic_rl_tui.core.tracing.model import Run, Span

_SERVICE_ZONE = timezone(timedelta(hours=8))


class SdkBackend:
    """One client for the whole life of the app; submissions get a client of their own, bound to their file."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = AgenticRL(settings=settings)
        local = datetime.now(UTC).astimezone().tzinfo or UTC
        self.zone: tzinfo = local if settings.profile.is_local else _SERVICE_ZONE

    async def health(self) -> HealthFacts:
        health = await self._client.health()
        return HealthFacts(health.state, health.detail)

    async def jobs(self, page_no: int, page_size: int) -> JobPage:
        return await self._client.list(page_no=page_no, page_size=page_size)

    async def job(self, job_id: str) -> Job:
        return await self._client.get(job_id)

    async def follow(
        self, job_id: str, offset: int = 0, pause: Callable[[float], Awaitable[None]] | None = None
    ) -> AsyncIterator[LogChunk | LogNote]:
        async for item in self._client.follow(job_id, offset=offset, pause=pause):
            if isinstance(item, LogPage):
                yield LogChunk(item.offset, item.lines, item.total)
            else:
                yield LogNote(item.text, is_trouble=item.kind == "reconnecting")

    async def log_size(self, job_id: str) -> int:
        return (await self._client.logs(job_id, lines=1)).total

    async def cancel(self, job_id: str) -> None:
        await self._client.cancel(job_id)

    async def delete(self, job_id: str) -> None:
        await self._client.delete(job_id)

    async def submit(self, job_file: Path, on_news: Callable[[StepNews], None]) -> Job:
        async with AgenticRL(settings=self._settings) as client:
            return await client.init(job_file).run(on_event=lambda event: _tell(event, on_news))

    async def report(self, job_id: str) -> dict[str, Any] | None:
        return await self._own(f"//local/v1/jobs/{checked_id(job_id)}/report")

    async def trajectories(
        self, job_id: str, *, step: int | None = None, sample: int | None = None, phase: str = "train"
    ) -> dict[str, Any] | None:
        given = (("step", step), ("sample", sample), ("phase", phase if step is not None else None))
        query = {name: value for name, value in given if value is not None}
        return await self._own(f"//local/v1/jobs/{checked_id(job_id)}/trajectories", query)

    async def _own(self, target: str, query: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """What only the local platform keeps of a job; None elsewhere and where it has nothing."""
        if not self._settings.profile.is_local:
            return None
        try:
            answer = await self._client.transport.call(Request("GET", target, query=query))
        except NotFound:
            return None
        return answer.body if isinstance(answer.body, dict) else None

    async def checkpoints(self, job_id: str) -> tuple[Start, ...]:
        return await self._client.checkpoints(job_id)

    async def clone(self, job_id: str, checkpoint: str | None) -> Cloned:
        return await self._client.clone(job_id, checkpoint=checkpoint)

    async def origin(self, job_id: str) -> Origin | None:
        return await asyncio.to_thread(self._client.origin, job_id)

    async def compare(self, old_id: str, new_id: str) -> JobComparison:
        return await self._client.compare(old_id, new_id)

    async def deployments(self) -> tuple[Deployment, ...]:
        return await asyncio.to_thread(deployments, self._client)

    async def deploy(
        self, info: ProcessorInfo, runtime: dict[str, Any] | None, on_news: Callable[[StepNews], None]
    ) -> Deployment:
        async with AgenticRL(settings=self._settings) as client:
            return await deploy(client, info, runtime=runtime, on_event=lambda event: _tell(event, on_news))

    async def instance_logs(self, instance_id: str) -> list[str]:
        return await self._client.query_all_function_instance_logs(instance_id)

    async def remove_instance(self, instance_id: str) -> None:
        await remove_instance(self._client, instance_id)

    async def call_instance(self, instance_id: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._client.test_functions(instance_id, kind, payload))

    async def practice_models(self, row: dict[str, Any], row_index: int, rollouts: int) -> list[ModelResource] | None:
        if not self._settings.profile.is_local:
            return None
        from agentic_rl_tui.core.sdk.practice import practice_models

        found = await practice_models(self._client.transport, row, row_index=row_index, rollouts=rollouts)
        return [ModelResource(**resource) for resource in found]

    async def practice_calls(self, resource: ModelResource) -> tuple[ModelCall, ...]:
        from agentic_rl_tui.core.sdk.practice import model_calls

        return await model_calls(self._client.transport, resource)

    async def traces(self, query: dict[str, Any]) -> tuple[list[Run], int] | None:
        return await list_traces(self._client.transport, **query) if self._settings.profile.is_local else None

    async def trace(self, trace_id: str) -> tuple[Run, list[Span]]:
        return await read_trace(self._client.transport, trace_id)

    async def export_traces(self, trace_ids: tuple[str, ...]) -> bytes:
        return await export_traces(self._client.transport, trace_ids)

    async def import_traces(self, content: bytes) -> int:
        return len(await import_traces(self._client.transport, content))

    async def close(self) -> None:
        await self._client.close()


def _tell(event: events.Event, on_news: Callable[[StepNews], None]) -> None:
    match event:
        case events.StepStarted():
            on_news(StepNews(event.step, event.label, "started"))
        case events.StepProgress():
            total = None if event.total is None else int(event.total)
            on_news(StepNews(event.step, "", "progress", int(event.done), total, event.unit, event.note))
        case events.StepFinished():
            on_news(
                StepNews(
                    event.step,
                    event.label,
                    "finished",
                    detail=event.detail,
                    seconds=event.seconds,
                    is_reused=event.reused,
                )
            )
        case events.StepFailed():
            on_news(StepNews(event.step, event.label, "failed", detail=event.error.message))
        case events.JobSubmitted():
            on_news(StepNews("job", _("job created"), "finished", detail=event.job.job_id, is_reused=event.adopted))
        case events.Note():
            on_news(StepNews("note", event.text, "note"))
