"""A function started from a clean copy of its package: the ground on which it is tried."""

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from agentic_rl_tui.core.functions import package
from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.functions.discovery import Discovery, SourceIndex, discover
from agentic_rl_tui.core.functions.environments import OnLine, RequirementsPolicy, environment
from agentic_rl_tui.core.functions.harness_answer import report_of
from agentic_rl_tui.core.functions.harness_inputs import Payload, SchemaProblem, check_input, masked
from agentic_rl_tui.core.functions.harness_report import ModelCall, Stage, TestReport
from agentic_rl_tui.core.functions.harness_traces import traced
from agentic_rl_tui.core.functions.output import OnOutput
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.functions.problems import SourceProblem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError, PackageError
from agentic_rl_tui.core.models.processors import ClassPath, ProcessorInfo
from agentic_rl_tui.core.models.redact import redact

T = TypeVar("T")
Recorder = Callable[[str], Sequence[ModelCall]]
"""Gives the model calls of a rollout by the key it called with; whoever serves the model has them."""

DEFAULT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """How a function is run. timeout_s, metric_weights and weight are those of the job; env is its runtime.env.

    python: None takes the workspace's ``.venv`` where it has one, else our interpreter. secrets: keys in plain text
    that must not be packaged. requirements_policy: install runs the function in an environment of its requirements,
    made with that interpreter; on_requirements is given the lines of the installation.
    """

    timeout_s: float = DEFAULT_TIMEOUT_S
    setup_timeout_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)
    python: Path | None = None
    memory_limit_bytes: int | None = None
    concurrency: int = 1
    size: int = 1
    extra_files: Sequence[str | Path] = ()
    requirements: str = "requirements.txt"
    requirements_policy: RequirementsPolicy = RequirementsPolicy.CHECK
    on_requirements: OnLine | None = None
    secrets: Sequence[str] = ()
    weight: float = 1.0
    metric_weights: Mapping[str, float] = field(default_factory=dict)


class Trial:
    """A function with its package. start_s: what it took from the workspace to a ready worker."""

    def __init__(
        self,
        info: ProcessorInfo,
        pool: FunctionPool,
        options: TrialOptions,
        package_problems: tuple[SourceProblem, ...],
        recorder: Recorder | None,
        began: float,
    ) -> None:
        self.info = info
        self.options = options
        self.package_problems = package_problems
        self.start_s = 0.0
        self._pool = pool
        self._recorder = recorder
        self._began = began

    async def start(self) -> None:
        """Raises FunctionFailed when import or setup fails."""
        await self._pool.start()
        self.start_s = time.perf_counter() - self._began

    @property
    def pool(self) -> FunctionPool:
        """The workers, for hosts that serve the function themselves."""
        return self._pool

    @property
    def slots(self) -> int:
        return self._pool.slots

    @property
    def restarts(self) -> int:
        return self._pool.restarts

    async def run(self, payload: Payload, *, row_index: int | None = None) -> TestReport:
        """One call. Never raises for what user code does; an input that does not fit is not sent."""
        kind = self.info.kind
        if problems := check_input(kind, payload):
            return input_report(self.info, payload, problems, row_index)
        key = _register_key(payload)
        result = await self._pool.call(payload)
        report = self._report(payload, result)
        calls = tuple(self._recorder(key)) if self._recorder is not None and key else ()
        report = traced(report, result, payload, None if self._recorder is None else len(calls), self.options.env)
        return replace(report, model_calls=calls, row_index=row_index)

    def _report(self, payload: Payload, result: CallResult) -> TestReport:
        base = TestReport(
            self.info.classpath,
            self.info.kind,
            Stage.CALL,
            result.status,
            masked(payload),
            start_s=self.start_s,
            package_problems=self.package_problems,
        )
        options = self.options
        return report_of(
            base, result, options.weight, options.metric_weights, timeout_s=options.timeout_s, payload=payload
        )


def input_report(
    info: ProcessorInfo, payload: object, problems: Sequence[SchemaProblem], row_index: int | None = None
) -> TestReport:
    """The report of an input that was not sent."""
    shown = masked(payload) if isinstance(payload, dict) else {}
    message = _("the input does not fit a {kind}: {problems}").format(
        kind=info.kind.value, problems="; ".join(map(str, problems))
    )
    error = CallError("ValidationError", message)
    return TestReport(
        info.classpath,
        info.kind,
        Stage.INPUT,
        CallStatus.INVALID_INPUT,
        shown,
        problems=tuple(problems),
        error=error,
        row_index=row_index,
    )


def find_class(workspace: Path, classpath: ClassPath | str, discovery: Discovery | None = None) -> ProcessorInfo:
    """The class to try. Raises InputError that says what is there instead."""
    found = discovery or discover(workspace)
    resolution = found.resolve(classpath)
    if resolution.info is None:
        meant = ", ".join(resolution.suggestions)
        raise InputError(
            resolution.message,
            advice=_("Perhaps {meant} is meant.").format(meant=meant) if meant else _("Check the classpath."),
        )
    return resolution.info


@asynccontextmanager
async def open_trial(
    workspace: Path,
    classpath: ClassPath | str,
    *,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> AsyncIterator[Trial]:
    """Package, unpack and start a function; everything is gone when the block ends.

    Raises InputError for a class that is not there, PackageError, and FunctionFailed when import or setup fails.
    """
    async with prepare_trial(
        workspace, classpath, options=options, on_output=on_output, recorder=recorder, discovery=discovery
    ) as trial:
        await trial.start()
        yield trial


@asynccontextmanager
async def prepare_trial(
    workspace: Path,
    classpath: ClassPath | str,
    *,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> AsyncIterator[Trial]:
    """Like `open_trial`, for a caller that starts the function itself."""
    settings = options or TrialOptions()
    began = time.perf_counter()
    root = Path(tempfile.mkdtemp(prefix="agentic-rl-try-"))
    try:
        job = _Packaging(workspace, classpath, settings, root, discovery)
        info, problems = await _in_thread(job.run, job.cancel)
        python = await _interpreter(workspace, settings, job.requirements)
        spec = WorkerSpec(
            root / "package",
            info.kind,
            info.classpath,
            python=python,
            env=settings.env,
            concurrency=settings.concurrency,
            memory_limit_bytes=settings.memory_limit_bytes,
            call_timeout_s=settings.timeout_s,
            setup_timeout_s=settings.setup_timeout_s,
        )
        pool = FunctionPool(spec, size=settings.size, on_output=on_output)
        try:
            yield Trial(info, pool, settings, problems, recorder, began)
        finally:
            await pool.stop()
    finally:
        await asyncio.to_thread(shutil.rmtree, root, True)


class _Packaging:
    """The blocking part of opening a trial; `cancel` ends it at the next file."""

    def __init__(
        self,
        workspace: Path,
        classpath: ClassPath | str,
        options: TrialOptions,
        root: Path,
        discovery: Discovery | None,
    ) -> None:
        self._workspace = workspace
        self._classpath = classpath
        self._options = options
        self._root = root
        self._discovery = discovery
        self.requirements = b""
        self._canceled = threading.Event()

    def cancel(self) -> None:
        self._canceled.set()

    def run(self) -> tuple[ProcessorInfo, tuple[SourceProblem, ...]]:
        found = self._discovery or SourceIndex(self._workspace).scan()
        info = find_class(self._workspace, self._classpath, found)
        plan = package.plan(
            self._workspace,
            kind=info.kind,
            classpath=info.classpath,
            extra_files=self._options.extra_files,
            requirements=self._options.requirements,
            secrets=self._options.secrets,
            discovery=found,
        )
        archive = self._root / "package.zip"
        package.write(plan, archive, progress=self._check)
        package.unpack(archive, self._root / "package")
        archive.unlink()
        self.requirements = package.requirements_text(plan) or b""
        if self._options.requirements_policy is RequirementsPolicy.IGNORE:
            return info, tuple(item for item in plan.problems if not item.rule.startswith("requirements-"))
        return info, plan.problems

    def _check(self, *_progress: int) -> None:
        if self._canceled.is_set():
            raise InputError(_("the try was canceled"))


async def _in_thread(work: Callable[[], T], cancel: Callable[[], None]) -> T:
    """Run in a thread; when canceled, tell the work and wait for it, so that nothing writes behind our back."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise


async def _interpreter(workspace: Path, options: TrialOptions, requirements: bytes) -> Path | None:
    """What runs the function. Raises PackageError when its requirements are to be installed and cannot be."""
    base = options.python or workspace_python(workspace)
    if options.requirements_policy is not RequirementsPolicy.INSTALL:
        return base
    try:
        text = requirements.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PackageError(
            _("{requirements} is not UTF-8").format(requirements=options.requirements), advice=_("Save it as UTF-8.")
        ) from error
    return await environment(text, python=base, on_line=options.on_requirements)


def workspace_python(workspace: Path) -> Path | None:
    """The interpreter of the workspace's own environment."""
    candidate = workspace.absolute() / ".venv" / "bin" / "python"
    return candidate if candidate.exists() else None


def _register_key(payload: Payload) -> str:
    resource = payload.get("model_resource")
    key = resource.get("api_key") if isinstance(resource, Mapping) else None
    if not isinstance(key, str):
        return ""
    redact.add(key)
    return key
