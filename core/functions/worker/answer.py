"""From what a user's ``process`` returned to the answer that is sent, or to everything that is wrong with it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from pydantic import BaseModel, ValidationError

from agentic_rl_tui.core.functions.depth import MOST_LEVELS, is_too_deep
from agentic_rl_tui.core.functions.worker.runtime import Runtime

_ATOMS = (str, int, float, bool, type(None))


class InvalidAnswer(Exception):
    """problems: one sentence each, with the place in the answer first."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


def problems_of(error: ValidationError) -> tuple[str, ...]:
    """Every problem that validation found, without the values: they may be long or secret."""
    return tuple(
        f"{'.'.join(str(part) for part in item['loc']) or 'the whole'}: {item['msg']}"
        for item in error.errors(include_url=False)
    )


def encode_answer(value: Any, input_data: Any, kind: str, runtime: Runtime) -> tuple[bytes, bool]:
    """The answer as JSON, and whether it says ``failed`` of itself. Raises InvalidAnswer."""
    model = runtime.outputs[kind]
    if type(value) is model and _is_plain(value, kind):
        problems = _wrong_length(value, input_data, kind)
        if problems:
            raise InvalidAnswer(*problems)
        return value.__pydantic_serializer__.to_json(value), value.status == "failed"
    content = _content(value, model)
    try:
        checked = model.model_validate(content)
    except ValidationError as error:
        raise InvalidAnswer(*_named(value, model, problems_of(error)), *_unsendable(content)) from None
    problems = [*_boolean_scores(content), *_wrong_length(checked, input_data, kind)]
    try:
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        encoded = text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidAnswer(*problems, *(list(_unsendable(content)) or [f"the answer is not JSON: {error}"])) from None
    if is_too_deep(content, text):
        problems.append(f"the answer is nested more than {MOST_LEVELS} levels deep")
    if problems:
        raise InvalidAnswer(*problems)
    return encoded, checked.status.value == "failed"


def encode_unchecked(value: Any) -> bytes | None:
    """An answer of no model as the vendor's server passes it on: a dict as it is, any other value under ``result``.

    None for what JSON cannot hold.
    """
    if isinstance(value, BaseModel):
        return None
    try:
        content = value if isinstance(value, dict) else {"result": value}
        return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        return None


def _is_plain(value: Any, kind: str) -> bool:
    """Whether every part of a reward's answer is what its model says, and a number that JSON can hold.

    Most answers are, and need no second validation. User code may have changed its answer after it was made.
    """
    if kind == "reward":
        code = value.error_code
        return _is_plain_reward(value.reward) and (code is None or type(code) is str) and _is_plain_end(value)
    if kind == "group_reward":
        rewards = value.reward.rewards
        return type(rewards) is list and all(map(_is_plain_reward, rewards)) and _is_plain_end(value)
    return False


def _is_plain_reward(reward: Any) -> bool:
    score, metrics = reward.reward_score, reward.reward_metrics
    if type(score) is not float or not isfinite(score):
        return False
    if metrics:
        if type(metrics) is not dict:
            return False
        for name, number in metrics.items():
            if type(name) is not str or type(number) is not float or not isfinite(number):
                return False
    return True


def _is_plain_end(value: Any) -> bool:
    error = value.error
    return (
        not value.__pydantic_extra__
        and (error is None or type(error) is str)
        and type(value.status).__name__ == "TaskStatus"
    )


def _content(value: Any, model: type[Any]) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return value.model_dump(warnings=False)
    if isinstance(value, dict):
        return value
    if inspect.iscoroutine(value):
        value.close()
        raise InvalidAnswer("process is a plain def that returned a coroutine; write it as async def")
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise InvalidAnswer("process contains yield, so it returned a generator; it must return its answer")
    shown = "None (is a return missing?)" if value is None else type(value).__name__
    raise InvalidAnswer(f"process returned {shown}, expected {model.__name__}")


def _named(value: Any, model: type[Any], problems: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, model):
        return problems
    return (f"process returned {type(value).__name__}, which is no {model.__name__}", *problems)


def _rewards(content: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    reward = content.get("reward")
    if isinstance(reward, dict):
        yield "reward.reward_score", reward.get("reward_score")
        for index, item in enumerate(reward.get("rewards") or ()):
            if isinstance(item, dict):
                yield f"reward.rewards.{index}.reward_score", item.get("reward_score")
    output = content.get("agent_output")
    if isinstance(output, dict):
        yield "agent_output.reward_score", output.get("reward_score")


def _boolean_scores(content: dict[str, Any]) -> list[str]:
    return [
        f"{place}: a boolean is no score; return 1.0 or 0.0"
        for place, score in _rewards(content)
        if isinstance(score, bool) or type(score).__name__ == "BooleanScore"
    ]


def _wrong_length(checked: Any, input_data: Any, kind: str) -> list[str]:
    if kind != "group_reward":
        return []
    given, wanted = len(checked.reward.rewards), len(input_data.agent_outputs)
    if given == wanted:
        return []
    return [f"reward.rewards: {given} rewards for {wanted} agent outputs; there must be one for each, in order"]


def _unsendable(value: Any, place: str = "", above: tuple[int, ...] = ()) -> Iterator[str]:
    """Every part of an answer that JSON cannot hold. above: the ids of the containers around the value."""
    here = place or "the answer"
    if id(value) in above:
        yield f"{here}: contains itself"
    elif len(above) > 200:
        yield f"{here}: nested too deeply"
    elif isinstance(value, float) and not isfinite(value):
        yield f"{here}: {value} is no number that JSON can hold"
    elif isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            yield f"{here}: the text holds half of a surrogate pair, which UTF-8 cannot hold"
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, _ATOMS):
                yield from _unsendable(item, f"{place}.{key}" if place else str(key), (*above, id(value)))
            else:
                yield f"{here}: a key of type {type(key).__name__} is no JSON"
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unsendable(item, f"{place}.{index}" if place else str(index), (*above, id(value)))
    elif not isinstance(value, _ATOMS):
        yield f"{here}: {type(value).__name__} is no JSON"
