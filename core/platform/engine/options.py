"""Settings of the engine that no job file holds."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.settings import Settings, normalise_url


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """An OpenAI-compatible server in place of the practice policy or its teacher. base_url usually ends in ``/v1``.

    timeout_s bounds one call, attempts counts tries of a call that met 408, 409, 429, 5xx or no connection.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    attempts: int = 3
    max_connections: int = 64


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """endpoint set makes every job an evaluation: real rollouts, nothing learned.

    teacher set asks that server how likely it finds the practice policy's answers in distillation jobs.
    now gives seconds since the epoch for log lines, timer seconds for durations. attempts counts tries of a rollout or
    reward. bad_steps is how many steps in a row may lose more than half of their rollouts before the job fails.
    heartbeat_s is how often a long step says how far it is. fail_at_step fails every job there, for trying faults out.
    clock_factor divides the waits between tries of an endpoint and of the queue.
    """

    endpoint: EndpointOptions | None = None
    teacher: EndpointOptions | None = None
    now: Callable[[], float] = time.time
    timer: Callable[[], float] = time.perf_counter
    attempts: int = 2
    bad_steps: int = 3
    validation_temperature: float = 1.0
    heartbeat_s: float = 30.0
    fail_at_step: int | None = None
    clock_factor: float = 1.0


def endpoint_from_settings(settings: Settings) -> EndpointOptions | None:
    """What ``[local] policy = "endpoint"`` and ``[local.endpoint]`` say; None for the practice policy.

    Keys: base_url, model, api_key or api_key_env (a variable's name), timeout_s, attempts, max_connections.
    Raises ConfigError.
    """
    return _endpoint(settings) if _is_endpoint(settings, "policy") else None


def teacher_from_settings(settings: Settings) -> EndpointOptions | None:
    """What ``[local] teacher = "endpoint"`` and ``[local.endpoint]`` say; None for the practice teacher.

    Raises ConfigError.
    """
    return _endpoint(settings) if _is_endpoint(settings, "teacher") else None


def _is_endpoint(settings: Settings, name: str) -> bool:
    value = settings.get(f"local.{name}", "practice")
    if value not in ("practice", "endpoint"):
        raise ConfigError(f"local.{name} is {value!r}", advice="Use practice or endpoint.")
    return bool(value == "endpoint")


def _endpoint(settings: Settings) -> EndpointOptions:
    values = {name: settings.get(f"local.endpoint.{name}") for name in ("base_url", "model", "api_key", "api_key_env")}
    if not values["base_url"] or not values["model"]:
        raise ConfigError(
            "an endpoint needs local.endpoint.base_url and local.endpoint.model",
            advice="Set both in agentic-rl.toml, or use practice.",
        )
    key = values["api_key"] or (os.environ.get(str(values["api_key_env"])) if values["api_key_env"] else None)
    return EndpointOptions(
        base_url=normalise_url(str(values["base_url"])),
        model=str(values["model"]),
        api_key=str(key) if key else None,
        timeout_s=_positive(settings, "timeout_s", 120.0),
        attempts=int(_positive(settings, "attempts", 3)),
        max_connections=int(_positive(settings, "max_connections", 64)),
    )


def _positive(settings: Settings, name: str, default: float) -> float:
    value = settings.get(f"local.endpoint.{name}", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ConfigError(f"local.endpoint.{name} is {value!r}", advice="Use a number above 0.")
    return float(value)
