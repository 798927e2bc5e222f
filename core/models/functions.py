"""Function components: kinds, runtimes, entities and instances."""

from enum import IntEnum
from typing import Any

from pydantic import Field

from agentic_rl_tui.core.models.base import WireModel
from agentic_rl_tui.core.models.kinds import FunctionKind as FunctionKind


class Runtime(WireModel):
    """Resources of a function. memory_size and disk_size in MB; capacity counts instances."""

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
    enable_log: bool | None = None
    security_group_id: str | None = None
    vpc_id: str | None = None
    vpc_role: str | None = None
    layer_code: str | None = None
    switch_ids: list[str] | None = None
    env: dict[str, Any] | None = None


class InstanceState(IntEnum):
    """Values of ``output.status`` of an instance query; others may come."""

    UNKNOWN = -1
    INITIALISED = 0
    DEPLOYING = 1
    ACTIVE = 2


class Instance(WireModel):
    """A loaded function: where it answers and with which token."""

    instance_id: str
    status: int | None = None
    trigger_url: str
    trigger_token: str = Field(repr=False)


class InstanceLogEntry(WireModel):
    """timestamp in seconds since the epoch."""

    instance_id: str | None = None
    message: str = ""
    timestamp: int | float | None = None


class InstanceLogPage(WireModel):
    entries: tuple[InstanceLogEntry, ...] = ()
    page_number: int = 1
    page_size: int = 100
    total: int = 0
