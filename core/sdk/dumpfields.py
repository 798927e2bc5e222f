"""Which rollouts a line of a dump holds, in the words of whoever wrote it: ours, or those of other trainers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import orjson

_PROMPTS = ("prompt", "input", "question", "query")
_ANSWERS = ("completion", "response", "output", "generation")
_MANY = ("completions", "responses", "outputs", "generations")
_REWARDS = ("reward", "score", "rewards", "scores", "total_reward")
_STEPS = ("step", "global_step", "training_step", "train_step")
_SAMPLES = ("sample", "sample_id", "group", "group_id", "example_id", "prompt_id", "uid")
_TRUTHS = ("ground_truth", "gts", "gt", "answer", "target", "label")
_NUMBERS = ("rollout", "rollout_index", "generation_idx")
_PHASES = frozenset({"validation", "val", "valid", "eval", "evaluation", "test"})
_MOST_STEP = 2**31 - 1
_MOST_SAMPLE = 2**53


class Head(NamedTuple):
    """One rollout as far as the index knows it.

    sample: a number that stands for itself, or bytes that tell one sample from another. part: which of the line's
    rollouts it is.
    """

    step: int
    phase: str
    sample: int | bytes
    part: int
    reward: float | None
    is_failed: bool


_Seen = msgspec.Raw | msgspec.UnsetType


class _Own(msgspec.Struct):
    """A line as we write it. What is not named here is passed over without being built."""

    step: int
    phase: str
    sample: int
    rollout: int
    reward: float
    messages: msgspec.Raw
    failure: _Seen = msgspec.UNSET
    completions: _Seen = msgspec.UNSET
    responses: _Seen = msgspec.UNSET
    outputs: _Seen = msgspec.UNSET
    generations: _Seen = msgspec.UNSET


_OWN = msgspec.json.Decoder(_Own)


def quick_head(raw: bytes) -> Head | None:
    """The one rollout of a line of ours, several times as fast as `heads`; None where the line is not quite so."""
    try:
        own = _OWN.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    other = (own.failure, own.completions, own.responses, own.outputs, own.generations)
    is_plain = all(item is msgspec.UNSET for item in other) and bytes(memoryview(own.messages)[:1]) == b"["
    if not is_plain or not 0 <= own.step <= _MOST_STEP or not 0 <= own.sample <= _MOST_SAMPLE:
        return None
    return Head(own.step, _phase_word(own.phase), own.sample, 0, own.reward, False)


def heads(row: Mapping[str, Any]) -> Iterator[Head]:
    """The rollouts of a line; none where it holds none."""
    count = _count(row)
    if not count:
        return
    step, phase, sample = step_of(row), phase_of(row), sample_of(row)
    is_failed = bool(row.get("failure"))
    for part in range(count):
        yield Head(step, phase, sample, part, _reward(row, part, count), is_failed)


def records(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rollouts of a line as a job stores them; what else the line tells stays with each."""
    count = _count(row)
    if isinstance(row.get("messages"), list) and not _many(row) and _answer(row) is None:
        return [{**row, "reward": _reward(row, 0, 1), **_truth(row)}]
    rest = {key: value for key, value in row.items() if key not in _spoken(row)}
    begin = _begin(row)
    answers = _many(row) or [_answer(row)]
    return [
        {
            **rest,
            **_truth(row),
            "messages": [*begin, *_said(answers[part])],
            "reward": _reward(row, part, count),
            "advantage": _at(row.get("advantage", row.get("advantages")), part, count),
        }
        for part in range(count)
    ]


def looks_like_rollouts(row: Mapping[str, Any]) -> bool:
    """Whether somebody who sees this line would call it a rollout: something was answered, and it was judged."""
    has_verdict = any(name in row for name in _REWARDS) or bool(row.get("failure"))
    return has_verdict and _count(row) > 0


def step_of(row: Mapping[str, Any]) -> int:
    for name in _STEPS:
        value = row.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= _MOST_STEP:
            return value
    return 0


def phase_of(row: Mapping[str, Any]) -> str:
    given = row.get("phase", row.get("split"))
    return _phase_word(given) if isinstance(given, str) else "train"


def _phase_word(given: str) -> str:
    return "train" if given == "train" or given.lower() not in _PHASES else "validation"


def sample_of(row: Mapping[str, Any]) -> int | bytes:
    """What the writer calls the sample; where it calls it nothing, what was asked."""
    for name in _SAMPLES:
        value = row.get(name)
        if type(value) is int and 0 <= value <= _MOST_SAMPLE:
            return value
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return _digest([str(value)])
    return _digest(_asked(row))


def number_of(record: Mapping[str, Any]) -> int | None:
    """Which rollout of its group the writer says it is."""
    value = next((record[name] for name in _NUMBERS if name in record), None)
    return value if type(value) is int and value >= 0 else None


def _digest(value: Any) -> bytes:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).digest()


def _count(row: Mapping[str, Any]) -> int:
    if many := _many(row):
        return len(many)
    if _answer(row) is not None:
        return 1
    messages = row.get("messages")
    has_answer = isinstance(messages, list) and any(
        isinstance(item, Mapping) and item.get("role") == "assistant" for item in messages
    )
    # A rollout that broke before its first answer is one all the same.
    return int(has_answer or bool(row.get("failure")) or ("rollout" in row and "reward" in row))


def _many(row: Mapping[str, Any]) -> Sequence[Any]:
    """Several answers to one prompt; a list of messages is one conversation instead."""
    for name in _MANY:
        value = row.get(name)
        if isinstance(value, list) and value and not _is_talk(value):
            return value
    return ()


def _answer(row: Mapping[str, Any]) -> Any:
    for name in (*_ANSWERS, *_MANY):
        value = row.get(name)
        if isinstance(value, str) or (isinstance(value, Mapping) and "content" in value) or _is_talk(value):
            return value
    return None


def _is_talk(value: Any) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and "role" in item for item in value)
    )


def _asked(row: Mapping[str, Any]) -> Any:
    """What stands before the first answer."""
    asked = []
    for message in _begin(row):
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            break
        asked.append(message)
    return asked


def _begin(row: Mapping[str, Any]) -> list[Any]:
    for name in ("messages", *_PROMPTS):
        value = row.get(name)
        if isinstance(value, str) and value:
            return [{"role": "user", "content": value}]
        if isinstance(value, list) and value:
            return value
    return []


def _said(answer: Any) -> list[Any]:
    if isinstance(answer, list):
        return answer
    if isinstance(answer, Mapping):
        return [{"role": "assistant", **answer}]
    return [{"role": "assistant", "content": answer}] if answer is not None else []


def _spoken(row: Mapping[str, Any]) -> frozenset[str]:
    """The keys whose values become messages, or a number of each rollout."""
    begin = next((name for name in ("messages", *_PROMPTS) if row.get(name)), "")
    answers = next((name for name in _MANY if row.get(name) is _many(row)), "")
    if not answers:
        answers = next((name for name in (*_ANSWERS, *_MANY) if row.get(name) is _answer(row)), "")
    return frozenset({begin, answers, "advantages"})


def _reward(row: Mapping[str, Any], part: int, count: int) -> float | None:
    for name in _REWARDS:
        if (found := _at(row.get(name), part, count)) is not None:
            return found
    return None


def _at(value: Any, part: int, count: int) -> float | None:
    """The number of one rollout: of a list its own, of named parts their sum."""
    if isinstance(value, list):
        return _number(value[part]) if len(value) == count else None
    if isinstance(value, Mapping):
        parts = [_at(item, part, count) for item in value.values()]
        known = [item for item in parts if item is not None]
        return math.fsum(known) if known and len(known) == len(parts) else None
    return _number(value) if count == 1 else None


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float):  # a verdict of yes or no is one, too
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _truth(row: Mapping[str, Any]) -> dict[str, Any]:
    found = next((row[name] for name in _TRUTHS if row.get(name) is not None), None)
    return {} if found is None else {"ground_truth": found}
