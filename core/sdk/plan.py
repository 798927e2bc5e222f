"""What a job is to be, before anything is sent: from a job file, from code, or from both."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ConfigError, InputError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, Dataset, FunctionComponentModel

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import DatasetSpec, FunctionSpec, JobDocument

OPD = "pg_opd"
REINFORCEMENT = "reinforcement"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job as wanted. base is the folder that relative paths start from."""

    base: Path
    name: str = "agentic-rl"
    model: str | None = None
    teacher_model: str | None = None
    functions: tuple[AgenticRLFunctionComponent, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    type: str = REINFORCEMENT
    hyper_parameters: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    document: "JobDocument | None" = None

    @property
    def training_type(self) -> str:
        """A teacher makes any job an OPD job."""
        return OPD if self.teacher_model else self.type

    def path(self, text: str) -> Path:
        return self.base / text

    def of_kind(self, kind: FunctionKind) -> tuple[AgenticRLFunctionComponent, ...]:
        return tuple(component for component in self.functions if component.type is kind)

    def with_changes(self, **changes: Any) -> "JobPlan":
        """The plan with every given value that is not None."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def check(self) -> None:
        """What can be refused without looking at any file. Raises ConfigError naming all of it."""
        problems = list(self._problems())
        if problems:
            raise ConfigError(
                _("the job cannot be submitted: {problems}").format(problems="; ".join(problems)),
                advice=_("Name a job file, with init() or --config, or give what is missing yourself."),
                diagnostics=tuple(problems),
            )

    def _problems(self) -> Iterable[str]:
        rollouts = self.of_kind(FunctionKind.ROLLOUT)
        rewards = [part for part in self.functions if part.type is not FunctionKind.ROLLOUT]
        if not self.model:
            yield _("no model is named")
        if not any(data.type == "training" for data in self.datasets):
            yield _("there is no training data set")
        if self.type == OPD and not self.teacher_model:
            yield _("training type pg_opd needs a teacher_model")
        if not self.teacher_model and self.type != OPD:
            if not rollouts:
                yield _("reinforcement learning needs a rollout function")
            if not rewards:
                yield _("reinforcement learning needs at least one reward function")
        if len(rollouts) > 1:
            yield _("{count} rollout functions are given; a job runs one").format(count=len(rollouts))
        names = [part.name for part in self.functions if part.name]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield _("two functions are called {name!r}").format(name=name)
        for data in self.datasets:
            if (lack := data.missing()) is not None:
                yield _("a {type} data set of source {source} needs {lack}").format(
                    type=data.type, source=data.data_source_type.value, lack=lack
                )


def from_document(document: "JobDocument") -> JobPlan:
    """The plan of a checked job file. Raises ConfigError with every error the check found."""
    job = document.job
    if document.errors or job is None:
        count = len(document.errors)
        raise ConfigError(
            ngettext("{path} has {count} error", "{path} has {count} errors", count).format(
                path=document.path, count=count
            ),
            diagnostics=document.diagnostics,
            advice=_("Correct the lines named above, then try again."),
        )
    return JobPlan(
        base=job.workspace_dir,
        name=job.name,
        model=job.model.name,
        teacher_model=job.teacher_model or None,
        functions=tuple(_component(spec) for spec in job.functions),
        datasets=tuple(_dataset(spec) for spec in job.datasets),
        type=job.training.type,
        hyper_parameters=job.training.hyper_parameters or {},
        resources=job.training.resources or {},
        document=document,
    )


def _component(spec: "FunctionSpec") -> AgenticRLFunctionComponent:
    code = spec.fcmodel
    return AgenticRLFunctionComponent(
        type=spec.type,
        name=spec.name,
        timeout=spec.timeout,
        weight=spec.weight,
        reward_metric_weight=spec.reward_metric_weight,
        entity_id=spec.entity_id,
        fcmodel=FunctionComponentModel(
            zipdir=code.zipdir,
            classpath=code.classpath,
            filepath=code.filepath,
            classname=code.classname,
            requirements_path=code.requirements_path,
            extra_files=code.extra_files,
        ),
        runtime=spec.runtime,
    )


def _dataset(spec: "DatasetSpec") -> Dataset:
    storage = spec.mount_storage
    try:
        return Dataset.model_validate(
            {
                "type": spec.type,
                "data_source_type": spec.data_source_type,
                "file_name": spec.file_name,
                "file_id": spec.file_id,
                "download_url": spec.download_url,
                "mount_storage": storage.model_dump(exclude_none=True) if storage is not None else None,
            }
        )
    except ValidationError as error:
        raise ConfigError(_("a data set cannot be used: {reason}").format(reason=error.errors()[0]["msg"])) from error


def components(given: Any) -> tuple[AgenticRLFunctionComponent, ...] | None:
    """One component or several, as documented; None stays None. Raises InputError for anything else."""
    if given is None:
        return None
    parts = [given] if isinstance(given, AgenticRLFunctionComponent) else list(given)
    for part in parts:
        if not isinstance(part, AgenticRLFunctionComponent):
            raise InputError(
                _("{kind} is no function component").format(kind=type(part).__name__),
                advice=_("Pass AgenticRLFunctionComponent objects."),
            )
    return tuple(parts)


def datasets(*given: Dataset | Sequence[Dataset] | None) -> tuple[Dataset, ...] | None:
    """Data sets from any number of lists; None when no list was given at all."""
    if all(part is None for part in given):
        return None
    flat: list[Dataset] = []
    for part in given:
        if part is not None:
            flat += [part] if isinstance(part, Dataset) else list(part)
    return tuple(flat)


def fingerprint(plan: JobPlan, hashes: Mapping[str, str]) -> str:
    """What makes two submissions the same one: everything local that decides the job, nothing the service made up.

    hashes maps a function's label to the hash of its package.
    """
    functions = [
        {
            **component.model_dump(mode="json", exclude={"entity_id"}, exclude_none=True),
            "code": hashes.get(component.label) or component.entity_id,
        }
        for component in plan.functions
    ]
    facts = {
        "name": plan.name,
        "model": plan.model,
        "teacher": plan.teacher_model,
        "type": plan.training_type,
        "functions": functions,
        "datasets": [{**data.model_dump(mode="json"), "state": _state(plan, data)} for data in plan.datasets],
        "hyper_parameters": dict(plan.hyper_parameters),
        "resources": dict(plan.resources),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _state(plan: JobPlan, data: Dataset) -> list[int] | None:
    if data.file_name is None:
        return None
    try:
        facts = plan.path(data.file_name).stat()
    except OSError:
        return None
    return [facts.st_size, facts.st_mtime_ns]
