"""The whole life of a job, from its plan to its final state."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.errors import ArlError, FunctionFailed
from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform import crash
from agentic_rl_tui.core.platform.engine import functions as job_functions
from agentic_rl_tui.core.platform.engine.checkpoints import Checkpoints
from agentic_rl_tui.core.platform.engine.endpoint import EndpointPolicy
from agentic_rl_tui.core.platform.engine.failures import FailureLog
from agentic_rl_tui.core.platform.engine.functions import JobFunctions
from agentic_rl_tui.core.platform.engine.gateway import Gateway
from agentic_rl_tui.core.platform.engine.groups import GroupRunner, GroupSettings
from agentic_rl_tui.core.platform.engine.joblog import JobLogWriter
from agentic_rl_tui.core.platform.engine.loop import JobFault, TrainingLoop
from agentic_rl_tui.core.platform.engine.options import EngineOptions
from agentic_rl_tui.core.platform.engine.plan import Plan, make_plan
from agentic_rl_tui.core.platform.engine.policy import Policy
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.report import ReportBook
from agentic_rl_tui.core.platform.engine.teacher import EndpointTeacher
from agentic_rl_tui.core.platform.engine.trajectories import TrajectoryWriter
from agentic_rl_tui.core.platform.ports import DataFiles, FunctionOpener, JobLog, JobRecord, JobStore
from agentic_rl_tui.core.tracing.collect import Tally

PLATFORM_STOPPED = "platform stopped"
STOP_LIMIT_S = 0.7

logger = logging.getLogger(__name__)


class _End(Exception):
    """How a job ended other than well."""

    def __init__(self, status: JobStatus, code: str | None, reason: str, detail: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code
        self.reason = redact(reason)
        self.detail = detail


class Engine:
    """Runs jobs; may run several at once. artefacts holds one folder a job; tally tells how complete its traces are."""

    def __init__(
        self,
        *,
        jobs: JobStore,
        log: JobLog,
        functions: FunctionOpener,
        files: DataFiles,
        gateway: Gateway,
        artefacts: Path,
        options: EngineOptions | None = None,
        tally: Callable[[str], Tally | None] = lambda _job_id: None,
    ) -> None:
        self.tally = tally
        self.jobs = jobs
        self.log = log
        self.functions = functions
        self.files = files
        self.gateway = gateway
        self.artefacts = artefacts
        self.options = options or EngineOptions()

    async def run(self, job: JobRecord, cancel: asyncio.Event) -> None:
        """Take a RUNNING job to its end; `cancel` ends it within two seconds.

        A cancelled task means that the platform stops: the job ends FAILED for that reason and the task stays
        cancelled.
        """
        life = _Life(self, job)
        work = asyncio.create_task(life.work(), name=f"job {job.job_id}")
        wish = asyncio.create_task(cancel.wait())
        try:
            await asyncio.wait({work, wish}, return_when=asyncio.FIRST_COMPLETED)
            end = _end_of(work) if work.done() else _End(JobStatus.CANCELED, None, "canceled by its user")
        except asyncio.CancelledError:
            await _whole(_finish(work, life, _End(JobStatus.FAILED, "PlatformStopped", PLATFORM_STOPPED)))
            raise
        finally:
            wish.cancel()
        await _whole(_finish(work, life, end))


async def _finish(work: "asyncio.Task[None]", life: "_Life", end: _End | None) -> None:
    """Stop the work of a job and put everything away; what does not stop in time stops behind our back."""
    work.cancel()
    await asyncio.wait({work}, timeout=STOP_LIMIT_S)
    await life.finish(end)


async def _whole(ending: Coroutine[Any, Any, None]) -> None:
    """Await to the end even when cancelled, then let the cancellation through: no job may stay without an end."""
    task = asyncio.ensure_future(ending)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError


def _end_of(work: "asyncio.Task[None]") -> _End | None:
    error = work.exception() if not work.cancelled() else None
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None:
        return None
    if isinstance(error, JobFault):
        return _End(JobStatus.FAILED, error.code, error.message)
    if isinstance(error, FunctionFailed):
        return _End(JobStatus.FAILED, "FunctionFailed", error.message, error.traceback)
    if isinstance(error, ArlError):
        reason = f"{error.message}. {error.advice}" if error.advice else error.message
        return _End(JobStatus.FAILED, error.code or "InvalidParameter", reason)
    if isinstance(error, OSError):
        logger.error("a job could not read or write a file", exc_info=error)
        return _End(JobStatus.FAILED, "StorageError", f"the platform could not read or write a file: {error}")
    logger.error("a job met an error of the platform's own", exc_info=error)
    return _End(JobStatus.FAILED, "InternalError", f"the platform met an error of its own: {error!r}")


class _Life:
    """One job under way, and all that has to be put away at its end."""

    def __init__(self, engine: Engine, job: JobRecord) -> None:
        self._engine = engine
        self._job = job
        self._folder = engine.artefacts / job.job_id
        self._log = JobLogWriter(engine.log, job.job_id, engine.options.now)
        self._book = ReportBook(self._folder, self._tracing)
        self._failures = FailureLog()
        self._functions = JobFunctions()
        self._plan: Plan | None = None
        self._policy: Policy | None = None
        self._endpoint_teacher: EndpointTeacher | None = None
        self._no_teacher: str | None = None
        self._writer: TrajectoryWriter | None = None
        self._checkpoints: Checkpoints | None = None
        self._loop: TrainingLoop | None = None

    async def work(self) -> None:
        engine, job, options = self._engine, self._job, self._engine.options
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self._log.info(f"job {job.job_id} ({job.name}) starts on the local platform")
        crash.point("start.folder")
        await self._phase("validating")
        plan = self._plan = await make_plan(job, engine.files, engine.artefacts)
        await self._find_teacher(plan)
        policy = self._policy = self._make_policy(plan)
        await self._introduce(plan)
        await self._phase("starting functions", plan.total_steps)
        await self._log.info("starting the functions")
        self._functions = await job_functions.open_functions(
            engine.functions, job.request, job.job_id, timer=options.timer
        )
        crash.point("start.functions")
        for function in self._functions.all:
            await self._log.info(
                f"started {function.title}: {function.open.slots} slots, timeout {function.timeout_s:g} s"
                + ("" if function is self._functions.rollout else f", weight {function.weight:g}")
            )
        if plan.validation is not None and self._functions.rewards and self._functions.group_rewards:
            await self._log.info("validation makes one rollout a row and leaves the group rewards out")
        self._writer = TrajectoryWriter(self._folder)
        self._checkpoints = Checkpoints(self._folder, plan.output, plan.hyper.save_total_limit)
        runner = GroupRunner(
            self._functions, engine.gateway, policy, self._group_settings(plan), self._endpoint_teacher
        )
        self._loop = TrainingLoop(
            plan=plan,
            functions=self._functions,
            runner=runner,
            policy=policy,
            log=self._log,
            book=self._book,
            writer=self._writer,
            checkpoints=self._checkpoints,
            failures=self._failures,
            jobs=engine.jobs,
            options=options,
            teacher=self._endpoint_teacher,
        )
        await self._loop.run()

    async def finish(self, end: _End | None) -> None:
        """Close everything, write the report, say how it ended, and move the job to its last state."""
        crash.point("end.begun")
        await self._functions.close()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)
        if self._policy is not None:
            await self._policy.close()
        if self._endpoint_teacher is not None:
            await self._endpoint_teacher.close()
        status = JobStatus.SUCCEEDED if end is None else end.status
        try:
            report = await asyncio.to_thread(self._report, status, end)
            crash.point("end.report")
            await self._say_end(end, report)
            crash.point("end.said")
        except OSError as error:
            logger.error("the end of job %s could not be written: %s", self._job.job_id, error)
        await self._move(status, end)

    async def _move(self, status: JobStatus, end: _End | None) -> None:
        jobs, job_id = self._engine.jobs, self._job.job_id
        if self._loop is not None:
            done = self._loop.progress.model_copy(update={"phase": status.value.lower()})
            await jobs.set_progress(job_id, done)
        if status is JobStatus.SUCCEEDED and self._plan is not None and self._learns:
            await jobs.set_output(job_id, self._plan.output)
        crash.point("end.output")
        code, message = (end.code, end.reason) if end is not None else (None, None)
        if status is JobStatus.CANCELED:
            # Usually done by whoever cancelled; a wish that outran that move must not leave the job running.
            await jobs.move(job_id, JobStatus.CANCELING)
        if not await jobs.move(job_id, status, code=code, message=message):
            # A cancellation that came at the very end has moved the job on; only this move is left then.
            await jobs.move(job_id, JobStatus.CANCELED)

    @property
    def _learns(self) -> bool:
        return isinstance(self._policy, PracticePolicy)

    async def _find_teacher(self, plan: Plan) -> None:
        """Take the endpoint for the teacher where it is wanted and says how likely it finds a given text."""
        options = self._engine.options
        if options.teacher is None or options.endpoint is not None or not plan.is_opd:
            return
        teacher = EndpointTeacher(options.teacher, clock_factor=options.clock_factor)
        try:
            self._no_teacher = await teacher.probe()
        except BaseException:
            await teacher.close()
            raise
        if self._no_teacher is None:
            self._endpoint_teacher = teacher
        else:
            await teacher.close()

    def _make_policy(self, plan: Plan) -> Policy:
        endpoint = self._engine.options.endpoint
        if endpoint is not None:
            return EndpointPolicy(endpoint, clock_factor=self._engine.options.clock_factor)
        policy = PracticePolicy(with_teacher=plan.is_opd and self._endpoint_teacher is None)
        if plan.start is not None:
            policy.load(plan.start)
        return policy

    def _group_settings(self, plan: Plan) -> GroupSettings:
        settings = plan.hyper
        room = settings.max_length - settings.max_prompt_length
        return GroupSettings(
            job_id=self._job.job_id,
            seed=settings.seed,
            max_length=settings.max_length,
            max_tokens=room if room > 0 else settings.max_length,
            attempts=self._engine.options.attempts,
            uses_own_score=not plan.is_opd,
            timer=self._engine.options.timer,
        )

    @property
    def _policy_kind(self) -> str:
        return "endpoint" if self._engine.options.endpoint is not None else "practice"

    def _teacher(self, plan: Plan) -> str | None:
        """Who teaches in a distillation job, in words."""
        if not plan.is_opd:
            return None
        name = plan.job.request.teacher_model
        if self._engine.options.endpoint is not None:
            return f"{name} is not asked: the job is an evaluation and nothing is learned"
        if self._endpoint_teacher is not None:
            return (
                f"{self._endpoint_teacher.title}, stands in for {name}; "
                "its log-probabilities of the practice policy's answers are used"
            )
        practice = f"a fixed practice teacher stands in for {name}, whose log-probabilities are not used"
        options = self._engine.options.teacher
        if options is None:
            return practice
        return f"{practice}. The endpoint {options.base_url} cannot teach: {self._no_teacher or 'it was not asked yet'}"

    async def _phase(self, phase: str, total_steps: int | None = None) -> None:
        progress = JobProgress(phase=phase, total_steps=total_steps, policy=self._policy_kind)
        await self._engine.jobs.set_progress(self._job.job_id, progress)

    async def _introduce(self, plan: Plan) -> None:
        endpoint = self._engine.options.endpoint
        if endpoint is not None:
            await self._log.info(
                f"policy: endpoint {endpoint.base_url}, model {endpoint.model}. This job is an evaluation: "
                "real rollouts and rewards, no weight is changed"
            )
        else:
            await self._log.info(
                "policy: practice. A small built-in stand-in answers instead of "
                f"{plan.job.request.model}; no language model is run or trained here"
            )
        validation = 0 if plan.validation is None else len(plan.validation)
        await self._log.info(
            f"scenario {plan.scenario}; {len(plan.rows)} training rows, {validation} validation rows; "
            f"{plan.total_steps} steps of {plan.batch_size} prompts x {plan.hyper.n_rollouts} rollouts",
            f"hyper-parameters: {plan.hyper.shown()}",
        )
        if plan.is_opd:
            await self._log.info(f"teacher: {self._teacher(plan)}")
        left = len(plan.rows) * plan.hyper.n_epochs - plan.total_steps * plan.batch_size
        if left:
            await self._log.info(f"{left} rows at the end do not fill a batch and are not used")
        if plan.start is not None:
            await self._log.info(f"goes on from {plan.job.request.model}, step {plan.start.get('step')}")
        for warning in plan.warnings:
            await self._log.warning(warning)

    def _tracing(self) -> dict[str, Any] | None:
        """How complete the job's traces are so far."""
        tally = self._engine.tally(self._job.job_id)
        return None if tally is None else tally.record()

    def _report(self, status: JobStatus, end: _End | None) -> dict[str, Any]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        plan = self._plan
        facts: dict[str, Any] = {
            "tracing": self._tracing(),
            "job_id": self._job.job_id,
            "job_name": self._job.name,
            "model": self._job.request.model,
            "policy": self._policy_kind,
            "is_evaluation": self._engine.options.endpoint is not None,
            "code": None if end is None else end.code,
            "output": plan.output if plan is not None and end is None and self._learns else None,
        }
        if plan is not None:
            facts["teacher"] = self._teacher(plan)
            facts |= {
                "scenario": plan.scenario,
                "training_rows": len(plan.rows),
                "validation_rows": 0 if plan.validation is None else len(plan.validation),
                "total_steps": plan.total_steps,
                "hyper_parameters": plan.hyper.shown(),
            }
        return self._book.write(
            status=status.value,
            reason=None if end is None else end.reason,
            facts=facts,
            functions=self._functions.all,
            checkpoints=() if self._checkpoints is None else self._checkpoints.table,
            failures=self._failures.counts,
        )

    async def _say_end(self, end: _End | None, report: dict[str, Any]) -> None:
        for text in self._failures.take():
            await self._log.warning(text)
        tally = self._engine.tally(self._job.job_id)
        if tally is not None:
            await self._log.info(f"traces: {tally.text}")
        if end is not None and end.detail:
            await self._log.error("\n".join(f"    {line}" for line in end.detail.rstrip().splitlines()))
        if end is not None and end.status is JobStatus.FAILED:
            await self._log.error(f"job failed: {end.reason}")
        elif end is not None:
            await self._log.warning(f"job {end.reason} after {report['steps_done']} steps")
        else:
            await self._say_success(report)
        await self._log.end()

    async def _say_success(self, report: dict[str, Any]) -> None:
        first, last = report["reward"]["first_tenth"], report["reward"]["last_tenth"]
        if first is not None:
            await self._log.info(f"mean reward {first:.4f} in the first tenth of steps, {last:.4f} in the last")
        best = self._checkpoints.best if self._checkpoints is not None else None
        if best is not None and best.validation is not None:
            await self._log.info(f"best checkpoint by validation: {best.name} with {best.validation:.4f}")
        if not self._learns:
            await self._log.info("evaluation finished; there is no model to publish")
        elif self._plan is not None:
            await self._log.info(f"output: {self._plan.output}, a state of the practice policy")
