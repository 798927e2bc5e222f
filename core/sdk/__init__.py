"""AgenticRL and the objects its calls take and give.

Names are resolved on first use, so that importing this package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.core.client.function_answers import FunctionAnswer as FunctionAnswer
    from agentic_rl_tui.core.client.jobs import FollowNote as FollowNote
    from agentic_rl_tui.core.client.retry import RetryPolicy as RetryPolicy
    from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent as AgenticRLFunctionComponent
    from agentic_rl_tui.core.sdk.components import DataSourceType as DataSourceType
    from agentic_rl_tui.core.sdk.components import FunctionComponentModel as FunctionComponentModel
    from agentic_rl_tui.core.sdk.components import FunctionComponentRuntime as FunctionComponentRuntime
    from agentic_rl_tui.core.sdk.components import FunctionType as FunctionType
    from agentic_rl_tui.core.sdk.components import GroupRewardFunctionComponent as GroupRewardFunctionComponent
    from agentic_rl_tui.core.sdk.components import RewardFunctionComponent as RewardFunctionComponent
    from agentic_rl_tui.core.sdk.components import RolloutFunctionComponent as RolloutFunctionComponent
    from agentic_rl_tui.core.sdk.components import TrainingDataset as TrainingDataset
    from agentic_rl_tui.core.sdk.components import ValidationDataset as ValidationDataset
    from agentic_rl_tui.core.sdk.events import Event as Event
    from agentic_rl_tui.core.sdk.events import JobSubmitted as JobSubmitted
    from agentic_rl_tui.core.sdk.events import Note as Note
    from agentic_rl_tui.core.sdk.events import StepFailed as StepFailed
    from agentic_rl_tui.core.sdk.events import StepFinished as StepFinished
    from agentic_rl_tui.core.sdk.events import StepProgress as StepProgress
    from agentic_rl_tui.core.sdk.events import StepStarted as StepStarted
    from agentic_rl_tui.core.sdk.facade import AgenticRL as AgenticRL
    from agentic_rl_tui.core.sdk.health import Health as Health
    from agentic_rl_tui.core.sdk.register import Registered as Registered
    from agentic_rl_tui.core.sdk.upload import Uploaded as Uploaded

_CLIENT = "agentic_rl_tui.core.client"
_SDK = "agentic_rl_tui.core.sdk"
_HOMES = {
    "AgenticRL": f"{_SDK}.facade",
    "Health": f"{_SDK}.health",
    **dict.fromkeys(
        (
            "AgenticRLFunctionComponent",
            "DataSourceType",
            "FunctionComponentModel",
            "FunctionComponentRuntime",
            "FunctionType",
            "GroupRewardFunctionComponent",
            "RewardFunctionComponent",
            "RolloutFunctionComponent",
            "TrainingDataset",
            "ValidationDataset",
        ),
        f"{_SDK}.components",
    ),
    **dict.fromkeys(
        ("Event", "JobSubmitted", "Note", "StepFailed", "StepFinished", "StepProgress", "StepStarted"), f"{_SDK}.events"
    ),
    "Registered": f"{_SDK}.register",
    "Uploaded": f"{_SDK}.upload",
    "FollowNote": f"{_CLIENT}.jobs",
    "FunctionAnswer": f"{_CLIENT}.function_answers",
    "RetryPolicy": f"{_CLIENT}.retry",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
