"""A platform that never changes, and an app on it with a stopped clock: for pictures, snapshot and pilot tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from samples import (
    NOW,
    ZONE,
    failed_log,
    job,
    sample_jobs,
    sample_log,
    sample_rollout,
    sample_traces,
    sample_trajectories,
)

from agentic_rl_tui.app.backend import HealthFacts, LogChunk, LogNote, StepNews
from agentic_rl_tui.app.tui import ArlApp, Options
from agentic_rl_tui.core.models.errors import ArlError, NotFound
from agentic_rl_tui.core.models.jobs import Job, JobPage
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.sdk.clone import Cloned, Start
from agentic_rl_tui.core.sdk.compare import JobComparison, comparison
from agentic_rl_tui.core.sdk.deploy import Deployment
from agentic_rl_tui.core.sdk.origins import Origin, Sources
from agentic_rl_tui.core.settings import LOCAL_URL, Profile, Settings
from agentic_rl_tui.core.tracing.model import Run, Span
from agentic_rl_tui.core.tracing.otlp import decode, encode

__all__ = [
    "NOW",
    "ZONE",
    "FakeBackend",
    "app",
    "job",
    "sample_backend",
    "sample_jobs",
    "sample_log",
    "sample_rollout",
    "settings",
]


class FakeBackend:
    """Answers from memory at once. `broken` makes every call fail; `calls` records the verbs."""

    zone = ZONE

    def __init__(self, jobs: Iterable[Job] = (), *, logs: dict[str, list[str]] | None = None) -> None:
        self.store = {item.job_id: item for item in jobs}
        self.logs = logs or {}
        self.broken: ArlError | None = None
        self.calls: list[tuple[str, str]] = []
        self.news: list[StepNews] = []
        self.reports: dict[str, dict[str, Any]] = {}
        self.trajectory_pages: dict[str, dict[str, Any]] = {}
        self.kept_traces: list[tuple[Run, tuple[Span, ...]]] = []
        self.deployed: list[Deployment] = []
        self.lends: list[Any] | None = None
        self.practised: tuple[Any, ...] = ()
        self.starts: dict[str, tuple[Start, ...]] = {}
        self.origins: dict[str, Origin] = {}
        self.sources = Sources(Path("/nowhere"))
        self.cloned = Path("/home/user/calc-agent/calc-agent-clone.yaml")

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken

    async def health(self) -> HealthFacts:
        self._check()
        return HealthFacts("ok")

    async def jobs(self, page_no: int, page_size: int) -> JobPage:
        self._check()
        items = list(self.store.values())
        start = (page_no - 1) * page_size
        return JobPage(
            jobs=tuple(items[start : start + page_size]), page_no=page_no, page_size=page_size, total=len(items)
        )

    async def job(self, job_id: str) -> Job:
        self._check()
        if job_id not in self.store:
            raise NotFound(f"there is no job {job_id}")
        return self.store[job_id]

    async def follow(self, job_id: str, offset: int = 0, pause: Any = None) -> AsyncIterator[LogChunk | LogNote]:
        self._check()
        lines = tuple(self.logs.get(job_id, ()))
        yield LogChunk(offset, lines[offset:], len(lines))
        if job_id in self.store and not self.store[job_id].is_terminal:
            await asyncio.Event().wait()

    async def log_size(self, job_id: str) -> int:
        self._check()
        return len(self.logs.get(job_id, ()))

    async def cancel(self, job_id: str) -> None:
        self.calls.append(("cancel", job_id))
        self._check()
        self.store[job_id] = self.store[job_id].model_copy(update={"status": "CANCELING"})

    async def delete(self, job_id: str) -> None:
        self.calls.append(("delete", job_id))
        self._check()
        del self.store[job_id]

    async def submit(self, job_file: Path, on_news: Callable[[StepNews], None]) -> Job:
        self.calls.append(("submit", str(job_file)))
        for item in self.news:
            on_news(item)
        self._check()
        made = job(9, "calc-agent-new0", "QUEUING", 0)
        self.store = {made.job_id: made} | self.store
        return made

    async def report(self, job_id: str) -> dict[str, Any] | None:
        return self.reports.get(job_id)

    async def trajectories(
        self, job_id: str, *, step: int | None = None, sample: int | None = None, phase: str = "train"
    ) -> dict[str, Any] | None:
        key = "/".join(
            str(part) for part in (job_id, step, sample, phase if phase != "train" else None) if part is not None
        )
        return self.trajectory_pages.get(key)

    async def checkpoints(self, job_id: str) -> tuple[Start, ...]:
        self._check()
        return self.starts.get(job_id, ())

    async def clone(self, job_id: str, checkpoint: str | None) -> Cloned:
        self.calls.append(("clone", f"{job_id} {checkpoint or ''}".rstrip()))
        self._check()
        return Cloned(self.cloned, ("Cloned.",))

    async def origin(self, job_id: str) -> Origin | None:
        return self.origins.get(job_id)

    async def compare(self, old_id: str, new_id: str) -> JobComparison:
        self.calls.append(("compare", f"{old_id} {new_id}"))
        self._check()
        of_old, of_new = (self.origins.get(job_id) for job_id in (old_id, new_id))
        return comparison(self.store[old_id], self.store[new_id], of_old, of_new, self.sources)

    async def deployments(self) -> tuple[Any, ...]:
        self._check()
        return tuple(self.deployed)

    async def deploy(self, info: Any, runtime: Any, on_news: Callable[[StepNews], None]) -> Any:
        self.calls.append(("deploy", info.classpath.dotted))
        for item in self.news:
            on_news(item)
        self._check()
        made = Deployment(info.kind.value, info.classpath.dotted, "", f"ent-{len(self.deployed)}", NOW, ("inst-1",))
        self.deployed.insert(0, made)
        return made

    async def instance_logs(self, instance_id: str) -> list[str]:
        return [f"line of {instance_id}"]

    async def remove_instance(self, instance_id: str) -> None:
        self.calls.append(("remove_instance", instance_id))
        self._check()
        self.deployed = [replace(item, instances=()) for item in self.deployed]

    async def call_instance(self, instance_id: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(("call_instance", instance_id))
        self._check()
        return {"status": "success", "func_type": kind}

    async def practice_models(self, row: Any, row_index: int, rollouts: int) -> list[Any] | None:
        return self.lends

    async def practice_calls(self, resource: Any) -> tuple[Any, ...]:
        self.calls.append(("practice_calls", resource.base_url))
        return self.practised

    async def traces(self, query: dict[str, Any]) -> tuple[list[Run], int] | None:
        self._check()
        found = [run for run, _ in self.kept_traces if not query.get("job_id") or run.job_id == query["job_id"]]
        found = [run for run in found if query.get("rollout_id", run.rollout_id) == run.rollout_id]
        found = [run for run in found if query.get("text", "") in f"{run.function} {run.rollout_id} {run.status}"]
        found = [run for run in found if run.errors or not query.get("errors")]
        found = [run for run in found if not run.completeness.is_complete or not query.get("incomplete")]
        return found, len(found)

    async def trace(self, trace_id: str) -> tuple[Run, list[Span]]:
        self._check()
        return next((run, list(spans)) for run, spans in self.kept_traces if trace_id in (run.key, run.trace_id))

    async def export_traces(self, trace_ids: tuple[str, ...]) -> bytes:
        self._check()
        return json.dumps(encode([item for item in self.kept_traces if item[0].key in trace_ids])).encode()

    async def import_traces(self, content: bytes) -> int:
        self._check()
        found = decode(content)
        self.kept_traces += found
        return len(found)

    async def close(self) -> None:
        return None


def settings(workspace: Path, values: dict[str, Any] | None = None) -> Settings:
    profile = Profile("local", LOCAL_URL, "built in", socket=workspace / "platform.sock")
    return Settings(values or {}, {}, {"local": profile}, "local", workspace, PlatformPaths(workspace / "platform"))


def app(backend: FakeBackend, workspace: Path = Path("/home/user/calc-agent"), **facts: Any) -> ArlApp:
    """An app on a fake platform with a stopped clock."""
    values = {"tui.theme": "dark"} | facts.pop("values", {})
    is_read_only = facts.pop("is_read_only", False)
    kept = {
        name: facts.pop(name, False)
        for name in ("keeps_logs", "keeps_jobs", "keeps_notes", "keeps_settings", "keeps_view")
    }
    shown = facts.pop("workspace_shown", None)
    made = ArlApp(
        settings(workspace, values),
        connect=lambda _settings: backend,
        options=Options(
            clock=lambda: NOW,
            is_polling=False,
            zone=ZONE,
            is_still=True,
            is_read_only=is_read_only,
            **kept,
        ),
        **facts,
    )
    if shown is not None:
        made.set_reactive(ArlApp.workspace_shown, shown)
    return made


def sample_backend() -> FakeBackend:
    """The platform of the screenshots."""
    jobs = sample_jobs()
    logs = {jobs[0].job_id: sample_log(), jobs[3].job_id: failed_log()}
    backend = FakeBackend(jobs, logs=logs)
    backend.trajectory_pages = sample_trajectories(jobs[0].job_id)
    backend.kept_traces = sample_traces(jobs[0].job_id)
    return backend
