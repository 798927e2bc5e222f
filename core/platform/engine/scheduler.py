"""Which job runs when: oldest first, a fixed number at once."""

import asyncio
import logging

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform import crash
from agentic_rl_tui.core.platform.engine.engine import Engine
from agentic_rl_tui.core.platform.engine.joblog import END_MARKER, JobLogWriter
from agentic_rl_tui.core.platform.engine.recovery import mark_interrupted
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
        self._wishes: dict[str, asyncio.Event] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[str] = set()
        self._bell = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the jobs that run now or are about to: their wish is there before the store calls them running."""
        return tuple({**self._wishes, **self._running})

    async def recover(self) -> None:
        """Give jobs that an earlier platform left RUNNING or CANCELING a true state. Waiting jobs stay in the queue.

        A waiting job whose log has ended was being canceled.
        """
        for job in await self._jobs.jobs_in(JobStatus.RUNNING, JobStatus.CANCELING):
            await mark_interrupted(self._engine, job)
        for job in await self._jobs.jobs_in(JobStatus.PENDING, JobStatus.QUEUING):
            if await self._log.last(job.job_id) == END_MARKER:
                await self._jobs.move(job.job_id, JobStatus.CANCELED)

    async def start(self) -> None:
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="scheduler")
            self.wake()

    def wake(self) -> None:
        """Look at the queue: something was submitted or ended."""
        self._bell.set()

    async def cancel(self, job_id: str) -> bool:
        """Cancel a job. False when there is none or its state forbids it; a running job ends within two seconds."""
        if (wish := self._wishes.get(job_id)) is not None:
            wish.set()
            moved = await self._jobs.move(job_id, JobStatus.CANCELING)
            crash.point("cancel.moved")
            return moved
        job = await self._jobs.job(job_id)
        if job is None or job.status not in (JobStatus.PENDING, JobStatus.QUEUING) or job_id in self._leaving:
            return False
        if job_id in self._wishes:
            # It left the queue in between.
            return await self.cancel(job_id)
        return await self._end_waiting(job_id)

    async def _end_waiting(self, job_id: str) -> bool:
        """End a job that never ran. Its last line is written first, as a log is whole once its job has ended."""
        self._leaving.add(job_id)
        try:
            log = JobLogWriter(self._log, job_id, self._engine.options.now)
            await log.warning("job canceled before it started")
            await log.end()
            crash.point("cancel.waiting")
            return await self._jobs.move(job_id, JobStatus.CANCELED)
        finally:
            self._leaving.discard(job_id)

    async def stop(self) -> None:
        """End the loop and every running job, which end FAILED with the reason that the platform stopped."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait({self._loop})
            self._loop = None
        tasks = dict(self._running)
        launched = {*tasks, *self._wishes}
        for task in tasks.values():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks.values())
        for job_id in launched:
            # A job whose task never came to its first step has nobody else to end it.
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
                asyncio.get_running_loop().call_later(_RETRY_S / self._engine.options.clock_factor, self.wake)

    async def _fill(self) -> None:
        for job in await self._jobs.jobs_in(JobStatus.QUEUING, JobStatus.PENDING):
            if job.job_id in self._leaving:
                continue
            if len(self._running) < self._max_running:
                await self._launch(job)
            elif job.status is JobStatus.PENDING:
                await self._jobs.move(job.job_id, JobStatus.QUEUING)

    async def _launch(self, job: JobRecord) -> None:
        # A wish to cancel finds the event from the moment at which the job may be running.
        wish = self._wishes[job.job_id] = asyncio.Event()
        crash.point("start.begun")
        if not await self._jobs.move(job.job_id, JobStatus.RUNNING):
            del self._wishes[job.job_id]
            if wish.is_set():
                await self._end_waiting(job.job_id)
            return
        crash.point("start.moved")
        task = asyncio.create_task(self._run_job(job, wish), name=f"run {job.job_id}")
        self._running[job.job_id] = task
        task.add_done_callback(lambda done: self._ended(job.job_id, done))

    async def _run_job(self, job: JobRecord, wish: asyncio.Event) -> None:
        fresh = await self._jobs.job(job.job_id)
        await self._engine.run(fresh or job, wish)

    def _ended(self, job_id: str, task: "asyncio.Task[None]") -> None:
        self._running.pop(job_id, None)
        self._wishes.pop(job_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("job %s left the engine with an error", job_id, exc_info=error)
        self.wake()
