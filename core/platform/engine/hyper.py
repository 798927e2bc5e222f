"""hyper_parameters of a job, read with defaults and clear errors. Numbers may come as texts (``"2e-6"``)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.models.errors import ConfigError

ALGORITHMS = ("gspo", "grpo", "dapo")
SCHEDULERS = ("linear", "cosine", "constant")
SAVE_STRATEGIES = ("steps", "epoch", "no")

# Keys the service takes that say how its machines are used; they change nothing here.
_MACHINE_KEYS = frozenset(
    {
        "expert_model_parallel_size",
        "inference_gpu_memory_utilization",
        "inference_tensor_parallel_size",
        "n_gpus_rollout",
        "n_gpus_training",
        "nnodes_rollout",
        "nnodes_training",
        "pipeline_model_parallel_size",
        "sequence_parallel_size",
        "tensor_model_parallel_size",
    }
)


@dataclass(frozen=True, slots=True)
class HyperParameters:
    """given holds the keys that the job spelled out, ignored those that mean nothing to the platform."""

    algorithm: str = "gspo"
    kl_loss_coef: float = 0.002
    learning_rate: float = 2e-6
    lr_scheduler_type: str = "linear"
    lr_warmup_steps: int = -1
    n_epochs: int = 1
    batch_size: int = 64
    n_rollouts: int = 8
    ppo_mini_batch_size: int = 8
    max_length: int = 8192
    max_prompt_length: int = 1024
    eval_steps: int = 1
    save_steps: int = 100
    save_strategy: str = "epoch"
    save_total_limit: int = 1
    temperature: float = 1.0
    seed: int = 42
    given: frozenset[str] = field(default=frozenset(), compare=False)
    ignored: tuple[str, ...] = field(default=(), compare=False)

    def shown(self) -> dict[str, Any]:
        """Every value by its key, in the order of the documentation."""
        return {name: getattr(self, name) for name in _RANGES | _CHOICES}


# key -> (lowest, highest, whether a whole number)
_RANGES: dict[str, tuple[float, float, bool]] = {
    "kl_loss_coef": (0, 10, False),
    "learning_rate": (0, 1, False),
    "lr_warmup_steps": (-1, 10**9, True),
    "n_epochs": (1, 200, True),
    "batch_size": (1, 100_000, True),
    "n_rollouts": (1, 1024, True),
    "ppo_mini_batch_size": (1, 100_000, True),
    "max_length": (1, 131_072, True),
    "max_prompt_length": (1, 131_072, True),
    "eval_steps": (1, 999_999, True),
    "save_steps": (1, 999_999, True),
    "save_total_limit": (1, 200, True),
    "temperature": (0, 2, False),
    "seed": (0, 2**63 - 1, True),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "algorithm": ALGORITHMS,
    "lr_scheduler_type": SCHEDULERS,
    "save_strategy": SAVE_STRATEGIES,
}


def read(raw: Mapping[str, Any]) -> HyperParameters:
    """Read what a job gave. Raises ConfigError naming the key, its value and what is allowed."""
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if value is None:
            continue
        if key in _RANGES:
            values[key] = _number(key, value)
        elif key in _CHOICES:
            values[key] = _choice(key, value)
    ignored = tuple(
        key
        for key in raw
        if key not in _RANGES and key not in _CHOICES and key not in _MACHINE_KEYS and not key.startswith("opd_teacher")
    )
    return HyperParameters(**values, given=frozenset(values), ignored=ignored)


def _number(key: str, value: Any) -> float | int:
    low, high, whole = _RANGES[key]
    advice = f"Allowed: {'a whole number' if whole else 'a number'} from {low:g} to {high:g}."
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigError(f"hyper_parameters.{key}: {value!r} is no number", advice=advice)
    try:
        number = float(value)
    except ValueError:
        raise ConfigError(f"hyper_parameters.{key}: {value!r} is no number", advice=advice) from None
    if not math.isfinite(number) or not low <= number <= high:
        raise ConfigError(f"hyper_parameters.{key}: {value!r} is out of range", advice=advice)
    if not whole:
        return number
    if number != int(number):
        raise ConfigError(f"hyper_parameters.{key}: {value!r} is no whole number", advice=advice)
    return int(value) if not isinstance(value, str) or value.strip().lstrip("+-").isdigit() else int(number)


def _choice(key: str, value: Any) -> str:
    text = str(value).strip().lower()
    if text not in _CHOICES[key]:
        raise ConfigError(
            f"hyper_parameters.{key}: {value!r} is unknown", advice=f"Allowed: {', '.join(_CHOICES[key])}."
        )
    return text


def learning_rate_at(hyper: HyperParameters, step: int, total_steps: int) -> float:
    """The scheduled learning rate of a step counted from 1. A warm-up of -1 is a twentieth of the steps."""
    warmup = hyper.lr_warmup_steps if hyper.lr_warmup_steps >= 0 else total_steps // 20
    if step <= warmup:
        return hyper.learning_rate * step / (warmup + 1)
    done = (step - 1 - warmup) / max(1, total_steps - warmup)
    if hyper.lr_scheduler_type == "linear":
        return hyper.learning_rate * (1 - done)
    if hyper.lr_scheduler_type == "cosine":
        return hyper.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
    return hyper.learning_rate
