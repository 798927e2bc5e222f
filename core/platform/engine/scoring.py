"""Scores of rollouts: one call of each reward function, their weighted mean, failures told apart from zeros."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.models.errors import ConfigError

ROLLOUT_REWARD = "rollout.reward_score"
"""Name of the score that a rollout function gave itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a function gave nothing: kind is a CallStatus value or one word of ours."""

    kind: str
    error_type: str
    message: str
    traceback: str = ""

    @classmethod
    def of(cls, result: CallResult) -> "Failure":
        error = result.error
        if error is not None:
            return cls(result.status.value, error.type, error.message, error.traceback)
        if result.status is CallStatus.FAILED:
            output = result.output or {}
            code = output.get("error_code")
            message = str(output.get("error") or "it answered status=failed without an error text")
            return cls(result.status.value, f"status=failed{f' ({code})' if code else ''}", message)
        return cls(result.status.value, result.status.value, "the call gave no answer")

    @classmethod
    def of_error(cls, kind: str, error: CallError) -> "Failure":
        return cls(kind, error.type, error.message, error.traceback)

    def record(self) -> dict[str, str]:
        record = {"kind": self.kind, "type": self.error_type, "message": self.message}
        if self.traceback:
            record["traceback"] = self.traceback
        return record


@dataclass(frozen=True, slots=True)
class Score:
    """What one reward said of one rollout. value is None where it failed; a 0 in value was meant."""

    name: str
    kind: str
    weight: float
    value: float | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    failure: Failure | None = None
    latency_s: float = 0.0
    attempts: int = 1
    sub_results: tuple[dict[str, Any], ...] = ()
    sub_failures: tuple[tuple[str, Failure], ...] = ()

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "weight": self.weight,
            "score": self.value,
            "latency_s": round(self.latency_s, 6),
        }
        if self.metrics:
            record["metrics"] = dict(self.metrics)
        if self.sub_results:
            record["sub_results"] = list(self.sub_results)
        if self.failure is not None:
            record["error"] = self.failure.record()
        if self.attempts > 1:
            record["attempts"] = self.attempts
        return record


def score_of(name: str, weight: float, result: CallResult, *, attempts: int = 1) -> Score:
    """The score in a reward function's answer."""
    subs, sub_failures = _subs(result)
    if not result.is_ok:
        return Score(name, "reward", weight, None, {}, Failure.of(result), result.latency_s, attempts, subs)
    reward = (result.output or {}).get("reward")
    value, metrics, failure = _reward(reward)
    return Score(name, "reward", weight, value, metrics, failure, result.latency_s, attempts, subs, sub_failures)


def group_scores_of(name: str, weight: float, result: CallResult, size: int, *, attempts: int = 1) -> list[Score]:
    """One score a rollout out of a group reward's answer."""

    def failed(failure: Failure) -> list[Score]:
        score = Score(name, "group_reward", weight, None, {}, failure, result.latency_s, attempts)
        return [score] * size

    if not result.is_ok:
        return failed(Failure.of(result))
    reward = (result.output or {}).get("reward")
    rewards = reward.get("rewards") if isinstance(reward, Mapping) else None
    if not isinstance(rewards, list) or len(rewards) != size:
        got = len(rewards) if isinstance(rewards, list) else "no list of"
        return failed(Failure("invalid_output", "WrongLength", f"it gave {got} rewards for {size} rollouts"))
    scores = []
    for item in rewards:
        value, metrics, failure = _reward(item)
        scores.append(Score(name, "group_reward", weight, value, metrics, failure, result.latency_s, attempts))
    return scores


def own_score(agent_output: Mapping[str, Any]) -> Score:
    """The score that a rollout function gave itself, where the job has no reward function."""
    value = number(agent_output.get("reward_score"))
    failure = None
    if value is None:
        failure = Failure(
            "invalid_output", "NoReward", "the job has no reward function and the rollout set no reward_score"
        )
    return Score(ROLLOUT_REWARD, "rollout", 1.0, value, {}, failure)


def combine(scores: Sequence[Score]) -> float | None:
    """Sum of weight x score over the sum of the weights' sizes; None where one of the scores is missing.

    A function's own score already holds its sub-weights. Leaving out a failed score instead would compare rollouts
    of a group by different yardsticks.
    """
    counted = [score for score in scores if score.weight != 0]
    if not counted or any(score.value is None for score in counted):
        return None
    total = math.fsum(score.weight * (score.value or 0.0) for score in counted)
    return total / math.fsum(abs(score.weight) for score in counted)


def check_weights(weights: Mapping[str, float]) -> None:
    """Raises ConfigError where the weights of all rewards cannot be normalised."""
    for name, weight in weights.items():
        if not math.isfinite(weight):
            raise ConfigError(f"the weight of reward {name!r} is {weight!r}", advice="Use a finite number.")
    if weights and not any(weights.values()):
        raise ConfigError("the weights of all rewards are 0", advice="Give at least one reward another weight.")


def number(value: Any) -> float | None:
    """A finite number that is no boolean, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def numbers(values: Any) -> dict[str, float]:
    """The finite numbers of a metrics dict; names that a log line could not hold as they are become plain text."""
    if not isinstance(values, Mapping):
        return {}
    found = {str(key): number(value) for key, value in values.items()}
    return {key: value for key, value in found.items() if value is not None}


def _reward(reward: Any) -> tuple[float | None, dict[str, float], Failure | None]:
    value = number(reward.get("reward_score")) if isinstance(reward, Mapping) else None
    if value is None:
        shown = repr(reward.get("reward_score") if isinstance(reward, Mapping) else reward)[:80]
        return None, {}, Failure("invalid_output", "NoScore", f"reward_score is {shown}, expected a finite number")
    return value, numbers(reward.get("reward_metrics")), None


def _subs(result: CallResult) -> tuple[tuple[dict[str, Any], ...], tuple[tuple[str, Failure], ...]]:
    records: list[dict[str, Any]] = []
    failures: list[tuple[str, Failure]] = []
    for sub in result.sub_results:
        record: dict[str, Any] = {
            "name": sub.name,
            "weight": sub.weight,
            "score": sub.score,
            "status": sub.status,
            "latency_s": round(sub.latency_s, 6),
        }
        if sub.metrics:
            record["metrics"] = dict(sub.metrics)
        if sub.error is not None:
            failure = Failure.of_error("sub_reward", sub.error)
            record["error"] = failure.record()
            failures.append((sub.name, failure))
        records.append(record)
    return tuple(records), tuple(failures)
