"""How many steps, samples and calls a job makes."""

import math
from dataclasses import dataclass
from typing import Any

STEP_SECONDS = 60.0
"""Seconds a step should take at most, where nobody says otherwise."""
HEADROOM = 1.2


@dataclass(frozen=True, slots=True)
class StepCount:
    """Steps of a whole run: `low` when a last, incomplete batch is dropped, `high` when it is trained on."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def count_steps(rows: int, epochs: int, batch_size: int) -> StepCount:
    return StepCount(rows // batch_size * epochs, math.ceil(rows / batch_size) * epochs)


def steps_of(rows: int | None, hyper: dict[str, Any]) -> StepCount | None:
    """None while rows, batch_size or n_epochs are not known."""
    batch, epochs = hyper.get("batch_size"), hyper.get("n_epochs")
    if rows is None or not isinstance(batch, int) or not isinstance(epochs, int) or batch < 1:
        return None
    return count_steps(rows, epochs, batch)


def calls_needed(calls_per_step: int, step_seconds: float = STEP_SECONDS) -> float:
    """Calls at once that keep a step within its time, headroom included."""
    return HEADROOM * calls_per_step / step_seconds


def calls_per_step(kind: str, hyper: dict[str, Any]) -> int | None:
    """A group reward is called once a prompt, the others once an attempt."""
    batch, rollouts = hyper.get("batch_size"), hyper.get("n_rollouts")
    if not isinstance(batch, int):
        return None
    if kind == "group_reward":
        return batch
    return batch * rollouts if isinstance(rollouts, int) else None


def calls_at_once(runtime: dict[str, Any]) -> int:
    """concurrency x capacity, with the service's defaults for what is left out."""
    return int(runtime.get("concurrency") or 2) * int(runtime.get("capacity") or 10)
