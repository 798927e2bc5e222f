"""The processor API: what rollout, reward and group-reward code is written against.

The same names answer ``from dashscope.finetune.reinforcement import …`` inside a worker whose interpreter lacks the
vendor's package. They are looked up when they are first used: a worker pays only for what its function needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.processors.base import (
        AbstractGroupRewardProcessor,
        AbstractProcessor,
        AbstractRewardProcessor,
        AbstractRolloutProcessor,
    )
    from agentic_rl_tui.core.functions.processors.decorators import (
        AggregateFunction,
        RewardProcessorMeta,
        SubRewardFunction,
        aggregate_func,
        reward_func,
        sub_reward_func,
    )
    from agentic_rl_tui.core.functions.processors.enums import FunctionType, ModelProtocol, TaskStatus
    from agentic_rl_tui.core.functions.processors.log import logger
    from agentic_rl_tui.core.functions.processors.manager import FuncManager
    from agentic_rl_tui.core.functions.processors.models import (
        AgentOutput,
        BaseDataModel,
        GroupReward,
        GroupRewardInput,
        GroupRewardOutput,
        ModelResource,
        RequestMetadata,
        Resource,
        Reward,
        RewardInput,
        RewardOutput,
        RolloutInput,
        RolloutOutput,
        Task,
    )

_HOMES = {
    "base": [
        "AbstractGroupRewardProcessor",
        "AbstractProcessor",
        "AbstractRewardProcessor",
        "AbstractRolloutProcessor",
    ],
    "decorators": [
        "AggregateFunction",
        "RewardProcessorMeta",
        "SubRewardFunction",
        "aggregate_func",
        "reward_func",
        "sub_reward_func",
    ],
    "enums": ["FunctionType", "ModelProtocol", "TaskStatus"],
    "log": ["logger"],
    "manager": ["FuncManager"],
    "models": [
        "AgentOutput",
        "BaseDataModel",
        "GroupReward",
        "GroupRewardInput",
        "GroupRewardOutput",
        "ModelResource",
        "RequestMetadata",
        "Resource",
        "Reward",
        "RewardInput",
        "RewardOutput",
        "RolloutInput",
        "RolloutOutput",
        "Task",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AbstractGroupRewardProcessor",
    "AbstractProcessor",
    "AbstractRewardProcessor",
    "AbstractRolloutProcessor",
    "AgentOutput",
    "AggregateFunction",
    "BaseDataModel",
    "FuncManager",
    "FunctionType",
    "GroupReward",
    "GroupRewardInput",
    "GroupRewardOutput",
    "ModelProtocol",
    "ModelResource",
    "RequestMetadata",
    "Resource",
    "Reward",
    "RewardInput",
    "RewardOutput",
    "RewardProcessorMeta",
    "RolloutInput",
    "RolloutOutput",
    "SubRewardFunction",
    "Task",
    "TaskStatus",
    "aggregate_func",
    "logger",
    "reward_func",
    "sub_reward_func",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
