"""What can be set about a platform."""

from dataclasses import dataclass, field, fields
from typing import Any

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
    faults: Faults = field(default_factory=Faults)

    @classmethod
    def from_settings(cls, settings: Settings) -> "PlatformOptions":
        """Take what the table ``[local]`` says. Raises ConfigError for a value that is no positive number."""
        values: dict[str, Any] = {"faults": Faults.from_settings(settings)}
        for option in fields(cls):
            if option.name in values:
                continue
            value = settings.get(_PREFIX + option.name)
            if value is None:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or value <= 0:
                origin = settings.origins.get(_PREFIX + option.name, "settings")
                raise ConfigError(f"{origin}: local.{option.name} must be a positive number, not {value!r}")
            values[option.name] = float(value) if option.type is float else int(value)
        return cls(**values)
