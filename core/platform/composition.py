"""The job engine, given what it needs of the platform."""

from importlib import util
from typing import TYPE_CHECKING

from agentic_rl_tui.core.models.status import JobStatus

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform, SchedulerLike


def engine_scheduler(platform: "Platform") -> "SchedulerLike":
    if util.find_spec("agentic_rl_tui.core.platform.engine.scheduler") is None:
        return Idle(platform)
    from agentic_rl_tui.core.platform.engine import Engine, EngineOptions, Gateway, Scheduler

    gateway = Gateway(base_url=platform.identity.gateway_url)
    platform.gateway_app = gateway.app
    engine = Engine(
        jobs=platform.jobs,
        log=platform.job_logs,
        functions=platform.job_functions,
        files=platform.files,
        gateway=gateway,
        artefacts=platform.paths.jobs,
        options=EngineOptions(),
    )
    return Scheduler(
        jobs=platform.jobs, log=platform.job_logs, engine=engine, max_running=platform.options.max_running_jobs
    )


class Idle:
    def __init__(self, platform: "Platform") -> None:
        self._platform = platform

    async def recover(self) -> None:
        return

    async def start(self) -> None:
        return

    def wake(self) -> None:
        return

    async def cancel(self, job_id: str) -> bool:
        return await self._platform.jobs.move(job_id, JobStatus.CANCELED)

    async def stop(self) -> None:
        return
