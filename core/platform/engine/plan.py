"""What a job will do, worked out and checked before any function starts."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.job_request import DatasetEntry, JobRequest
from agentic_rl_tui.core.platform.engine import checkpoints, hyper
from agentic_rl_tui.core.platform.engine.data import Rows, total_steps
from agentic_rl_tui.core.platform.engine.hyper import HyperParameters
from agentic_rl_tui.core.platform.ports import DataFiles, JobRecord

_TRAINING_TYPES = (None, "reinforcement", "pg_opd")


@dataclass(frozen=True, slots=True)
class Plan:
    """start is the saved state that the job goes on from, None where it begins anew."""

    job: JobRecord
    hyper: HyperParameters
    rows: Rows
    validation: Rows | None
    batch_size: int
    total_steps: int
    is_opd: bool
    scenario: str
    output: str
    start: dict[str, Any] | None
    warnings: tuple[str, ...]


async def make_plan(job: JobRecord, files: DataFiles, artefacts: Path) -> Plan:
    """Raises ConfigError, InputError or NotFound in words for the user."""
    request = job.request
    settings = hyper.read(request.hyper_parameters)
    if not request.model:
        raise ConfigError("the job names no model", advice="Set model.name.")
    if request.training_type not in _TRAINING_TYPES:
        raise ConfigError(
            f"training type {request.training_type!r} cannot run here", advice="Use reinforcement or pg_opd."
        )
    is_opd = request.training_type == "pg_opd" or bool(request.teacher_model)
    if is_opd and not request.teacher_model:
        raise ConfigError("a pg_opd job needs a teacher_model", advice="Name one, or use training type reinforcement.")
    if not is_opd and request.rollout is None:
        raise ConfigError("the job has no rollout function", advice="Only pg_opd jobs can do without one.")
    start = await asyncio.to_thread(checkpoints.load_start, artefacts, request.model)
    rows = await _rows(files, request.training_datasets, request.training_file_ids, "training")
    if rows is None:
        raise ConfigError("the job has no training data", advice="Add a data set of type training.")
    if len(rows) == 0:
        raise ConfigError("the training data has no rows", advice="Upload a file with at least one row.")
    validation = await _rows(files, request.validation_datasets, request.validation_file_ids, "validation")
    batch_size = settings.batch_size if "batch_size" in settings.given else min(settings.batch_size, len(rows))
    if len(rows) < batch_size:
        raise ConfigError(
            f"the training data has {len(rows)} rows, fewer than batch_size {batch_size}",
            advice=f"Use a batch_size below {len(rows)}, or more data.",
        )
    return Plan(
        job=job,
        hyper=settings,
        rows=rows,
        validation=validation if validation is not None and len(validation) else None,
        batch_size=batch_size,
        total_steps=total_steps(len(rows), batch_size, settings.n_epochs),
        is_opd=is_opd,
        scenario=_scenario(request, is_opd=is_opd),
        output=checkpoints.output_name(request.model, job.job_id),
        start=start,
        warnings=tuple(_warnings(request, settings, len(rows), batch_size, is_opd=is_opd)),
    )


async def _rows(files: DataFiles, entries: list[DatasetEntry], file_ids: list[str], kind: str) -> Rows | None:
    for entry in entries:
        if entry.file_id is None:
            raise ConfigError(
                f"a {kind} data set comes from {entry.data_source_type}, which the local platform cannot read",
                advice="Upload the file and use its file id.",
            )
    named = {entry.file_id: entry.file_name or entry.file_id for entry in entries if entry.file_id}
    named |= {file_id: file_id for file_id in file_ids if file_id not in named}
    if not named:
        return None
    paths = [await files.path(file_id) for file_id in named]
    return await asyncio.to_thread(Rows(list(named.values()), paths).scan)


def _scenario(request: JobRequest, *, is_opd: bool) -> str:
    parts = ["OPD: teacher"] if is_opd else ["RL:"]
    if not is_opd:
        return "RL: rollout + reward" if request.rewards else "RL: rollout with its own reward"
    if request.rollout is not None:
        parts.append("rollout")
    if request.rewards:
        parts.append("reward")
    return " + ".join(parts)


def _warnings(request: JobRequest, settings: HyperParameters, rows: int, batch_size: int, *, is_opd: bool) -> list[str]:
    found = []
    if settings.ignored:
        found.append(f"hyper_parameters that mean nothing and are ignored: {', '.join(settings.ignored)}")
    if rows == batch_size:
        found.append("batch_size equals the number of rows; the service wants more rows than that")
    if settings.n_rollouts == 1 and not (is_opd and not request.rewards):
        found.append("n_rollouts is 1: a group of one has no advantage, so rewards cannot teach anything")
    if settings.ppo_mini_batch_size > batch_size * settings.n_rollouts:
        found.append("ppo_mini_batch_size is above batch_size x n_rollouts; the whole step is one mini-batch")
    return found
