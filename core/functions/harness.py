"""Trying a function on this machine: from a clean copy of the exact package, in its own process.

`try_function` makes one call, `sweep` many; `open_trial` keeps a function open for more calls.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.functions.calls import CallError, CallStatus
from agentic_rl_tui.core.functions.discovery import Discovery, discover
from agentic_rl_tui.core.functions.harness_answer import package_cautions
from agentic_rl_tui.core.functions.harness_inputs import (
    DEFAULT_ROLLOUTS,
    ModelResource,
    Payload,
    agent_output,
    check_input,
    group_input,
    load_input,
    made_up_outputs,
    masked,
    needed,
    read_row,
    read_rows,
    reward_input,
    rollout_input,
    row_inputs,
)
from agentic_rl_tui.core.functions.harness_report import RowResult, Stage, SweepReport, TestReport, Verdict
from agentic_rl_tui.core.functions.harness_trial import (
    Recorder,
    Trial,
    TrialOptions,
    find_class,
    input_report,
    open_trial,
    prepare_trial,
)
from agentic_rl_tui.core.functions.output import OnOutput, OutputLine
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath, ProcessorInfo

__all__ = [
    "ModelResource",
    "Recorder",
    "RolledOut",
    "RowResult",
    "RowSource",
    "Stage",
    "SweepReport",
    "TestReport",
    "Trial",
    "TrialOptions",
    "Verdict",
    "build_input",
    "open_trial",
    "read_rows",
    "roll_out",
    "rolled_inputs",
    "row_inputs",
    "sweep",
    "try_function",
]


@dataclass(frozen=True, slots=True)
class RowSource:
    """A data row to build an input from. answers: what the assistant says, one rollout each.

    rollout: a rollout class of the workspace that makes the rollouts instead, `rollouts` of them, with `resource`.
    """

    row: Mapping[str, Any]
    index: int = 0
    answers: Sequence[str] = ()
    rollout: ClassPath | str | None = None
    rollouts: int = DEFAULT_ROLLOUTS
    resource: ModelResource | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, index: int, **options: Any) -> "RowSource":
        """Row `index` (from 0) of a data file. Raises InputError."""
        return cls(read_row(path, index), index, **options)


async def try_function(
    workspace: Path,
    classpath: ClassPath | str,
    source: Mapping[str, Any] | str | Path | RowSource,
    *,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> TestReport:
    """Call a function once and report everything about it.

    source: the input itself (dictionary, JSON text, path of a JSON file), or a data row to build it from. A function
    that does not start is a report too. Raises InputError and PackageError for what the user can mend beforehand.
    """
    found = discovery or await asyncio.to_thread(discover, workspace)
    info = find_class(workspace, classpath, found)
    shared: dict[str, Any] = {"options": options, "recorder": recorder, "discovery": found}
    if isinstance(source, RowSource):
        payload = await build_input(workspace, info, source, on_output=on_output, **shared)
    else:
        payload = load_input(source)
    row_index = source.index if isinstance(source, RowSource) else None
    if problems := check_input(info.kind, payload):
        return input_report(info, payload, problems, row_index)
    lines: list[OutputLine] = []

    def keep(line: OutputLine) -> None:
        lines.append(line)
        if on_output is not None:
            on_output(line)

    async with prepare_trial(workspace, classpath, on_output=keep, **shared) as trial:
        try:
            await trial.start()
        except FunctionFailed as error:
            report = _not_started(trial, payload, error)
        else:
            report = await trial.run(payload)
    return replace(report, lines=tuple(lines), row_index=row_index)


def _not_started(trial: Trial, payload: Payload, error: FunctionFailed) -> TestReport:
    traceback = error.traceback or ""
    problems = trial.package_problems
    return TestReport(
        trial.info.classpath,
        trial.info.kind,
        Stage.START,
        {"timeout": CallStatus.TIMEOUT, "died": CallStatus.DIED}.get(error.kind, CallStatus.RAISED),
        masked(payload),
        error=CallError("FunctionFailed", error.message, traceback, traceback),
        warnings=tuple(package_cautions(problems)),
        package_problems=problems,
    )


async def build_input(
    workspace: Path,
    info: ProcessorInfo,
    source: RowSource,
    *,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> Payload:
    """The input that a row gives for a class; runs the source's rollout class where there is one.

    Raises InputError when a rollout is needed and cannot be made, FunctionFailed when it does not answer.
    """
    if info.kind is FunctionKind.ROLLOUT:
        return rollout_input(source.row, needed(source.resource), row_index=source.index, **source.sampling)
    wanted = 1 if info.kind is FunctionKind.REWARD else max(1, source.rollouts)
    if source.rollout is not None:
        (made,) = await roll_out(
            workspace,
            source.rollout,
            [(source.index, source.row, needed(source.resource))],
            rollouts=wanted,
            sampling=source.sampling,
            options=options,
            on_output=on_output,
            recorder=recorder,
            discovery=discovery,
        )
        if made.error is not None:
            raise made.error
        outputs = made.outputs
    elif source.answers:
        outputs = [agent_output(source.row, answer) for answer in source.answers]
    elif info.kind is FunctionKind.REWARD:
        outputs = [agent_output(source.row)]
    else:
        outputs = made_up_outputs(source.row, wanted)
    if info.kind is FunctionKind.REWARD:
        return reward_input(source.row, outputs[0], row_index=source.index)
    return group_input(source.row, outputs, row_index=source.index)


@dataclass(frozen=True, slots=True)
class RolledOut:
    """The finished rollouts of one row. error: why one of them failed, which leaves nothing to score."""

    index: int
    row: Mapping[str, Any]
    outputs: list[dict[str, Any]]
    error: FunctionFailed | None = None


async def roll_out(
    workspace: Path,
    rollout: ClassPath | str,
    rows: Iterable[tuple[int, Mapping[str, Any], ModelResource]],
    *,
    rollouts: int = 1,
    sampling: Mapping[str, Any] | None = None,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> list[RolledOut]:
    """`rollouts` of each row, rows in their order, as many at once as the options allow. Raises like `open_trial`."""
    async with open_trial(
        workspace, rollout, options=options, on_output=on_output, recorder=recorder, discovery=discovery
    ) as trial:
        turns = asyncio.Semaphore(trial.slots)

        async def play(payload: Payload) -> TestReport:
            async with turns:
                return await trial.run(payload)

        played = []
        async with asyncio.TaskGroup() as group:
            for index, row, resource in rows:
                payloads = [
                    rollout_input(row, resource, row_index=index, rollout=number, **(sampling or {}))
                    for number in range(rollouts)
                ]
                played.append((index, row, [group.create_task(play(payload)) for payload in payloads]))
    return [_rolled_out(index, row, [task.result() for task in tasks], rollout) for index, row, tasks in played]


def _rolled_out(
    index: int, row: Mapping[str, Any], reports: Sequence[TestReport], rollout: ClassPath | str
) -> RolledOut:
    outputs = []
    for report in reports:
        output = (report.output or {}).get("agent_output")
        if not report.is_ok or not isinstance(output, dict):
            why = report.error.message if report.error else _("it answered without an agent_output")
            message = _("the rollout {rollout} failed: {why}").format(rollout=rollout, why=why)
            return RolledOut(
                index, row, [], FunctionFailed(message, traceback=report.error.traceback if report.error else None)
            )
        outputs.append(output)
    return RolledOut(index, row, outputs)


def rolled_inputs(kind: FunctionKind, made: Iterable[RolledOut]) -> Iterator[tuple[int, Payload]]:
    """(index, input) of a reward or group reward for each row whose rollouts are all there."""
    for item in made:
        if item.error is not None:
            continue
        if kind is FunctionKind.REWARD:
            yield item.index, reward_input(item.row, item.outputs[0], row_index=item.index)
        else:
            yield item.index, group_input(item.row, item.outputs, row_index=item.index)


async def sweep(
    workspace: Path,
    classpath: ClassPath | str,
    inputs: Iterable[tuple[int, Payload]],
    *,
    options: TrialOptions | None = None,
    on_output: OnOutput | None = None,
    on_row: Callable[[RowResult], None] | None = None,
    recorder: Recorder | None = None,
    discovery: Discovery | None = None,
) -> SweepReport:
    """Call a function for many inputs, pairs of a row index and an input, as many at once as the options allow.

    Inputs are taken one by one, so they may be made while the sweep runs. Cancel the task to stop; `on_row` has told
    what was done until then. Raises like `open_trial`.
    """
    settings = options or TrialOptions()
    results: list[RowResult] = []
    pending = iter(inputs)
    async with open_trial(
        workspace, classpath, options=settings, on_output=on_output, recorder=recorder, discovery=discovery
    ) as trial:

        async def work() -> None:
            for index, payload in pending:
                result = RowResult.of(index, await trial.run(payload, row_index=index))
                results.append(result)
                if on_row is not None:
                    on_row(result)

        async with asyncio.TaskGroup() as group:
            for _ in range(trial.slots):
                group.create_task(work())
        info, problems, restarts = trial.info, trial.package_problems, trial.restarts
    return SweepReport.of(
        info.classpath,
        info.kind,
        results,
        timeout_s=settings.timeout_s,
        restarts=restarts,
        package_problems=problems,
    )
