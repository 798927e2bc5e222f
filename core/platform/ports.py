"""The seams inside the platform: what the engine and the scheduler need of the store and of the functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentic_rl_tui.core.functions.calls import CallResult
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.job_request import JobRequest
from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.status import JobStatus


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as the store holds it. Times in seconds since the epoch."""

    job_id: str
    name: str
    status: JobStatus
    request: JobRequest
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    code: str | None = None
    message: str | None = None
    finetuned_output: str | None = None
    progress: JobProgress | None = None


class JobStore(Protocol):
    async def job(self, job_id: str) -> JobRecord | None: ...

    async def jobs_in(self, *statuses: JobStatus) -> list[JobRecord]:
        """Oldest first."""
        ...

    async def move(
        self, job_id: str, target: JobStatus, *, code: str | None = None, message: str | None = None
    ) -> bool:
        """Move a job where the table of moves allows it; False when it stood elsewhere. Sets its times."""
        ...

    async def set_progress(self, job_id: str, progress: JobProgress) -> None: ...

    async def set_output(self, job_id: str, finetuned_output: str) -> None: ...


class JobLog(Protocol):
    async def append(self, job_id: str, lines: Sequence[str]) -> None:
        """Add lines in order; they are on disk when this returns. A line break inside a line becomes its own line."""
        ...

    async def last(self, job_id: str) -> str | None:
        """The newest line, None where there is none."""
        ...


class DataFiles(Protocol):
    async def path(self, file_id: str) -> Path:
        """The stored file. Raises NotFound."""
        ...


class OpenFunction(Protocol):
    """A function with its workers running."""

    kind: FunctionKind
    name: str
    slots: int
    """Calls that may run at once: concurrency x capacity, bounded by the machine."""

    async def call(self, payload: dict[str, Any], *, timeout_s: float | None = None) -> CallResult:
        """Run once. Never raises for what user code does: that is in the result."""
        ...

    async def close(self) -> None: ...


class FunctionOpener(Protocol):
    async def open(
        self, entity_id: str, *, runtime: Runtime, timeout_s: float | None, job_id: str, name: str
    ) -> OpenFunction:
        """Start the workers of a registered entity. Raises NotFound, FunctionFailed (import or setup failed)."""
        ...
