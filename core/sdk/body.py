"""The body of a job creation, each entry built from its own component."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.client.function_answers import runtime_body
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, Dataset
from agentic_rl_tui.core.sdk.plan import JobPlan

_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d*)")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class ReadyFunction:
    """A component with the id the service gave it."""

    component: AgenticRLFunctionComponent
    entity_id: str
    layer_code: str | None = None


@dataclass(frozen=True, slots=True)
class ReadyDataset:
    dataset: Dataset
    file_id: str | None = None


def compose(
    plan: JobPlan, functions: Sequence[ReadyFunction], datasets: Sequence[ReadyDataset], *, job_name: str
) -> dict[str, Any]:
    """The whole body. Only fields that nobody set are left out: what a user wrote is sent, empty or not.

    Data sets of type ``testing`` take no part in a job.
    """
    rollout = next((part for part in functions if part.component.type is FunctionKind.ROLLOUT), None)
    rewards = [part for part in functions if part.component.type is FunctionKind.REWARD]
    rewards += [part for part in functions if part.component.type is FunctionKind.GROUP_REWARD]
    body: dict[str, Any] = {
        "model": plan.model,
        "training_datasets": [dataset_entry(part) for part in datasets if part.dataset.type == "training"],
        "validation_datasets": [dataset_entry(part) for part in datasets if part.dataset.type == "validation"],
        "rollout": function_entry(rollout) if rollout is not None else None,
        "rewards": [function_entry(part) for part in rewards],
        "hyper_parameters": numbers(plan.hyper_parameters),
        "resource_config": dict(plan.resources),
        "training_type": plan.training_type,
        "teacher_model": plan.teacher_model or None,
        "job_name": job_name,
    }
    return {key: value for key, value in body.items() if value not in (None, [], {})}


def function_entry(ready: ReadyFunction) -> dict[str, Any]:
    """One function of the body; the runtime lies flat beside its own fields."""
    component = ready.component
    key = "rollout_id" if component.type is FunctionKind.ROLLOUT else "reward_id"
    entry: dict[str, Any] = {
        key: ready.entity_id,
        "name": component.name or default_name(ready),
        "weight": component.weight,
        "timeout": whole(component.timeout),
        # The service takes these for rewards alone.
        "reward_metric_weight": component.reward_metric_weight if component.type is FunctionKind.REWARD else None,
        "layer_code": ready.layer_code,
    }
    return {name: value for name, value in entry.items() if value is not None} | runtime_body(component.runtime)


def dataset_entry(ready: ReadyDataset) -> dict[str, Any]:
    data = ready.dataset
    entry = {
        "type": data.type,
        "data_source_type": data.data_source_type.value,
        "file_name": data.file_name,
        "file_id": ready.file_id or data.file_id,
        "download_url": data.download_url,
        "mount_storage": data.mount_storage,
    }
    return {name: value for name, value in entry.items() if value is not None}


def default_name(ready: ReadyFunction) -> str:
    """A name for a function without one, the same every time: ``reward-1f2e3d4c``."""
    source = ready.component.fcmodel.classpath or ready.entity_id
    kind = ready.component.type.value
    return f"{kind}-{hashlib.sha256(f'{kind} {source}'.encode()).hexdigest()[:8]}"


def numbers(value: Any) -> Any:
    """Texts that are numbers as numbers, at every depth: YAML 1.1 reads ``2e-6`` as text."""
    if isinstance(value, Mapping):
        return {key: numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [numbers(inner) for inner in value]
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and (number := float(text)) not in (float("inf"), float("-inf")):
            return number
    return value


def whole(value: float | None) -> float | int | None:
    """A number without a fraction as an integer, the way it was written."""
    return int(value) if value is not None and float(value).is_integer() else value
