"""Settings of the engine that no job file holds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """An OpenAI-compatible server that stands in for the practice policy. base_url usually ends in ``/v1``.

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

    now gives seconds since the epoch for log lines, timer seconds for durations. attempts counts tries of a rollout or
    reward. bad_steps is how many steps in a row may lose more than half of their rollouts before the job fails.
    """

    endpoint: EndpointOptions | None = None
    now: Callable[[], float] = time.time
    timer: Callable[[], float] = time.perf_counter
    attempts: int = 2
    bad_steps: int = 3
    validation_temperature: float = 1.0
    heartbeat_s: float = 30.0
