"""The closed sets of words that user code and the service share."""

from enum import Enum


class FunctionType(str, Enum):  # noqa: UP042 - a str mix-in formats as the member's name, which user code may rely on
    ROLLOUT = "rollout"
    REWARD = "reward"
    GROUP_REWARD = "group_reward"


class TaskStatus(str, Enum):  # noqa: UP042
    SUCCESS = "success"
    FAILED = "failed"


class ModelProtocol(str, Enum):  # noqa: UP042
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    DASHSCOPE = "dashscope"


class StatusType(str, Enum):  # noqa: UP042
    PENDING = "PENDING"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    CANCELED = "CANCELED"
    RUNNING = "RUNNING"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    HEALTH = "healthy"


class DatasetsType(str, Enum):  # noqa: UP042
    TRAINING = "training"
    TESTING = "testing"
    VALIDATION = "validation"


class DataSourceType(str, Enum):  # noqa: UP042
    FILE_ID = "file_id"
    DOWNLOAD_URL = "download_url"
    OSS_MOUNT = "oss_mount"


class TrainingType(str, Enum):  # noqa: UP042
    TRAINING_TYPE = "reinforcement"
    PG_OPD = "pg_opd"
