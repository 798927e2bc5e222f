"""What a job file asks for, in numbers: the side panel of an editor and the dialog before submitting."""

import math
from dataclasses import dataclass

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.document import JobDocument
from agentic_rl_tui.core.jobfile.facts import WorkspaceFacts
from agentic_rl_tui.core.jobfile.model import DatasetSpec, FunctionSpec, JobFile
from agentic_rl_tui.core.jobfile.price import Price, Unknown, estimate
from agentic_rl_tui.core.jobfile.scenario import Scenario, scenario_of
from agentic_rl_tui.core.jobfile.steps import (
    STEP_SECONDS,
    StepCount,
    calls_at_once,
    calls_needed,
    calls_per_step,
    steps_of,
)
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.processors import BadClassPath, ProcessorInfo


@dataclass(frozen=True, slots=True)
class FunctionMeaning:
    """A function and its class. calls_needed is what a step of `Meaning.step_seconds` asks for, None if unknown."""

    kind: str
    name: str | None
    class_text: str
    info: ProcessorInfo | None
    weight: float | None
    calls_at_once: int
    calls_needed: int | None

    @property
    def is_fast_enough(self) -> bool | None:
        return None if self.calls_needed is None else self.calls_at_once >= self.calls_needed


@dataclass(frozen=True, slots=True)
class DatasetMeaning:
    kind: str
    place: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class Meaning:
    """rollouts_total counts all attempts of the run, as (low, high). step_seconds is the wished length of a step."""

    scenario: Scenario
    model: str | None
    teacher: str | None
    functions: tuple[FunctionMeaning, ...]
    datasets: tuple[DatasetMeaning, ...]
    training_rows: int | None
    validation_rows: int | None
    steps: StepCount | None
    samples_per_step: int | None
    rollouts_total: tuple[int, int] | None
    step_seconds: float
    price: Price | Unknown


def meaning(
    document: JobDocument,
    facts: WorkspaceFacts | None = None,
    *,
    step_seconds: float = STEP_SECONDS,
    hours: float | None = None,
) -> Meaning:
    """What the job of a document is. facts default to those it was checked with.

    hours: for the price of a whole run. Raises ConfigError when the file has no readable structure.
    """
    job = document.job
    if job is None:
        raise ConfigError(_("A file with broken syntax has no meaning yet."), advice=_("Correct its syntax first."))
    facts = facts or document.facts
    datasets = tuple(_dataset(data, facts) for data in job.datasets)
    training = _sum_rows(datasets, "training")
    hyper = job.training.hyper_parameters
    steps = steps_of(training, hyper)
    samples = calls_per_step("rollout", hyper)
    return Meaning(
        scenario=scenario_of(job),
        model=job.model.name,
        teacher=job.teacher_model,
        functions=tuple(_function(spec, job, facts, step_seconds) for spec in job.functions),
        datasets=datasets,
        training_rows=training,
        validation_rows=_sum_rows(datasets, "validation"),
        steps=steps,
        samples_per_step=samples,
        rollouts_total=(steps.low * samples, steps.high * samples) if steps and samples else None,
        step_seconds=step_seconds,
        price=estimate(job, hours=hours),
    )


def _dataset(data: DatasetSpec, facts: WorkspaceFacts | None) -> DatasetMeaning:
    mount = data.mount_storage.file_path if data.mount_storage else None
    place = data.file_name or data.file_id or data.download_url or mount or ""
    rows = facts.rows(data.file_name) if facts is not None and data.file_name else None
    return DatasetMeaning(data.type, place, rows)


def _sum_rows(datasets: tuple[DatasetMeaning, ...], kind: str) -> int | None:
    counts = [data.rows for data in datasets if data.kind == kind]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _function(spec: FunctionSpec, job: JobFile, facts: WorkspaceFacts | None, step_seconds: float) -> FunctionMeaning:
    info = None
    if facts is not None and not spec.entity_id:
        try:
            info = facts.find_class(spec.fcmodel.placed_classpath())
        except BadClassPath:
            info = None
    calls = calls_per_step(spec.type.value, job.training.hyper_parameters)
    runtime = spec.runtime.model_dump(exclude_none=True) if spec.runtime else {}
    return FunctionMeaning(
        kind=spec.type.value,
        name=spec.name,
        class_text=spec.fcmodel.class_text or spec.entity_id or "",
        info=info,
        weight=spec.weight,
        calls_at_once=calls_at_once(runtime),
        calls_needed=None if calls is None else math.ceil(calls_needed(calls, step_seconds)),
    )
