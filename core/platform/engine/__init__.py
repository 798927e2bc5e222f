"""Running jobs: the policy and its gateway, rollouts and scores, learning, the queue, and what a job leaves behind."""

from agentic_rl_tui.core.platform.engine.checkpoints import read_table
from agentic_rl_tui.core.platform.engine.engine import PLATFORM_STOPPED, Engine
from agentic_rl_tui.core.platform.engine.gateway import Gateway
from agentic_rl_tui.core.platform.engine.joblog import END_MARKER
from agentic_rl_tui.core.platform.engine.options import (
    EndpointOptions,
    EngineOptions,
    endpoint_from_settings,
    teacher_from_settings,
)
from agentic_rl_tui.core.platform.engine.report import read_report, read_steps
from agentic_rl_tui.core.platform.engine.scheduler import Scheduler
from agentic_rl_tui.core.platform.engine.trajectories import TrajectoryReader

__all__ = [
    "END_MARKER",
    "PLATFORM_STOPPED",
    "EndpointOptions",
    "Engine",
    "EngineOptions",
    "Gateway",
    "Scheduler",
    "TrajectoryReader",
    "endpoint_from_settings",
    "read_report",
    "read_steps",
    "read_table",
    "teacher_from_settings",
]
