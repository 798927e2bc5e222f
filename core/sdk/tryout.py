"""What a try of a function takes from the workspace around it: inputs, the job's settings, a model for rollouts."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.functions.harness import TrialOptions
from agentic_rl_tui.core.functions.harness_inputs import ModelResource, check_input
from agentic_rl_tui.core.functions.harness_trial import DEFAULT_TIMEOUT_S
from agentic_rl_tui.core.jobfile import FunctionSpec, load
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import BadClassPath, ProcessorInfo
from agentic_rl_tui.core.settings import Settings
from agentic_rl_tui.core.workspaces import job_files

RESOURCES = "resources"
_MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file below ``resources``. fits tells whether it is an input of the kind that was asked for."""

    path: Path
    fits: bool


def input_files(workspace: Path, kind: FunctionKind) -> list[InputFile]:
    """The JSON files of the workspace's resources, fitting ones first."""
    found = []
    for path in sorted((workspace / RESOURCES).glob("*.json")):
        try:
            value = orjson.loads(path.read_bytes()) if path.stat().st_size <= _MAX_BYTES else None
        except (OSError, orjson.JSONDecodeError):
            value = None
        told = value.get("func_type") if isinstance(value, dict) else None
        is_own = told == kind.value if isinstance(told, str) else value is not None and not check_input(kind, value)
        found.append(InputFile(path, is_own))
    return sorted(found, key=lambda item: (not item.fits, item.path.name))


def data_files(workspace: Path) -> list[Path]:
    """The data sets that job files of a workspace name, training first, then every other one beside them."""
    named: dict[Path, None] = {}
    for path in job_files(workspace):
        try:
            job = load(path).job
        except ArlError:
            continue
        for data in sorted(job.datasets if job else (), key=lambda item: item.type != "training"):
            if data.file_name and (workspace / data.file_name).is_file():
                named[Path(os.path.normpath(workspace / data.file_name))] = None
    for path in sorted(workspace.glob("*.jsonl")) + sorted((workspace / "data").glob("*.jsonl")):
        named.setdefault(path, None)
    return list(named)


def options_for(workspace: Path, info: ProcessorInfo) -> TrialOptions:
    """The settings that the first job file naming a class gives it."""
    spec = next(_specs_of(workspace, info), None)
    if spec is None:
        return TrialOptions()
    return TrialOptions(
        timeout_s=float(spec.timeout or DEFAULT_TIMEOUT_S),
        env={key: str(value) for key, value in ((spec.runtime and spec.runtime.env) or {}).items()},
        weight=1.0 if spec.weight is None else spec.weight,
        metric_weights=spec.reward_metric_weight or {},
    )


def runtime_of(workspace: Path, info: ProcessorInfo) -> dict[str, Any] | None:
    """The first ``runtime`` that a job file gives a class."""
    runtimes = (spec.runtime for spec in _specs_of(workspace, info) if spec.runtime is not None)
    runtime = next(runtimes, None)
    return None if runtime is None else runtime.model_dump(exclude_none=True)


def _specs_of(workspace: Path, info: ProcessorInfo) -> Iterator[FunctionSpec]:
    """Where readable job files name a class."""
    for path in job_files(workspace):
        try:
            job = load(path).job
        except ArlError:
            continue
        for spec in job.functions if job else ():
            try:
                named = spec.fcmodel.placed_classpath()
            except BadClassPath:
                continue
            if (named.path, named.class_name) == (info.path, info.class_name):
                yield spec


def own_model(settings: Settings) -> ModelResource | None:
    """The model of ``[try]`` in the settings file: base_url, model, api_key_env. None where there is none."""
    base_url, model = settings.get("try.base_url"), settings.get("try.model")
    if not base_url or not model:
        return None
    variable = settings.get("try.api_key_env")
    key = os.environ.get(str(variable), "") if variable else ""
    return ModelResource(str(model), str(base_url), key or "none")


def lacks_model(payload: Mapping[str, Any]) -> bool:
    """Whether an input names no model that could answer: none at all, or one with a key that stands for another."""
    resource = payload.get("model_resource")
    key = str(resource.get("api_key") or "") if isinstance(resource, Mapping) else ""
    return not key or "•" in key or key.lower().startswith(("your", "<", "sk-xxx"))


def with_model(payload: Mapping[str, Any], resource: ModelResource) -> dict[str, Any]:
    return {**payload, "model_resource": resource.payload()}


def with_key(payload: Mapping[str, Any], resource: ModelResource | None) -> dict[str, Any]:
    """A shown input with the real key in the place of the masked one."""
    shown = payload.get("model_resource")
    if resource is None or not isinstance(shown, Mapping) or shown.get("base_url") != resource.base_url:
        return dict(payload)
    return {**payload, "model_resource": {**shown, "api_key": resource.api_key}}
