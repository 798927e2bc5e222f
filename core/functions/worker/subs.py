"""What became of the parts of a decorated reward, with either processor API."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from agentic_rl_tui.core.functions.processors.record import SubOutcome, outcomes
from agentic_rl_tui.core.functions.worker import faults

outcomes_of: ContextVar[list[SubOutcome] | None] = outcomes


class SubWatch:
    """Watches the sub-rewards of the vendor's decorator, which keeps nothing of them.

    Their threads do not inherit the caller's context, so a call is known by the input object that it hands to all
    of its parts.
    """

    def __init__(self, processor: Any, *, own: bool) -> None:
        self._calls: dict[int, list[SubOutcome] | None] = {}
        self._active = False
        if own:
            return
        meta = getattr(processor, "reward_meta", None)
        for sub in getattr(meta, "sub_functions", {}).values():
            sub.func = self._watched(sub.name, sub.weight, sub.func)
            self._active = True

    def begin(self, input_data: Any, found: list[SubOutcome] | None) -> None:
        if self._active:
            self._calls[id(input_data)] = found

    def end(self, input_data: Any) -> None:
        if self._active and input_data is not None:
            self._calls.pop(id(input_data), None)

    def _watched(self, name: str, weight: float, func: Callable[..., Any]) -> Callable[..., Any]:
        def note(input_data: Any, result: Any, error: BaseException | None, started: float) -> None:
            found = self._calls.get(id(input_data))
            if found is not None:
                found.append(SubOutcome(name, weight, result, error, perf_counter() - started))

        if inspect.iscoroutinefunction(func):

            async def watched_async(input_data: Any) -> Any:
                started = perf_counter()
                try:
                    result = await func(input_data)
                except BaseException as error:
                    note(input_data, None, error, started)
                    raise
                note(input_data, result, None, started)
                return result

            return watched_async

        def watched(input_data: Any) -> Any:
            started = perf_counter()
            try:
                result = func(input_data)
            except BaseException as error:
                note(input_data, None, error, started)
                raise
            note(input_data, result, None, started)
            return result

        return watched


def describe_subs(found: list[SubOutcome] | None, package_dir: str) -> list[dict[str, Any]]:
    """In the order of their names, ready to be sent. odd: a score that is no finite number, as text."""
    return [_describe(part, package_dir) for part in sorted(found or (), key=lambda part: part.name)]


def _describe(part: SubOutcome, package_dir: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": str(part.name),
        "weight": _number(part.weight),
        "score": 0.0,
        "status": "failed",
        "metrics": {},
        "latency_s": part.latency_s,
    }
    if part.error is not None:
        return {**told, "error": faults.describe(part.error, package_dir)}
    try:
        reward = part.result.reward
        told["score"] = _number(reward.reward_score)
        told["metrics"] = {str(name): _number(value) for name, value in (reward.reward_metrics or {}).items()}
        told["status"] = str(getattr(part.result.status, "value", part.result.status))
    except (AttributeError, TypeError, ValueError):
        shown = type(part.result).__name__
        return {**told, "error": faults.problem("InvalidAnswer", f"returned {shown}, expected RewardOutput")}
    if told["score"] is None:
        told["odd"] = str(reward.reward_score)
    if part.result.error:
        told["error"] = faults.problem("Failed", str(part.result.error))
    return told


def _number(value: Any) -> float | None:
    """None for what JSON cannot hold."""
    number = float(value)
    return number if math.isfinite(number) else None
