"""Decorators that make a reward out of weighted parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from agentic_rl_tui.core.functions.processors.log import logger
from agentic_rl_tui.core.functions.processors.meta import (
    AggregateFunction,
    RewardProcessorMeta,
    SubRewardFunction,
    describe,
    own_meta,
    warn_if_uncollected,
)
from agentic_rl_tui.core.functions.processors.models import RewardInput

__all__ = [
    "AggregateFunction",
    "RewardProcessorMeta",
    "SubRewardFunction",
    "aggregate_func",
    "reward_func",
    "sub_reward_func",
]

ClassT = TypeVar("ClassT", bound=type)
Method = Callable[..., Any]


def reward_func(processor_id: str) -> Callable[[ClassT], ClassT]:
    """Give a reward class a ``process`` that runs its marked sub-rewards together and combines them.

    A ``process`` written in the class is replaced. Without an aggregate the answer is the weighted sum.
    """
    if inspect.isclass(processor_id):
        raise TypeError('reward_func needs an id: write @reward_func("my_reward") above the class')

    def decorate(cls: ClassT) -> ClassT:
        target: Any = cls
        if "process" in target.__dict__:
            logger.warning("%s.process is replaced by @reward_func and never runs", target.__name__)
        target.reward_meta = describe(target)
        target.reward_meta.processor_id = processor_id
        target.process = process
        if hasattr(target, "__abstractmethods__"):
            target.__abstractmethods__ = frozenset(target.__abstractmethods__) - {"process"}
        return cls

    return decorate


def sub_reward_func(name: str | None = None, sub_weight: float = 1.0) -> Callable[[Method], Method]:
    """Mark a method ``(self, input_data) -> RewardOutput`` as one part of a reward. name defaults to the method's."""
    if callable(name):
        raise TypeError("sub_reward_func needs parentheses: write @sub_reward_func() above the method")

    def decorate(method: Method) -> Method:
        marked: Any = _same_kind(method)
        marked._is_sub_reward_func = True
        marked._sub_reward_name = name or method.__name__
        marked._sub_weight = sub_weight
        return marked  # type: ignore[no-any-return]

    return decorate


def aggregate_func(func: Method) -> Method:
    """Mark the method that turns ``{sub name: RewardOutput}`` into the final answer. Takes no parentheses."""
    marked: Any = _same_kind(func)
    marked.is_aggregate_func = True
    return marked  # type: ignore[no-any-return]


def _same_kind(method: Method) -> Method:
    """A wrapper that carries marks without touching the user's function, async where that is."""
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await method(*args, **kwargs)

        return call_async

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return call


async def process(self: Any, input_data: RewardInput) -> Any:
    """The ``process`` of every decorated reward."""
    from agentic_rl_tui.core.functions.processors.running import combine

    warn_if_uncollected(self)
    return await combine(self, own_meta(self), input_data)
