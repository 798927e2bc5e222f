"""The classes that user code inherits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from agentic_rl_tui.core.functions.processors.meta import RewardProcessorMeta, collect, own_meta
from agentic_rl_tui.core.functions.processors.models import (
    GroupRewardInput,
    GroupRewardOutput,
    RewardInput,
    RewardOutput,
    RolloutInput,
    RolloutOutput,
)


class AbstractProcessor(ABC):
    """`setup` runs once before the first call, `process` once per call; each may be sync or async."""

    def setup(self) -> Any:
        return None

    @abstractmethod
    async def process(self, input_data: Any) -> Any: ...


class AbstractRolloutProcessor(AbstractProcessor):
    @abstractmethod
    async def process(self, input_data: RolloutInput) -> RolloutOutput: ...


class AbstractGroupRewardProcessor(AbstractProcessor):
    @abstractmethod
    async def process(self, input_data: GroupRewardInput) -> GroupRewardOutput: ...


class AbstractRewardProcessor(AbstractProcessor):
    """A reward; its methods marked with ``@sub_reward_func`` are collected when it is constructed.

    A subclass with its own ``__init__`` must call ``super().__init__()``. executor runs sync sub-rewards; without one
    the processor makes its own.
    """

    reward_meta: RewardProcessorMeta
    executor: Executor | None
    functions_collected = False

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor_owned = executor is None
        self.executor = ThreadPoolExecutor(thread_name_prefix="sub-reward") if executor is None else executor
        self.reward_meta = collect(self)
        self.functions_collected = True

    @abstractmethod
    def process(self, input_data: RewardInput) -> RewardOutput: ...  # type: ignore[override] # sync by contract

    def get_weights(self) -> dict[str, float]:
        return {name: sub.weight for name, sub in own_meta(self).sub_functions.items()}

    def get_scores(self, sub_rewards: dict[str, RewardOutput]) -> dict[str, float]:
        return {name: output.reward.reward_score for name, output in sub_rewards.items()}

    def get_total(self, sub_rewards: dict[str, RewardOutput]) -> float:
        """Sum of score x weight, not divided by the sum of the weights. Raises ValueError for an unknown name."""
        known = own_meta(self).sub_functions
        total = 0.0
        for name, output in sub_rewards.items():
            if name not in known:
                raise ValueError(f"Sub-reward function '{name}' is not registered. Available: {list(known)}")
            reward = getattr(output, "reward", None)
            if reward is None:
                raise TypeError(f"Sub-reward function '{name}' returned {type(output).__name__}, expected RewardOutput")
            total += reward.reward_score * known[name].weight
        return total

    def get_reward_metrics(self, sub_rewards: dict[str, RewardOutput]) -> dict[str, float]:
        """All sub-rewards' metrics, keyed ``<sub name>.<metric>``."""
        return {
            f"{name}.{metric}": value
            for name, output in sub_rewards.items()
            for metric, value in (output.reward.reward_metrics or {}).items()
        }

    def shutdown(self) -> None:
        """Wait for and drop the executor that this processor made. May be called again."""
        executor = self.__dict__.get("executor")
        if self.__dict__.get("_executor_owned") and executor is not None:
            executor.shutdown(wait=True)
            self.executor = None

    def __del__(self) -> None:
        executor = self.__dict__.get("executor")
        if self.__dict__.get("_executor_owned") and executor is not None:
            executor.shutdown(wait=False)
