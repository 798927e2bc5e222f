"""Job statuses and the one table of legal moves between them."""

from collections.abc import Mapping
from enum import StrEnum


class JobStatus(StrEnum):
    """Statuses the service is known to report; a job may carry any other word, which is shown as received."""

    PENDING = "PENDING"
    QUEUING = "QUEUING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    CANCELING = "CANCELING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    UNKNOWN = "UNKNOWN"


TERMINAL = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELED})

ACTIVE = frozenset({JobStatus.PENDING, JobStatus.QUEUING, JobStatus.RUNNING, JobStatus.CANCELING})

MOVES: Mapping[JobStatus, frozenset[JobStatus]] = {
    JobStatus.PENDING: frozenset(
        {JobStatus.QUEUING, JobStatus.RUNNING, JobStatus.CANCELING, JobStatus.CANCELED, JobStatus.FAILED}
    ),
    JobStatus.QUEUING: frozenset({JobStatus.RUNNING, JobStatus.CANCELING, JobStatus.CANCELED, JobStatus.FAILED}),
    JobStatus.RUNNING: frozenset({JobStatus.CANCELING, JobStatus.SUCCEEDED, JobStatus.FAILED}),
    JobStatus.CANCELING: frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
}


def is_terminal(status: str) -> bool:
    return status in TERMINAL


def sources(target: JobStatus) -> frozenset[JobStatus]:
    """The statuses from which a job may move to `target`: the guard of an update."""
    return frozenset(source for source, targets in MOVES.items() if target in targets)
