"""What can be set about a platform: flags of ``serve``, tables of ``agentic-rl.toml`` or the user's ``config.toml``.

``[local]``
    ``max_running_jobs = 1``, ``max_file_bytes``, ``max_files``, ``max_total_bytes``, ``max_package_bytes``,
    ``upload_url_s``, ``idle_s``, ``max_waiting_calls``, ``trace_days``, ``max_trace_bytes``: see `PlatformOptions`.
    ``clock_factor = 1.0``: 10 makes every wait of the platform's own ten times shorter.
    ``policy = "practice"`` or ``"endpoint"``; ``teacher``, of distillation jobs, likewise.
    ``requirements = "check"``, ``"install"`` or ``"ignore"``: what becomes of a function's requirements.
``[local.endpoint]``, for the endpoint policy or teacher
    ``base_url`` and ``model`` (both needed), ``api_key`` or ``api_key_env`` (the name of a variable),
    ``timeout_s = 120``, ``attempts = 3``, ``max_connections = 64``.
``[local.faults]``
    ``rules = ["throttle@jobs:times=3", …]`` and ``seed = 0``: see `faults`.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from agentic_rl_tui.core.functions.environments import RequirementsPolicy
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.platform.faults import Faults
from agentic_rl_tui.core.settings import Settings

_PREFIX = "local."


@dataclass(frozen=True, slots=True)
class Listening:
    """A TCP address to listen at beside the unix socket. token is required there; port 0 takes a free one."""

    host: str
    port: int
    token: str


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """Sizes in bytes, times in seconds. In ``config.toml`` the same names stand in the table ``[local]``.

    max_running_jobs: jobs that run at once; the others wait. max_files and max_total_bytes: quota of uploaded files.
    idle_s: how long an unused function instance keeps its workers. upload_url_s: how long an upload URL is valid.
    max_waiting_calls: calls of one instance that may wait for a free slot before further ones are refused.
    trace_days and max_trace_bytes: how long, and up to which size in all, traces are kept.
    clock_factor: by how much the platform's own waits are shortened: layers, faults that are slow, Retry-After, idle
    instances, looks at the queue, tries of an endpoint. What user code does and how long it may take stays as it is.
    requirements: install runs functions in an environment of their own; check says what is not installed here.
    """

    max_running_jobs: int = 1
    max_file_bytes: int = 4 << 30
    max_files: int = 10_000
    max_total_bytes: int = 64 << 30
    max_package_bytes: int = 200 << 20
    upload_url_s: float = 3600.0
    idle_s: float = 300.0
    max_waiting_calls: int = 100
    trace_days: float = 14.0
    max_trace_bytes: int = 1 << 30
    clock_factor: float = 1.0
    requirements: RequirementsPolicy = RequirementsPolicy.CHECK
    faults: Faults = field(default_factory=Faults)

    def wait_s(self, seconds: float) -> float:
        """How long to wait for what takes `seconds` by the wall clock."""
        return seconds / self.clock_factor

    @classmethod
    def from_settings(cls, settings: Settings) -> "PlatformOptions":
        """Take what the table ``[local]`` says. Raises ConfigError for a value that does not fit."""
        values: dict[str, Any] = {
            "faults": Faults.from_settings(settings),
            "requirements": _requirements(settings),
        }
        for option in fields(cls):
            if option.name in values:
                continue
            value = settings.get(_PREFIX + option.name)
            if value is None:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value < math.inf:
                origin = settings.origins.get(_PREFIX + option.name, "settings")
                raise ConfigError(f"{origin}: local.{option.name} must be a positive number, not {value!r}")
            values[option.name] = float(value) if option.type is float else int(value)
        return cls(**values)


def _requirements(settings: Settings) -> RequirementsPolicy:
    key = _PREFIX + "requirements"
    value = settings.get(key, RequirementsPolicy.CHECK)
    try:
        return RequirementsPolicy(value)
    except ValueError as error:
        origin = settings.origins.get(key, "settings")
        raise ConfigError(f"{origin}: {key} must be one of {', '.join(RequirementsPolicy)}, not {value!r}") from error
