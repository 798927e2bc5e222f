"""Jobs: what is asked for, what the service says of them, their log pages."""

from typing import Any

from pydantic import Field, field_validator

from agentic_rl_tui.core.models.base import WireModel
from agentic_rl_tui.core.models.status import is_terminal


class JobProgress(WireModel):
    """How far a job is. Only the local platform sends it with the job; elsewhere it is read from the log.

    rewards holds the mean reward of each finished step, oldest first, thinned to at most 64 values. policy says who
    answers: ``practice``, or ``endpoint``, with which the job is an evaluation and no weight is changed.
    """

    phase: str = ""
    step: int = 0
    total_steps: int | None = None
    rewards: tuple[float, ...] = ()
    validation: float | None = None
    policy: str | None = None


class Job(WireModel):
    """A fine-tuning job. Times are the server's own text, ``YYYY-MM-DD HH:MM:SS``."""

    job_id: str
    job_name: str | None = None
    status: str = "UNKNOWN"
    model: str | None = None
    base_model: str | None = None
    finetuned_output: str | None = None
    training_file_ids: list[str | None] = Field(default_factory=list)
    validation_file_ids: list[str | None] = Field(default_factory=list)
    hyper_parameters: dict[str, Any] = Field(default_factory=dict)
    training_type: str | None = None
    teacher_model: str | None = None
    create_time: str | None = None
    end_time: str | None = None
    creator: str | None = None
    user_identity: str | None = None
    modifier: str | None = None
    group: str | None = None
    workspace_id: str | None = None
    usage: Any = None
    code: str | None = None
    message: str | None = None
    progress: JobProgress | None = None

    @field_validator("training_file_ids", "validation_file_ids", "hyper_parameters", mode="before")
    @classmethod
    def _null_is_empty(cls, value: Any, info: Any) -> Any:
        if value is None:
            return {} if info.field_name == "hyper_parameters" else []
        return value

    @field_validator("status", mode="before")
    @classmethod
    def _no_status_is_unknown(cls, value: Any) -> str:
        return "UNKNOWN" if value is None else str(value)

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.status)

    @property
    def is_opd(self) -> bool:
        return self.training_type == "pg_opd" or bool(self.teacher_model)


class JobPage(WireModel):
    jobs: tuple[Job, ...] = ()
    page_no: int = 1
    page_size: int = 10
    total: int = 0


class LogPage(WireModel):
    """Lines offset+1 .. offset+len(lines) of a log that has `total` lines so far."""

    offset: int = 0
    lines: tuple[str, ...] = ()
    total: int = 0
