"""A seam for whoever runs a processor: what became of its sub-rewards in the current call.

The answer of a decorated reward holds only the total. A host that wants the parts puts a list into `outcomes` before
it calls ``process``; the generated ``process`` appends one entry per sub-reward.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class SubOutcome:
    """result is what the sub-reward returned, None when it raised `error`."""

    name: str
    weight: float
    result: Any
    error: BaseException | None
    latency_s: float


outcomes: ContextVar[list[SubOutcome] | None] = ContextVar("agentic_rl_sub_outcomes", default=None)
