"""How the parts of a decorated reward run, and what becomes of their answers.

Apart from the decorators, so that a process whose rewards are plain functions never imports asyncio.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import Callable
from typing import Any

from agentic_rl_tui.core.functions.processors.enums import TaskStatus
from agentic_rl_tui.core.functions.processors.log import logger
from agentic_rl_tui.core.functions.processors.meta import RewardProcessorMeta, SubRewardFunction
from agentic_rl_tui.core.functions.processors.models import Reward, RewardInput, RewardOutput
from agentic_rl_tui.core.functions.processors.record import SubOutcome, outcomes


async def combine(processor: Any, meta: RewardProcessorMeta, input_data: RewardInput) -> Any:
    """Run every part, then the aggregate; without one, the answer is the weighted sum."""
    parts = await _run_all(list(meta.sub_functions.values()), processor, input_data)
    seen = outcomes.get()
    if seen is not None:
        seen.extend(parts)
    results = {part.name: _count(part) for part in parts}
    aggregate = meta.aggregate_function
    if aggregate is not None:
        if inspect.iscoroutinefunction(aggregate.func):
            return await aggregate.func(results)
        return await _in_thread(processor.executor, aggregate.func, results)
    return RewardOutput(reward=Reward(reward_score=processor.get_total(results)))


def _count(part: SubOutcome) -> Any:
    """What the sub-reward returned; one that raised counts as a failed 0."""
    if part.error is None:
        return part.result
    logger.error("Error in sub-reward function %s: %s", part.name, part.error)
    return RewardOutput(
        reward=Reward(reward_score=0.0, reward_metrics={}), status=TaskStatus.FAILED, error=str(part.error)
    )


async def _run_all(subs: list[SubRewardFunction], processor: Any, input_data: RewardInput) -> list[SubOutcome]:
    """Run every sub-reward at once, async ones on the loop and sync ones in the executor.

    What is no Exception (SystemExit, KeyboardInterrupt) is raised here, not in the tasks: there it would stop the loop.
    """
    tasks = [asyncio.create_task(_run(sub, processor, input_data)) for sub in subs]
    try:
        parts = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    for part in parts:
        if part.error is not None and not isinstance(part.error, Exception):
            raise part.error
    return parts


async def _run(sub: SubRewardFunction, processor: Any, input_data: RewardInput) -> SubOutcome:
    started = time.perf_counter()
    result: Any = None
    error: BaseException | None = None
    try:
        if inspect.iscoroutinefunction(sub.func):
            result = await sub.func(input_data)
        else:
            result = await _in_thread(processor.executor, sub.func, input_data)
    except asyncio.CancelledError:
        raise
    except BaseException as raised:
        error = raised
    return SubOutcome(sub.name, sub.weight, result, error, time.perf_counter() - started)


async def _in_thread(executor: Any, func: Callable[..., Any], argument: Any) -> Any:
    """Run in the executor with a copy of the caller's context."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, context.run, _call, func, argument)


def _call(func: Callable[..., Any], argument: Any) -> Any:
    try:
        return func(argument)
    except StopIteration as error:  # a future that held it would never resolve
        raise RuntimeError(f"{func.__name__} raised StopIteration") from error
