"""A job as a new job file: the same again, or going on from what it learned."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import Conflict, InputError, NotFound
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.facade import AgenticRL
    from agentic_rl_tui.core.sdk.origins import Origin

BEST = "best"
_UNIQUE_ENDING = re.compile(r"-[0-9a-f]{8}$")
_MOST_TRIES = 1000


@dataclass(frozen=True, slots=True)
class Start:
    """A model that a new job can start from. is_output: the end of the job, not a step on its way."""

    name: str
    step: int | None = None
    validation: float | None = None
    reward: float | None = None
    is_best: bool = False
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Cloned:
    """The file that was written, and what its reader should know of it."""

    path: Path
    notes: tuple[str, ...]


async def checkpoints(client: "AgenticRL", job: Job) -> tuple[Start, ...]:
    """What a job left to go on from: the best by validation first, then its output, then the others, latest first."""
    found = [_start(row) for row in await _table(client, job) if row.get("is_kept", True) and row.get("name")]
    output = job.finetuned_output
    if output and all(start.name != output for start in found):
        found.append(Start(output, is_output=True, is_best=not found))
    return tuple(sorted(found, key=lambda start: (not start.is_best, not start.is_output, -(start.step or 0))))


async def _table(client: "AgenticRL", job: Job) -> Sequence[Mapping[str, Any]]:
    """The checkpoints that only the local platform tells of."""
    if not client.profile.is_local:
        return ()
    from agentic_rl_tui.core.client.transport import Request, checked_id

    try:
        answer = await client.transport.call(Request("GET", f"//local/v1/jobs/{checked_id(job.job_id)}/checkpoints"))
    except NotFound:
        return ()
    body = answer.body if isinstance(answer.body, dict) else {}
    rows = body.get("checkpoints")
    rows = rows.get("checkpoints") if isinstance(rows, dict) else rows
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else ()


def _start(row: Mapping[str, Any]) -> Start:
    return Start(
        str(row["name"]),
        row.get("step"),
        row.get("validation"),
        row.get("reward"),
        bool(row.get("is_best")),
        bool(row.get("is_final")),
    )


async def clone(
    client: "AgenticRL", job_id: str, *, output: Path | str | None = None, checkpoint: str | None = None
) -> Cloned:
    """Write a job's settings as a new job file and give its path; no file is ever written over.

    output: the file, or a folder for it; by default the workspace. checkpoint: start from this checkpoint or model
    of the job instead of from its base model; ``best`` takes the best one by validation. Raises Conflict when
    `output` is there already, NotFound for a job or checkpoint there is not, InputError when the disk refuses.
    """
    job = await client.get(job_id)
    start = None if checkpoint is None else await _chosen(client, job, checkpoint)
    origin = client.session.origins().get(job.job_id)
    folder, target = _target(client, origin, output)
    text, notes = clone_text(job, origin, start, folder=folder)
    path = _write(text, folder, target, _stem(job, is_going_on=start is not None))
    return Cloned(path, notes)


async def _chosen(client: "AgenticRL", job: Job, wanted: str) -> Start:
    known = await checkpoints(client, job)
    if wanted == BEST and known:
        return known[0]
    found = next((start for start in known if wanted in (start.name, f"step-{start.step}", str(start.step))), None)
    if found is None:
        names = ", ".join(start.name for start in known) or _("none")
        raise NotFound(
            _("{job_id} has no checkpoint {name!r}").format(job_id=job.job_id, name=wanted),
            advice=_("Checkpoints to go on from: {names}.").format(names=names),
        )
    return found


def _target(client: "AgenticRL", origin: "Origin | None", output: Path | str | None) -> tuple[Path, Path | None]:
    """The folder of the new file, and the file itself where it was named."""
    workspace = client.settings.workspace
    if output is not None:
        named = workspace / Path(output).expanduser()
        return (named, None) if named.is_dir() else (named.parent, named)
    if origin is not None and Path(origin.base).is_dir() and Path(origin.base).is_relative_to(workspace):
        # Paths inside a job file start from its own folder.
        return Path(origin.base), None
    return workspace, None


def _stem(job: Job, *, is_going_on: bool) -> str:
    name = re.sub(r"[^\w.-]+", "-", base_name(job)).strip("-.")[:80] or "job"
    return f"{name}-{'continued' if is_going_on else 'clone'}"


def base_name(job: Job) -> str:
    """A job's name without the ending that submitting gave it."""
    return _UNIQUE_ENDING.sub("", job.job_name or "") or job.job_id


def _write(text: str, folder: Path, target: Path | None, stem: str) -> Path:
    raw = text.encode("utf-8", "replace")
    names = [target] if target is not None else _free_names(folder, stem)
    for path in names:
        try:
            with path.open("xb") as file:
                file.write(raw)
        except FileExistsError:
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(_("{path} cannot be written: {reason}").format(path=path, reason=reason)) from error
        return path
    raise Conflict(
        _("{path} exists already").format(path=target or folder / f"{stem}.yaml"), advice=_("Name another file.")
    )


def _free_names(folder: Path, stem: str) -> Iterator[Path]:
    yield folder / f"{stem}.yaml"
    for number in range(2, _MOST_TRIES):
        yield folder / f"{stem}-{number}.yaml"


def clone_text(
    job: Job, origin: "Origin | None", start: Start | None = None, *, folder: Path | None = None
) -> tuple[str, tuple[str, ...]]:
    """The text of the new job file, and what its reader should know; the same sentences stand in its first lines."""
    values = values_of_job(job, origin)
    notes = [_came_from(job)]
    if start is not None:
        values["model"] = {"name": start.name}
        notes.append(_goes_on(start))
    text = _edited(origin, values) if origin is not None else None
    if text is None:
        text = _rendered(values)
        notes += _lacks(origin, values)
    if origin is not None and folder is not None and Path(origin.base) != folder:
        notes.append(_("Paths below start from {folder}.").format(folder=origin.base))
    newline = "\r\n" if "\r\n" in text else "\n"
    head = "".join(f"# {redact(plain(note, keep_newlines=False))}{newline}" for note in notes)
    return head + text.removeprefix("\ufeff"), tuple(notes)


def _came_from(job: Job) -> str:
    made = job.create_time or "?"
    text = _("Cloned from job {name} ({job_id}), which was made {when} and is {state}.")
    return text.format(name=job.job_name or job.job_id, job_id=job.job_id, when=made, state=job.status.lower())


def _goes_on(start: Start) -> str:
    if start.validation is not None:
        text = _("Goes on from {name}: step {step}, validation {validation:.3f}.")
        return text.format(name=start.name, step=start.step, validation=start.validation)
    return _("Goes on from {name}.").format(name=start.name)


def _lacks(origin: "Origin | None", values: Mapping[str, Any]) -> Iterator[str]:
    """What a text made of known values leaves for its reader to fill in."""
    if origin is None:
        yield _("The service does not tell which functions the job used: name them here.")
    elif origin.left_out:
        yield _("Values of environment variables are not kept, fill them in: {names}.").format(
            names=", ".join(origin.left_out)
        )
    if any(data.get("file_id") and not data.get("file_name") for data in values.get("datasets") or ()):
        yield _("Data sets are named by the ids that they have on the service.")


def values_of_job(job: Job, origin: "Origin | None") -> dict[str, Any]:
    """A job as the mapping of a job file: as it was submitted from here, else what the service tells."""
    if origin is not None:
        return {**origin.values, "name": base_name(job)}
    values: dict[str, Any] = {"name": base_name(job), "model": {"name": job.model or job.base_model}}
    if job.teacher_model:
        values["teacher_model"] = job.teacher_model
    values["datasets"] = [
        {"type": use, "data_source_type": "file_id", "file_id": file_id}
        for use, ids in (("training", job.training_file_ids), ("validation", job.validation_file_ids))
        for file_id in ids
        if file_id
    ]
    training: dict[str, Any] = {}
    if job.training_type:
        training["type"] = job.training_type
    training["hyper_parameters"] = dict(job.hyper_parameters)
    values["training"] = training
    return values


def _rendered(values: Mapping[str, Any]) -> str:
    from agentic_rl_tui.core.jobfile.render import block_lines

    parts = ["\n".join(block_lines({key: value}, 0)) for key, value in values.items() if value not in (None, {}, [])]
    return "\n\n".join(parts) + "\n"


def _edited(origin: "Origin", values: Mapping[str, Any]) -> str | None:
    """The job file with its comments where it still is what was submitted, changed where the job differs from it.

    None where it is another file by now, or the job had other functions or data than it names.
    """
    from agentic_rl_tui.core.jobfile import CannotEdit, check
    from agentic_rl_tui.core.jobfile.operations import REMOVED, apply_all
    from agentic_rl_tui.core.models.errors import ConfigError
    from agentic_rl_tui.core.sdk.origins import values_of
    from agentic_rl_tui.core.sdk.plan import from_document

    text = origin.unchanged_text()
    if text is None or origin.path is None:
        return None
    try:
        own, _left_out = values_of(from_document(check(text, path=origin.path)))
    except ConfigError:
        return None
    if any(own.get(key) != values.get(key) for key in ("functions", "datasets")):
        return None
    changes: list[tuple[tuple[str | int, ...], Any]] = []
    for path in (("name",), ("model", "name"), ("teacher_model",)):
        wanted = _at(values, path)
        if wanted != _at(own, path):
            changes.append((path, REMOVED if wanted is None else wanted))
    for section in ("hyper_parameters", "resources"):
        before, after = (_at(side, ("training", section)) or {} for side in (own, values))
        changes += [(("training", section, key), value) for key, value in after.items() if before.get(key) != value]
        changes += [(("training", section, key), REMOVED) for key in before if key not in after]
    try:
        return apply_all(text, changes)
    except CannotEdit:
        return None


def _at(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = values
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
