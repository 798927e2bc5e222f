"""One call of a user's function, as the side that asked for it sees it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class CallStatus(StrEnum):
    """How a call ended. FAILED is a valid answer whose own status is ``failed``; the others never reached one."""

    OK = "ok"
    FAILED = "failed"
    RAISED = "raised"
    INVALID_INPUT = "invalid_input"
    INVALID_OUTPUT = "invalid_output"
    TIMEOUT = "timeout"
    CANCELED = "canceled"
    DIED = "died"


@dataclass(frozen=True, slots=True)
class CallError:
    """traceback is cut to the user's own frames; full_traceback holds them all."""

    type: str
    message: str
    traceback: str = ""
    full_traceback: str = ""


@dataclass(frozen=True, slots=True)
class SubResult:
    """What became of one decorated sub-reward. score counts as 0 in the total when `error` is set."""

    name: str
    weight: float
    score: float
    status: str
    metrics: dict[str, float] = field(default_factory=dict)
    error: CallError | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CallResult:
    """output is the answer as the official function server would send it, None unless status is OK or FAILED.

    trace: the records of its spans, in the order in which they came; see ``core.tracing.collect``.
    unchecked: with INVALID_OUTPUT, what the official server, which checks no answer, would send all the same.
    """

    status: CallStatus
    output: dict[str, Any] | None = None
    error: CallError | None = None
    latency_s: float = 0.0
    sub_results: tuple[SubResult, ...] = ()
    printed: str = ""
    trace: tuple[dict[str, Any], ...] = ()
    unchecked: dict[str, Any] | None = None

    @property
    def is_ok(self) -> bool:
        return self.status is CallStatus.OK
