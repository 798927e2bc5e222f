"""The parts of a job under the vendor's names, for code that shares a module with its functions.

They hold and check values. Registering, uploading and submitting is the work of AgenticRL, outside a function.
"""

import os
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from agentic_rl_tui.core.functions.processors.enums import (
    DatasetsType,
    DataSourceType,
    FunctionType,
    StatusType,
    TrainingType,
)
from agentic_rl_tui.core.functions.processors.helpers import get_filepath_classname, get_weights_from_file


class _Lenient(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Models(_Lenient):
    """Reading and writing a model as a mapping or a YAML file."""

    @classmethod
    def load_from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        return cls(**{**data, **kwargs})

    @classmethod
    def load_from_yaml(cls, file_path: str, **kwargs: Any) -> Self:
        with open(file_path, encoding="utf-8") as file:
            return cls.load_from_dict(yaml.safe_load(file) or {}, **kwargs)

    def to_yaml(self, file_path: str, overwrite: bool = True) -> None:
        """Raises FileExistsError for an existing file unless it may be overwritten."""
        with open(file_path, "w" if overwrite else "x", encoding="utf-8") as file:
            yaml.safe_dump(self.model_dump(mode="json"), file, allow_unicode=True, sort_keys=False)


class FileSpec(_Lenient):
    path: str = ""
    descriptions: str | None = ""


class Status(_Lenient):
    task: StatusType = StatusType.SUCCEEDED
    name: str = ""
    code: int = 200
    message: str = ""


class RequestFC(_Lenient):
    name: str = ""
    unique_key: str = ""
    func: str = ""
    code_url: str = ""


class ResponseFC(_Lenient):
    status: Status = Status()
    output: dict[str, Any] | None = None


class FunctionComponentModel(_Strict):
    """Where a function's code lies."""

    zipdir: str = "./"
    classpath: str | None = ""
    filepath: str = ""
    classname: str = ""
    requirements_path: str | None = "./requirements.txt"
    extra_files: list[str] | None = []
    oss_id: str | None = None
    oss_signed_url: str | None = None

    def split_classpath(self) -> None:
        """Fill filepath and classname from classpath."""
        if self.classpath:
            self.filepath, self.classname = get_filepath_classname(self.classpath)

    def get_sub_function_weights(self) -> dict[str, float]:
        self.split_classpath()
        return get_weights_from_file(os.path.join(self.zipdir, self.filepath), self.classname)


class FunctionComponentRuntime(_Strict):
    """Resources of a function; memory_size and disk_size in MB."""

    layer_code: str | None = None
    cpu: float | None = None
    memory_size: int | None = None
    disk_size: int | None = None
    concurrency: int | None = None
    capacity: int | None = None
    max_capacity: int | None = None
    min_capacity: int | None = None
    memory_scale_threshold: float | None = None
    concurrency_scale_threshold: float | None = None
    enable_vpc_config: bool | None = None
    security_group_id: str | None = None
    switch_ids: list[str] | None = None
    vpc_id: str | None = None
    vpc_role: str | None = None
    enable_log: bool | None = None
    env: dict[str, Any] | None = None


class AgenticRLFunctionComponent(Models):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    type: FunctionType = FunctionType.ROLLOUT
    name: str | None = None
    timeout: int | None = None
    fcmodel: FunctionComponentModel | None = Field(default_factory=FunctionComponentModel)
    runtime: FunctionComponentRuntime | None = None
    entity_id: str | None = None
    instance_id: str | None = None
    instance_status: int | None = -1
    instance_url: str | None = None
    instance_token: str | None = None


class RolloutFunctionComponent(AgenticRLFunctionComponent):
    type: FunctionType = FunctionType.ROLLOUT
    weight: float | None = None
    reward_metric_weight: dict[str, float] | None = None


class RewardFunctionComponent(AgenticRLFunctionComponent):
    type: FunctionType = FunctionType.REWARD
    weight: float | None = None
    reward_metric_weight: dict[str, float] | None = None


class GroupRewardFunctionComponent(AgenticRLFunctionComponent):
    type: FunctionType = FunctionType.GROUP_REWARD
    weight: float | None = None
    reward_metric_weight: dict[str, float] | None = None


class MountStorage(_Strict):
    region: str | None = None
    bucket: str | None = None
    file_path: str | None = None


class Dataset(_Strict):
    type: DatasetsType = DatasetsType.TRAINING
    data_source_type: DataSourceType | None = DataSourceType.FILE_ID
    file_name: str | None = None
    file_id: str | None = None
    download_url: str | None = None
    mount_storage: MountStorage | None = None


class TrainingDataset(Dataset):
    type: DatasetsType = DatasetsType.TRAINING


class ValidationDataset(Dataset):
    type: DatasetsType = DatasetsType.VALIDATION


class Datasets(_Lenient):
    name: str | None = None
    datasets: list[Dataset] | None = None


class Training(_Strict):
    type: TrainingType = TrainingType.TRAINING_TYPE
    hyper_parameters: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None


class FoundationModel(_Strict):
    name: str | None = None


class Observability(_Lenient):
    pass


def _tag(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return str(getattr(kind, "value", kind) or "rollout")


Component = Annotated[
    Annotated[RolloutFunctionComponent, Tag("rollout")]
    | Annotated[RewardFunctionComponent, Tag("reward")]
    | Annotated[GroupRewardFunctionComponent, Tag("group_reward")],
    Discriminator(_tag),
]


class TuningModel(Models):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    name: str = "agentic-rl"
    model: FoundationModel = FoundationModel()
    teacher_model: str | None = None
    functions: list[Component] = []
    datasets: list[Dataset] = []
    training: Training = Training()
    observability: Observability | None = Observability()

    def _of(self, functype: FunctionType) -> list[Any]:
        return [function for function in self.functions if function.type == functype]

    def get_entity_ids(self, functype: FunctionType) -> list[str | None]:
        return [function.entity_id for function in self._of(functype)]

    def get_runtimes(self, functype: FunctionType) -> list[FunctionComponentRuntime | None]:
        return [function.runtime for function in self._of(functype)]

    def get_names(self, functype: FunctionType) -> list[str | None]:
        return [function.name for function in self._of(functype)]

    def get_weights(self, functype: FunctionType) -> list[float | None]:
        return [function.weight for function in self._of(functype)]

    def get_timeouts(self, functype: FunctionType) -> list[int | None]:
        return [function.timeout for function in self._of(functype)]

    def get_reward_metric_weights(self, functype: FunctionType) -> list[dict[str, float] | None]:
        return [function.reward_metric_weight for function in self._of(functype)]


class AgenticRLTuning(Models):
    tuning_id: str | None = None
    tuning: TuningModel = TuningModel()
