"""The classes that user code inherits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.functions.processors.meta import RewardProcessorMeta, collect, own_meta
from agentic_rl_tui.core.functions.processors.models import (
    GroupRewardInput,
    GroupRewardOutput,
    RewardInput,
    RewardOutput,
    RolloutInput,
    RolloutOutput,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor


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
    functions_collected = False

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._executor_owned = executor is None
        self._is_shut_down = False
        self.reward_meta = collect(self)
        self.functions_collected = True

    @property
    def executor(self) -> Executor | None:
        """Where sync sub-rewards run: what was given, or threads of its own from the first use to `shutdown`."""
        if self._executor is None and self._executor_owned and not self._is_shut_down:
            from concurrent.futures import ThreadPoolExecutor

            self._executor = ThreadPoolExecutor(thread_name_prefix="sub-reward")
        return self._executor

    @executor.setter
    def executor(self, executor: Executor | None) -> None:
        self._executor = executor
        self._executor_owned = False

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
        self._drop_executor(wait=True)

    def __del__(self) -> None:
        self._drop_executor(wait=False)

    def _drop_executor(self, *, wait: bool) -> None:
        executor = self.__dict__.get("_executor")
        if self.__dict__.get("_executor_owned"):
            self._executor = None
            self._is_shut_down = True
            if executor is not None:
                executor.shutdown(wait=wait)
