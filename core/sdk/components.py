"""The objects that calls take in code instead of a job file: functions, runtimes, data sets."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.processors import BadClassPath, ClassPath

FunctionType = FunctionKind


class _Given(BaseModel):
    """What a caller writes: a name that does not exist is a mistake, and is refused."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), validate_assignment=True)


class DataSourceType(StrEnum):
    FILE_ID = "file_id"
    DOWNLOAD_URL = "download_url"
    OSS_MOUNT = "oss_mount"


class FunctionComponentModel(_Given):
    """Where a function's code lies. Paths are relative to the job file's folder, or to the working directory.

    classpath: ``pkg.mod.Class``, ``pkg.mod:Class`` or ``path/file.py:Class`` inside `zipdir`, the folder that is
    packaged. filepath and classname may be given instead.
    """

    zipdir: str = "./"
    classpath: str = ""
    filepath: str = ""
    classname: str = ""
    requirements_path: str = "./requirements.txt"
    extra_files: list[str] = Field(default_factory=list)
    oss_id: str | None = None
    oss_signed_url: str | None = None

    def target(self) -> ClassPath:
        """The class. Raises InputError when none is named or the text names none."""
        text = self.classpath or (f"{self.filepath}:{self.classname}" if self.filepath and self.classname else "")
        if not text:
            raise InputError(_("a function needs a classpath or an entity_id"), number=4041)
        try:
            return ClassPath.parse(text)
        except BadClassPath as error:
            raise InputError(str(error), number=4041) from error


class FunctionComponentRuntime(Runtime):
    """Resources of a function: memory_size and disk_size in MB; thresholds between 0 and 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class AgenticRLFunctionComponent(_Given):
    """A function of a job: its code (`fcmodel`) or the id of one that is registered already (`entity_id`).

    timeout in seconds. weight counts among the rewards; reward_metric_weight weighs the sub-rewards of one.
    """

    type: FunctionKind
    name: str | None = None
    timeout: float | None = Field(default=None, gt=0)
    weight: float | None = None
    reward_metric_weight: dict[str, float] | None = None
    entity_id: str | None = None
    fcmodel: FunctionComponentModel = Field(default_factory=FunctionComponentModel)
    runtime: Runtime | None = None

    @property
    def label(self) -> str:
        return (
            self.name or self.entity_id or self.fcmodel.classpath or f"{self.fcmodel.filepath}:{self.fcmodel.classname}"
        )


class RolloutFunctionComponent(AgenticRLFunctionComponent):
    type: Literal[FunctionKind.ROLLOUT] = FunctionKind.ROLLOUT


class RewardFunctionComponent(AgenticRLFunctionComponent):
    type: Literal[FunctionKind.REWARD] = FunctionKind.REWARD


class GroupRewardFunctionComponent(AgenticRLFunctionComponent):
    type: Literal[FunctionKind.GROUP_REWARD] = FunctionKind.GROUP_REWARD


class Dataset(_Given):
    """A data set by one of: file_name (uploaded unless file_id is given), file_id, download_url, mount_storage."""

    type: str = "training"
    data_source_type: DataSourceType = DataSourceType.FILE_ID
    file_name: str | None = None
    file_id: str | None = None
    download_url: str | None = None
    mount_storage: dict[str, Any] | None = None

    @property
    def needs_upload(self) -> bool:
        return self.data_source_type is DataSourceType.FILE_ID and not self.file_id

    def missing(self) -> str | None:
        """What the source needs and does not have, in words."""
        match self.data_source_type:
            case DataSourceType.FILE_ID if not (self.file_id or self.file_name):
                return _("a file_name or a file_id")
            case DataSourceType.DOWNLOAD_URL if not self.download_url:
                return _("a download_url")
            case DataSourceType.OSS_MOUNT if not self.mount_storage:
                return _("a mount_storage")
        return None


class TrainingDataset(Dataset):
    type: Literal["training"] = "training"


class ValidationDataset(Dataset):
    type: Literal["validation"] = "validation"
