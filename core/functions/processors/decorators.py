"""Decorators that make a reward out of weighted parts."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from agentic_rl_tui.core.functions.processors.enums import TaskStatus
from agentic_rl_tui.core.functions.processors.log import logger
from agentic_rl_tui.core.functions.processors.meta import (
    AggregateFunction,
    RewardProcessorMeta,
    SubRewardFunction,
    describe,
    own_meta,
    warn_if_uncollected,
)
from agentic_rl_tui.core.functions.processors.models import Reward, RewardInput, RewardOutput
from agentic_rl_tui.core.functions.processors.record import SubOutcome, outcomes

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
    warn_if_uncollected(self)
    meta = own_meta(self)
    parts = await _run_all(list(meta.sub_functions.values()), self.__dict__.get("executor"), input_data)
    seen = outcomes.get()
    if seen is not None:
        seen.extend(parts)
    results = {part.name: _count(part) for part in parts}
    aggregate = meta.aggregate_function
    if aggregate is not None:
        if inspect.iscoroutinefunction(aggregate.func):
            return await aggregate.func(results)
        return await _in_thread(self.executor, aggregate.func, results)
    return RewardOutput(reward=Reward(reward_score=self.get_total(results)))


def _count(part: SubOutcome) -> Any:
    """What the sub-reward returned; one that raised counts as a failed 0."""
    if part.error is None:
        return part.result
    logger.error("Error in sub-reward function %s: %s", part.name, part.error)
    return RewardOutput(
        reward=Reward(reward_score=0.0, reward_metrics={}), status=TaskStatus.FAILED, error=str(part.error)
    )


async def _run_all(subs: list[SubRewardFunction], executor: Any, input_data: RewardInput) -> list[SubOutcome]:
    """Run every sub-reward at once, async ones on the loop and sync ones in the executor.

    What is no Exception (SystemExit, KeyboardInterrupt) is raised here, not in the tasks: there it would stop the loop.
    """
    tasks = [asyncio.create_task(_run(sub, executor, input_data)) for sub in subs]
    try:
        parts = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    for part in parts:
        if part.error is not None and not isinstance(part.error, Exception):
            raise part.error
    return parts


async def _run(sub: SubRewardFunction, executor: Any, input_data: RewardInput) -> SubOutcome:
    started = time.perf_counter()
    result: Any = None
    error: BaseException | None = None
    try:
        if inspect.iscoroutinefunction(sub.func):
            result = await sub.func(input_data)
        else:
            result = await _in_thread(executor, sub.func, input_data)
    except asyncio.CancelledError:
        raise
    except BaseException as raised:
        error = raised
    return SubOutcome(sub.name, sub.weight, result, error, time.perf_counter() - started)


async def _in_thread(executor: Any, func: Method, argument: Any) -> Any:
    """Run in the executor with a copy of the caller's context."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, context.run, _call, func, argument)


def _call(func: Method, argument: Any) -> Any:
    try:
        return func(argument)
    except StopIteration as error:  # a future that held it would never resolve
        raise RuntimeError(f"{func.__name__} raised StopIteration") from error
