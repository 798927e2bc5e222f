"""The platform's parts, put together, started and stopped."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from agentic_rl_tui.core.functions.environments import Environments, RequirementsPolicy, default_cache_dir
from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.models.job_request import JobRequest
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.paths import PlatformPaths, private_dir
from agentic_rl_tui.core.platform import crash, wire
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.clock import ClockWatch
from agentic_rl_tui.core.platform.composition import engine_scheduler
from agentic_rl_tui.core.platform.engine import EngineOptions
from agentic_rl_tui.core.platform.engine.practice_room import PracticeRoom
from agentic_rl_tui.core.platform.health import Identity, health
from agentic_rl_tui.core.platform.instances import Instances, JobFunctions, Pool, PoolRequest
from agentic_rl_tui.core.platform.job_check import JobCheck
from agentic_rl_tui.core.platform.layers import Layers
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.packages import Packages
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.files import Files
from agentic_rl_tui.core.platform.store.functions import Functions
from agentic_rl_tui.core.platform.store.jobs import Jobs
from agentic_rl_tui.core.platform.store.logs import InstanceLogs, JobLogs
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces import TraceKeeper

_log = logging.getLogger(__name__)

_WATCH_S = 30.0
_SHORTEST_WATCH_S = 0.05
_LOST = "the job's end could not be written when it came; the platform's log says why"


class SchedulerLike(Protocol):
    """What is used of ``engine.Scheduler``."""

    async def recover(self) -> None: ...

    async def start(self) -> None: ...

    @property
    def running(self) -> tuple[str, ...]: ...

    def wake(self) -> None: ...

    async def cancel(self, job_id: str) -> bool: ...

    async def stop(self) -> None: ...


class Platform:
    """Everything below one state directory.

    make_scheduler and make_pool stand in for the job engine and the function workers in tests. gateway_app is what
    answers rollouts that ask for the model; None where the scheduler has none.
    """

    def __init__(
        self,
        root: Path,
        *,
        options: PlatformOptions | None = None,
        engine_options: EngineOptions | None = None,
        identity: Identity | None = None,
        database: Database | None = None,
        make_scheduler: "Callable[[Platform], SchedulerLike] | None" = None,
        make_pool: Callable[[PoolRequest], Pool] | None = None,
        on_stop_request: Callable[[], None] | None = None,
    ) -> None:
        self.paths = PlatformPaths(root)
        self.options = options or PlatformOptions()
        self.engine_options = engine_options
        self.identity = identity or Identity(root)
        self.gateway_app: Any = None
        self.practice: PracticeRoom | None = None
        self.is_stopping = False
        self._on_stop_request = on_stop_request
        private_dir(root)
        self.database = database or Database(self.paths.database)
        self.bell = Bell()
        self.tasks = Tasks()
        self.jobs = Jobs(
            self.database, self.bell, clock_set_by=ClockWatch().set_by, on_step=self.options.faults.fail_step
        )
        self.files = Files(self.database, self.paths.files)
        self.functions = Functions(self.database)
        self.job_logs = JobLogs(self.paths.logs / "jobs", self.bell)
        self.instance_logs = InstanceLogs(self.paths.logs / "instances")
        self.packages = Packages(
            self.functions,
            self.paths.packages,
            max_bytes=self.options.max_package_bytes,
            url_lifetime_s=self.options.upload_url_s,
        )
        policy = self.options.requirements
        environments = Environments(default_cache_dir()) if policy is RequirementsPolicy.INSTALL else None
        self.layers = Layers(
            self.functions,
            self.tasks,
            self.options.faults,
            wait_s=self.options.wait_s,
            policy=policy,
            environments=environments,
        )
        self.traces = TraceKeeper(
            self.paths.traces,
            self.tasks,
            max_age_s=self.options.trace_days * 86_400,
            max_bytes=self.options.max_trace_bytes,
        )
        self.instances = Instances(
            self.functions,
            self.packages,
            self.instance_logs,
            self.tasks,
            home=root / "run",
            idle_s=self.options.wait_s(self.options.idle_s),
            max_waiting=self.options.max_waiting_calls,
            make_pool=make_pool,
            traces=self.traces,
            environments=environments,
        )
        self.job_functions = JobFunctions(self.functions, self.instances)
        self.job_check = JobCheck(has_file=lambda file_id: self.files.get(file_id) is not None, entity=self._entity)
        self.scheduler = (make_scheduler or engine_scheduler)(self)

    async def start(self) -> None:
        """Bring what a killed platform left into a true state, then take up the waiting jobs."""
        await self._sweep()
        await self.scheduler.recover()
        await self.scheduler.start()
        self.traces.start()
        self.tasks.start(self.instances.watch())
        self.tasks.start(self._watch_jobs())

    def begin_stop(self) -> None:
        """End the answers that would go on for as long as a job does."""
        self.is_stopping = True
        self.bell.ring_all()

    async def stop(self) -> None:
        self.begin_stop()
        for end in (self.scheduler.stop, self.instances.close, self.traces.stop, self.tasks.stop):
            await _quietly(end)
        self.instance_logs.close()
        self.job_logs.close()
        await asyncio.to_thread(self.database.close)

    def request_stop(self) -> None:
        """Ask whoever runs the platform to end it."""
        if self._on_stop_request is not None:
            self._on_stop_request()

    def health(self) -> dict[str, Any]:
        return health(self.database, self.identity)

    async def settle_lost_jobs(self) -> None:
        """End jobs that the store calls running though nobody runs them: their end could not be written when it came.

        That is what a full disk does; the next look after it has room again puts it right.
        """
        for job in await self.jobs.jobs_in(JobStatus.RUNNING, JobStatus.CANCELING):
            if job.job_id in self.scheduler.running:
                continue
            target = JobStatus.CANCELED if job.status is JobStatus.CANCELING else JobStatus.FAILED
            _log.warning("job %s was left %s; it becomes %s", job.job_id, job.status, target)
            await self.jobs.move(job.job_id, target, code="InternalError", message=_LOST)

    async def _watch_jobs(self) -> None:
        while True:
            await asyncio.sleep(max(_SHORTEST_WATCH_S, self.options.wait_s(_WATCH_S)))
            try:
                await self.settle_lost_jobs()
            except PlatformError as error:
                _log.warning("jobs cannot be looked after: %s", error)

    def parse_request(self, body: dict[str, Any]) -> JobRequest:
        """The request as the engine reads it. Raises Rejected naming the field that does not fit."""
        try:
            return JobRequest.model_validate({key: value for key, value in body.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise wire.invalid(f"{place}: {first['msg']}") from error

    async def delete_job(self, job_id: str) -> bool:
        """Remove an ended job with all that was kept of it; False when it has not ended."""
        if not await self.jobs.delete(job_id):
            return False
        crash.point("delete.stored")
        for instance in self.functions.instances_of_job(job_id):
            await self.instances.delete(instance.instance_id)
        crash.point("delete.functions")
        self.job_logs.remove(job_id)
        crash.point("delete.log")
        await self.traces.remove_job(job_id)
        await asyncio.to_thread(shutil.rmtree, self.paths.jobs / job_id, ignore_errors=True)
        crash.point("delete.folder")
        return True

    def _entity(self, entity_id: str) -> Any:
        return self.functions.entity(entity_id)

    async def _sweep(self) -> None:
        """Remove what a platform that was killed began or had not finished removing: no row speaks of it."""
        known = self.jobs.ids()
        for instance_id in self.functions.instances_of_lost_jobs():
            await self.instances.delete(instance_id)
        for job_id in self.job_logs.ids() - known:
            self.job_logs.remove(job_id)
        for instance_id in self.instance_logs.ids() - self.functions.instance_ids():
            self.instance_logs.remove(instance_id)
        folders = {path.name for path in self.paths.jobs.iterdir()} if self.paths.jobs.is_dir() else set()
        packages = await self.functions.packages_in_use()
        stray_files = self.files.strays()

        def remove() -> None:
            self.instances.sweep()
            self.packages.sweep(packages)
            for path in stray_files:
                path.unlink(missing_ok=True)
            for name in folders - known:
                shutil.rmtree(self.paths.jobs / name, ignore_errors=True)

        await asyncio.to_thread(remove)


async def _quietly(end: Callable[[], Awaitable[None]]) -> None:
    """Stop one part; its failure must not keep the others from stopping."""
    try:
        await end()
    except Exception:
        _log.exception("a part of the platform failed to stop")
