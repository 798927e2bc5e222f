"""Why a group of rollouts teaches nothing: no spread in its rewards, and what most likely lies behind it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agentic_rl_tui.core.models.alignment import prompt_of, turns_of

_SAME = 1e-9


class Spread(StrEnum):
    """How the rewards of a group lie. UNUSABLE: fewer than two rollouts have one."""

    SPREAD = "spread"
    ALL_MAX = "all_max"
    ALL_MIN = "all_min"
    ALL_OTHER = "all_other"
    UNUSABLE = "unusable"

    @property
    def is_flat(self) -> bool:
        return self in (Spread.ALL_MAX, Spread.ALL_MIN, Spread.ALL_OTHER)


class Cause(StrEnum):
    """The likely reason for a group without spread."""

    ROLLOUTS_FAILED = "rollouts_failed"
    REWARDS_FAILED = "rewards_failed"
    ONE_ROLLOUT = "one_rollout"
    IDENTICAL = "identical_rollouts"
    ZERO_BY_EXCEPTION = "zero_by_exception"
    CONSTANT = "constant_reward"
    TOO_EASY = "too_easy"
    TOO_HARD = "too_hard"
    SAME_VALUE = "same_value"


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group in numbers. A failure has no reward and is never counted as a zero.

    zeros: rollouts that the reward judged 0. zeros_by_exception: those of them in which a part of the reward raised.
    """

    spread: Spread
    cause: Cause | None
    scored: int
    failed_rollouts: int
    failed_rewards: int
    zeros: int = 0
    zeros_by_exception: int = 0
    prompt: str = ""


def spread_of(rewards: Sequence[float | None], low: float, high: float) -> Spread:
    """low and high: the least and greatest reward that are known of the step or the job."""
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2:
        return Spread.UNUSABLE
    middle = math.fsum(known) / len(known)
    if max(known) - min(known) > _SAME * max(1.0, abs(middle)):
        return Spread.SPREAD
    if low < high and middle >= high - _SAME * max(1.0, abs(high)):
        return Spread.ALL_MAX
    if low < high and middle <= low + _SAME * max(1.0, abs(low)):
        return Spread.ALL_MIN
    return Spread.ALL_OTHER


def bounds(rewards: Sequence[Sequence[float | None]]) -> tuple[float, float]:
    """The least and greatest reward of some groups; 0 and 0 where none has one."""
    known = [reward for group in rewards for reward in group if reward is not None]
    return (min(known), max(known)) if known else (0.0, 0.0)


def judge(
    rewards: Sequence[float | None],
    low: float,
    high: float,
    *,
    records: Sequence[Mapping[str, Any]] = (),
    failed_rollouts: int = 0,
    failed_rewards: int = 0,
) -> GroupFacts:
    """What can be told of a group: more of it with its whole records, which also give the counts of failures."""
    if records:
        failed_rollouts = sum(bool(record.get("failure")) for record in records)
        failed_rewards = sum(record.get("reward") is None and not record.get("failure") for record in records)
    spread = spread_of(rewards, low, high)
    raised = [_has_raised(record) for record in records]
    zeros = sum(reward == 0 for reward in rewards if reward is not None)
    by_exception = sum(
        record.get("reward") == 0 and has_raised for record, has_raised in zip(records, raised, strict=True)
    )
    return GroupFacts(
        spread,
        _cause(spread, records, any(raised), failed_rollouts, failed_rewards, low, high),
        sum(reward is not None for reward in rewards),
        failed_rollouts,
        failed_rewards,
        zeros,
        by_exception,
        next((prompt for record in records if (prompt := prompt_of(record))), ""),
    )


def _cause(
    spread: Spread,
    records: Sequence[Mapping[str, Any]],
    has_raised: bool,
    failed_rollouts: int,
    failed_rewards: int,
    low: float,
    high: float,
) -> Cause | None:
    if spread is Spread.SPREAD:
        return None
    if spread is Spread.UNUSABLE:
        if failed_rollouts or failed_rewards:
            return Cause.ROLLOUTS_FAILED if failed_rollouts >= failed_rewards else Cause.REWARDS_FAILED
        return Cause.ONE_ROLLOUT
    if _are_identical(records):
        return Cause.IDENTICAL
    if has_raised and spread is not Spread.ALL_MAX:
        return Cause.ZERO_BY_EXCEPTION
    if low >= high:
        return Cause.CONSTANT
    return {Spread.ALL_MAX: Cause.TOO_EASY, Spread.ALL_MIN: Cause.TOO_HARD}.get(spread, Cause.SAME_VALUE)


def _are_identical(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all rollouts that did not fail said the same, word for word."""
    said = [turns_of(record) for record in records if not record.get("failure")]
    return len(said) > 1 and bool(said[0]) and all(turns == said[0] for turns in said)


def _has_raised(record: Mapping[str, Any]) -> bool:
    scores = record.get("scores")
    for score in scores if isinstance(scores, list) else ():
        subs = score.get("sub_results") if isinstance(score, Mapping) else None
        if any(isinstance(sub, Mapping) and sub.get("error") for sub in (subs if isinstance(subs, list) else ())):
            return True
    return False
