"""The one door from screens to the SDK, so that tests can stand behind it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness_inputs import ModelResource
    from agentic_rl_tui.core.functions.harness_report import ModelCall
    from agentic_rl_tui.core.models.jobs import Job, JobPage
    from agentic_rl_tui.core.models.processors import ProcessorInfo
    from agentic_rl_tui.core.sdk.clone import Cloned, Start
    from agentic_rl_tui.core.sdk.compare import JobComparison
    from agentic_rl_tui.core.sdk.deploy import Deployment
    from agentic_rl_tui.core.sdk.origins import Origin
    from agentic_rl_tui.core.tracing.model import Run, Span


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """state: ``ok``, ``starting``, ``down`` or another word of the service, shown as it is."""

    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Lines offset+1 .. offset+len(lines) of a log that has `total` lines so far."""

    offset: int
    lines: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class LogNote:
    """Something to say about the stream itself: reconnecting, ended."""

    text: str
    is_trouble: bool = False


@dataclass(frozen=True, slots=True)
class StepNews:
    """Progress of a submission. state: ``started``, ``progress``, ``finished``, ``failed``."""

    step: str
    label: str
    state: str
    done: int = 0
    total: int | None = None
    unit: str = ""
    detail: str = ""
    seconds: float | None = None
    is_reused: bool = False


class Backend(Protocol):
    """What the screens ask of the SDK. Every call may raise ArlError and nothing else that is expected."""

    zone: tzinfo
    """The zone of the times that the service writes without one."""

    async def health(self) -> HealthFacts: ...
    async def jobs(self, page_no: int, page_size: int) -> "JobPage": ...
    async def job(self, job_id: str) -> "Job": ...
    def follow(
        self, job_id: str, offset: int = 0, pause: Callable[[float], Awaitable[None]] | None = None
    ) -> AsyncIterator[LogChunk | LogNote]:
        """pause waits between two questions for as long as it sees fit."""
        ...

    async def log_size(self, job_id: str) -> int:
        """How many lines a log has."""
        ...

    async def cancel(self, job_id: str) -> None: ...
    async def delete(self, job_id: str) -> None: ...
    async def submit(self, job_file: Path, on_news: Callable[[StepNews], None]) -> "Job": ...
    async def report(self, job_id: str) -> dict[str, Any] | None: ...

    async def trajectories(
        self, job_id: str, *, step: int | None = None, sample: int | None = None, phase: str = "train"
    ) -> dict[str, Any] | None:
        """Without a step: the steps there are. With one: its samples. With both: the rollouts of the group."""
        ...

    async def checkpoints(self, job_id: str) -> "tuple[Start, ...]":
        """What a job left to go on from, the best first."""
        ...

    async def clone(self, job_id: str, checkpoint: str | None) -> "Cloned":
        """Write the job as a new job file in the workspace."""
        ...

    async def origin(self, job_id: str) -> "Origin | None":
        """What the job was made of, where it was submitted from this machine."""
        ...

    async def compare(self, old_id: str, new_id: str) -> "JobComparison": ...

    async def deployments(self) -> "tuple[Deployment, ...]":
        """The functions that this machine has registered."""
        ...

    async def deploy(
        self, info: "ProcessorInfo", runtime: dict[str, Any] | None, on_news: Callable[[StepNews], None]
    ) -> "Deployment":
        """Package, upload, build, create and load a function, and wait until it is healthy."""
        ...

    async def instance_logs(self, instance_id: str) -> list[str]: ...
    async def remove_instance(self, instance_id: str) -> None: ...
    async def call_instance(self, instance_id: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]: ...

    async def practice_models(self, row: dict[str, Any], row_index: int, rollouts: int) -> "list[ModelResource] | None":
        """Models to try rollouts with; None where the profile has none to lend."""
        ...

    async def practice_calls(self, resource: "ModelResource") -> "tuple[ModelCall, ...]":
        """What was asked of a lent model. It is given back and stops answering."""

    async def traces(self, query: dict[str, Any]) -> "tuple[list[Run], int] | None":
        """Runs with traces, newest first, and how many there are; None where the profile keeps none for us."""
        ...

    async def trace(self, trace_id: str) -> "tuple[Run, list[Span]]": ...
    async def export_traces(self, trace_ids: tuple[str, ...]) -> bytes: ...
    async def import_traces(self, content: bytes) -> int: ...

    async def close(self) -> None: ...
