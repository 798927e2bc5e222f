"""Which job runs when: oldest first, a fixed number at once."""

import asyncio
import logging

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine.engine import Engine, mark_interrupted
from agentic_rl_tui.core.platform.engine.joblog import JobLogWriter
from agentic_rl_tui.core.platform.ports import JobLog, JobRecord, JobStore

_RETRY_S = 1.0

logger = logging.getLogger(__name__)


class Scheduler:
    """Takes jobs from PENDING through QUEUING to RUNNING. `recover` first, then `start`; `stop` at shutdown."""

    def __init__(self, *, jobs: JobStore, log: JobLog, engine: Engine, max_running: int = 1) -> None:
        self._jobs = jobs
        self._log = log
        self._engine = engine
        self._max_running = max(1, max_running)
        self._running: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._bell = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the jobs that run now."""
        return tuple(self._running)

    async def recover(self) -> None:
        """Give jobs that an earlier platform left RUNNING or CANCELING a true state. Waiting jobs stay in the queue."""
        for job in await self._jobs.jobs_in(JobStatus.RUNNING, JobStatus.CANCELING):
            await mark_interrupted(self._engine, job)

    async def start(self) -> None:
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="scheduler")
            self.wake()

    def wake(self) -> None:
        """Look at the queue: something was submitted or ended."""
        self._bell.set()

    async def cancel(self, job_id: str) -> bool:
        """Cancel a job. False when there is none or its state forbids it; a running job ends within two seconds."""
        if job_id in self._running:
            if not await self._jobs.move(job_id, JobStatus.CANCELING):
                return False
            if found := self._running.get(job_id):
                found[1].set()
            return True
        job = await self._jobs.job(job_id)
        if job is None or job.status not in (JobStatus.PENDING, JobStatus.QUEUING):
            return False
        if not await self._jobs.move(job_id, JobStatus.CANCELED):
            # It left the queue in between.
            return job_id in self._running and await self.cancel(job_id)
        log = JobLogWriter(self._log, job_id, self._engine.options.now)
        await log.warning("job canceled before it started")
        await log.end()
        return True

    async def stop(self) -> None:
        """End the loop and every running job, which end FAILED with the reason that the platform stopped."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait({self._loop})
            self._loop = None
        tasks = {job_id: task for job_id, (task, _) in self._running.items()}
        for task in tasks.values():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks.values())
        for job_id in tasks:
            # A task that was cancelled before its first step never came to end its job.
            job = await self._jobs.job(job_id)
            if job is not None and job.status in (JobStatus.RUNNING, JobStatus.CANCELING):
                await mark_interrupted(self._engine, job)

    async def _run(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                await self._fill()
            except Exception:
                logger.exception("the queue could not be read; trying again in a second")
                asyncio.get_running_loop().call_later(_RETRY_S, self.wake)

    async def _fill(self) -> None:
        for job in await self._jobs.jobs_in(JobStatus.QUEUING, JobStatus.PENDING):
            if len(self._running) < self._max_running:
                await self._launch(job)
            elif job.status is JobStatus.PENDING:
                await self._jobs.move(job.job_id, JobStatus.QUEUING)

    async def _launch(self, job: JobRecord) -> None:
        if not await self._jobs.move(job.job_id, JobStatus.RUNNING):
            return
        fresh = await self._jobs.job(job.job_id) or job
        cancel = asyncio.Event()
        task = asyncio.create_task(self._engine.run(fresh, cancel), name=f"run {job.job_id}")
        self._running[job.job_id] = (task, cancel)
        task.add_done_callback(lambda done: self._ended(job.job_id, done))

    def _ended(self, job_id: str, task: "asyncio.Task[None]") -> None:
        self._running.pop(job_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("job %s left the engine with an error", job_id, exc_info=error)
        self.wake()
