"""The body of a job creation, as the service takes it."""

from typing import Any

from pydantic import Field

from agentic_rl_tui.core.models.base import WireModel


class DatasetEntry(WireModel):
    type: str = "training"
    data_source_type: str = "file_id"
    file_name: str | None = None
    file_id: str | None = None
    download_url: str | None = None
    mount_storage: dict[str, Any] | None = None


class FunctionEntry(WireModel):
    """A function of a job. The runtime's fields lie flat beside these and are kept as extras.

    A group reward's id travels under ``reward_id``; its prefix tells it apart. timeout in seconds.
    """

    rollout_id: str | None = None
    reward_id: str | None = None
    name: str | None = None
    weight: float | None = None
    timeout: float | None = None
    reward_metric_weight: dict[str, float] | None = None

    @property
    def entity_id(self) -> str | None:
        return self.rollout_id or self.reward_id


class JobRequest(WireModel):
    """Every field optional: what is missing is for the server to refuse.

    Numbers inside hyper_parameters may be texts (``"2e-6"``).
    """

    model: str | None = None
    training_datasets: list[DatasetEntry] = Field(default_factory=list)
    validation_datasets: list[DatasetEntry] = Field(default_factory=list)
    training_file_ids: list[str] = Field(default_factory=list)
    validation_file_ids: list[str] = Field(default_factory=list)
    rollout: FunctionEntry | None = None
    rewards: list[FunctionEntry] = Field(default_factory=list)
    hyper_parameters: dict[str, Any] = Field(default_factory=dict)
    resource_config: dict[str, Any] = Field(default_factory=dict)
    training_type: str | None = None
    teacher_model: str | None = None
    job_name: str | None = None
