"""What a long call tells while it runs: steps that start, move, and end."""

from collections.abc import Callable
from dataclasses import dataclass

from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.jobs import Job


@dataclass(frozen=True, slots=True)
class StepStarted:
    """step is stable and unique within one call (``upload:data/train.jsonl``); label is for people."""

    step: str
    label: str


@dataclass(frozen=True, slots=True)
class StepProgress:
    """done of total in `unit` (``bytes``, ``s``, ``files``); total is None where it is not known."""

    step: str
    done: float
    total: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """reused: nothing was sent because the service had it already."""

    step: str
    label: str
    detail: str = ""
    seconds: float = 0.0
    reused: bool = False


@dataclass(frozen=True, slots=True)
class StepFailed:
    step: str
    label: str
    error: ArlError


@dataclass(frozen=True, slots=True)
class JobSubmitted:
    """adopted: the job was found on the service after an earlier answer had been lost."""

    job: Job
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person should know that stops nothing."""

    text: str


Event = StepStarted | StepProgress | StepFinished | StepFailed | JobSubmitted | Note
OnEvent = Callable[[Event], None]
