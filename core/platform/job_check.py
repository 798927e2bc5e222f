"""Whether a job's request can be taken, as the service would judge it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.store.functions import Entity

_MAX_NAME_CHARS = 300
_OPD = "pg_opd"
_RL = "reinforcement"

_WHOLE = {
    "lr_warmup_steps": (-1, 1 << 31),
    "n_epochs": (1, 200),
    "batch_size": (1, 100_000),
    "n_rollouts": (1, 1024),
    "ppo_mini_batch_size": (1, 100_000),
    "max_length": (1, 131_072),
    "max_prompt_length": (1, 131_072),
    "eval_steps": (1, 999_999),
    "save_steps": (1, 999_999),
    "save_total_limit": (1, 200),
}
_REAL = {"kl_loss_coef": (0.0, 10.0), "learning_rate": (0.0, 1.0)}
_WORDS = {
    "algorithm": ("gspo", "grpo", "dapo"),
    "lr_scheduler_type": ("cosine", "linear", "constant"),
    "save_strategy": ("steps", "epoch", "no"),
}


class JobCheck:
    """Refuses, with the name of the field, what no job can be made of.

    has_file and entity look up what the request refers to.
    """

    def __init__(self, *, has_file: Callable[[str], bool], entity: Callable[[str], Entity | None]) -> None:
        self._has_file = has_file
        self._entity = entity

    def training_type(self, request: Mapping[str, Any]) -> str:
        """Check a request; the training type it asks for. Raises Rejected."""
        wire.text(request, "model", limit=500)
        name = request.get("job_name")
        if name is not None and (not isinstance(name, str) or len(name) > _MAX_NAME_CHARS):
            raise wire.invalid(f"job_name must be a text of at most {_MAX_NAME_CHARS} characters")
        training_type = self._type(request)
        self._datasets(request, "training", is_required=True)
        self._datasets(request, "validation", is_required=False)
        self._functions(request, is_required=training_type == _RL)
        hyper_parameters(_object(request, "hyper_parameters"))
        _object(request, "resource_config")
        return training_type

    def _type(self, request: Mapping[str, Any]) -> str:
        teacher = request.get("teacher_model")
        if teacher is not None and (not isinstance(teacher, str) or not teacher.strip()):
            raise wire.invalid("teacher_model must be a valid model ID")
        training_type = request.get("training_type") or (_OPD if teacher else _RL)
        if training_type not in (_RL, _OPD):
            raise wire.invalid(f"training_type {training_type!r} is not supported here; use {_RL} or {_OPD}")
        if training_type == _OPD and not teacher:
            raise wire.invalid("teacher_model is required for training_type pg_opd")
        return str(training_type)

    def _datasets(self, request: Mapping[str, Any], kind: str, *, is_required: bool) -> None:
        key, plain_key = f"{kind}_datasets", f"{kind}_file_ids"
        entries = _list(request, key)
        plain = _list(request, plain_key)
        if is_required and not entries and not plain:
            raise wire.invalid(f"{key} is required")
        for number, entry in enumerate(entries):
            place = f"{key}[{number}]"
            if not isinstance(entry, dict):
                raise wire.invalid(f"{place} must be an object")
            source = entry.get("data_source_type") or "file_id"
            if source not in ("file_id", "download_url", "oss_mount"):
                raise wire.invalid(f"{place}.data_source_type {source!r} is not known")
            if source != "file_id":
                raise wire.invalid(
                    f"{place}: the local platform fetches nothing from elsewhere ({source}); "
                    "upload the file and give its file_id"
                )
            self._file(entry.get("file_id"), f"{place}.file_id")
        for number, file_id in enumerate(plain):
            self._file(file_id, f"{plain_key}[{number}]")

    def _file(self, file_id: Any, place: str) -> None:
        if not isinstance(file_id, str) or not file_id:
            raise wire.invalid(f"{place} is required")
        if not self._has_file(file_id):
            raise wire.invalid(f"{place}: file {file_id[:100]!r} does not exist")

    def _functions(self, request: Mapping[str, Any], *, is_required: bool) -> None:
        rollout = request.get("rollout")
        if rollout is None and is_required:
            raise wire.invalid("rollout is required for training_type reinforcement")
        if rollout is not None:
            self._function(rollout, "rollout", "rollout_id", (FunctionKind.ROLLOUT,))
        rewards = _list(request, "rewards")
        if not rewards and is_required:
            raise wire.invalid("rewards is required for training_type reinforcement")
        for number, entry in enumerate(rewards):
            self._function(entry, f"rewards[{number}]", "reward_id", (FunctionKind.REWARD, FunctionKind.GROUP_REWARD))

    def _function(self, entry: Any, place: str, key: str, kinds: Sequence[FunctionKind]) -> None:
        if not isinstance(entry, dict):
            raise wire.invalid(f"{place} must be an object")
        entity_id = entry.get(key)
        if not isinstance(entity_id, str) or not entity_id:
            raise wire.invalid(f"{place}.{key} is required")
        entity = self._entity(entity_id)
        if entity is None:
            raise wire.invalid(f"{place}.{key}: function {entity_id[:100]!r} does not exist")
        if entity.kind not in kinds:
            raise wire.invalid(f"{place}.{key}: {entity_id} is a {entity.kind} function")
        for name in ("weight", "timeout"):
            if entry.get(name) is not None:
                number(entry[name], f"{place}.{name}")
        timeout = entry.get("timeout")
        if timeout is not None and number(timeout, f"{place}.timeout") <= 0:
            raise wire.invalid(f"{place}.timeout must be greater than 0")
        _object(entry, "reward_metric_weight", place)


def hyper_parameters(values: Mapping[str, Any]) -> None:
    """Check the parameters with a known range; others are ignored, as the service does. Raises Rejected."""
    for name, (low, high) in {**_REAL, **_WHOLE}.items():
        value = values.get(name)
        if value is None:
            continue
        place = f"hyper_parameters.{name}"
        found = number(value, place)
        if name in _WHOLE and found != int(found):
            raise wire.invalid(f"{place} must be a whole number, not {value!r}")
        if not low <= found <= high:
            raise wire.invalid(f"{place} must lie between {low} and {high}, not {value!r}")
    for name, words in _WORDS.items():
        value = values.get(name)
        if value is not None and (not isinstance(value, str) or value.strip().lower() not in words):
            raise wire.invalid(f"hyper_parameters.{name} must be one of {', '.join(words)}, not {value!r}")


def number(value: Any, place: str) -> float:
    """A number, also one written as a text. Raises Rejected."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise wire.invalid(f"{place} must be a number, not {str(value)[:60]!r}")
    return found


def _list(body: Mapping[str, Any], key: str) -> list[Any]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise wire.invalid(f"{key} must be a list")
    return value


def _object(body: Mapping[str, Any], key: str, place: str = "") -> dict[str, Any]:
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wire.invalid(f"{place}.{key} must be an object" if place else f"{key} must be an object")
    return value
