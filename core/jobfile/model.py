"""The job file as data: every key of the YAML, with the defaults the service uses."""

from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.processors import BadClassPath, ClassPath

REINFORCEMENT = "reinforcement"
OPD = "pg_opd"
DEFAULT_NAME = "agentic-rl"


def package_folder(zipdir: str) -> str | None:
    """A zipdir as a path inside the workspace, ``""`` for the workspace itself; None where it lies outside."""
    pure = PurePosixPath(zipdir.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts:
        return None
    return "" if str(pure) == "." else str(pure)


class _Part(BaseModel):
    """A section of the file. Keys that the schema does not name are kept but take no part in a job."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())


class ModelSpec(_Part):
    name: str | None = None


class FcModel(_Part):
    """What to package and which class to run. Paths are relative to the folder of the job file."""

    zipdir: str = "./"
    classpath: str = ""
    filepath: str = ""
    classname: str = ""
    requirements_path: str = "./requirements.txt"
    extra_files: list[str] = Field(default_factory=list)
    oss_id: str | None = None
    oss_signed_url: str | None = None

    @property
    def class_text(self) -> str:
        """The class as written: `classpath`, else `filepath` with `classname`, else nothing."""
        if self.classpath:
            return self.classpath
        return f"{self.filepath}:{self.classname}" if self.filepath and self.classname else ""

    def parsed_classpath(self) -> ClassPath:
        """Raises BadClassPath when no class is named or the text has none of the three forms."""
        return ClassPath.parse(self.class_text)

    @property
    def package_folder(self) -> str | None:
        """zipdir inside the workspace, ``""`` for the workspace itself; None where it lies outside."""
        return package_folder(self.zipdir)

    def placed_classpath(self) -> ClassPath:
        """The class by its path from the workspace, zipdir included. Raises BadClassPath as `parsed_classpath`."""
        own, folder = self.parsed_classpath(), self.package_folder
        if folder is None:
            raise BadClassPath(_("{zipdir!r} lies outside the workspace").format(zipdir=self.zipdir))
        return ClassPath(f"{folder}/{own.path}", own.class_name) if folder else own


class FunctionSpec(_Part):
    """One function of the job. timeout in seconds; entity_id set means that it is registered already."""

    type: FunctionKind = FunctionKind.ROLLOUT
    name: str | None = None
    timeout: int | None = None
    weight: float | None = None
    reward_metric_weight: dict[str, float] | None = None
    entity_id: str | None = None
    instance_id: str | None = None
    fcmodel: FcModel = Field(default_factory=FcModel)
    runtime: Runtime | None = None


class MountStorage(_Part):
    region: str | None = None
    bucket: str | None = None
    file_path: str | None = None


class DatasetSpec(_Part):
    type: str = "training"
    data_source_type: str = "file_id"
    file_name: str | None = None
    file_id: str | None = None
    download_url: str | None = None
    mount_storage: MountStorage | None = None


class TrainingSpec(_Part):
    """hyper_parameters hold numbers as numbers, however the file spells them."""

    type: str = REINFORCEMENT
    hyper_parameters: dict[str, Any] = Field(default_factory=dict)
    resources: dict[str, Any] = Field(default_factory=dict)


class JobFile(_Part):
    """A whole job. workspace_dir is the folder that the paths in it start from."""

    name: str = DEFAULT_NAME
    model: ModelSpec = Field(default_factory=ModelSpec)
    teacher_model: str | None = None
    functions: list[FunctionSpec] = Field(default_factory=list)
    datasets: list[DatasetSpec] = Field(default_factory=list)
    training: TrainingSpec = Field(default_factory=TrainingSpec)
    observability: dict[str, Any] = Field(default_factory=dict)
    workspace_dir: Path = Field(default=Path(), exclude=True)

    @property
    def is_opd(self) -> bool:
        """A teacher makes any job an OPD job, whatever its type says."""
        return bool(self.teacher_model) or self.training.type == OPD

    @property
    def training_type(self) -> str:
        """The type that is sent."""
        return OPD if self.is_opd else self.training.type

    @property
    def rollout(self) -> FunctionSpec | None:
        """The first rollout: the service runs one."""
        return next((spec for spec in self.functions if spec.type is FunctionKind.ROLLOUT), None)

    @property
    def rewards(self) -> list[FunctionSpec]:
        return [spec for spec in self.functions if spec.type is FunctionKind.REWARD]

    @property
    def group_rewards(self) -> list[FunctionSpec]:
        return [spec for spec in self.functions if spec.type is FunctionKind.GROUP_REWARD]

    @property
    def training_datasets(self) -> list[DatasetSpec]:
        return [data for data in self.datasets if data.type == "training"]

    @property
    def validation_datasets(self) -> list[DatasetSpec]:
        return [data for data in self.datasets if data.type == "validation"]

    def resolve(self, path: str) -> Path:
        """A path of the file as a path on disk."""
        return self.workspace_dir / path
