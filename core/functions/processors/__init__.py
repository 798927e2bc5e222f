"""The processor API: what rollout, reward and group-reward code is written against.

The same names answer ``from dashscope.finetune.reinforcement import …`` inside a worker whose interpreter lacks the
vendor's package.
"""

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
