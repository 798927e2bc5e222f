"""The numbers of a step under the service's names."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentic_rl_tui.core.platform.engine.groups import Group, Outcome
from agentic_rl_tui.core.platform.engine.learning import Update
from agentic_rl_tui.core.platform.engine.teacher import joined

_MAX_METRIC_NAMES = 200


def step_metrics(groups: Sequence[Group], seen: tuple[float, float] | None) -> dict[str, Any]:
    """What the rollouts of a step tell. seen is the lowest and highest reward of the job so far.

    Rewards of failed rollouts and failed rewards are left out of every mean and counted by themselves.
    """
    outcomes = [outcome for group in groups for outcome in group.outcomes]
    values: dict[str, Any] = {}
    rewards = [outcome.reward for outcome in outcomes if outcome.reward is not None]
    if rewards:
        values |= _spread("critic/rewards", rewards)
    advantages = [outcome.advantage for outcome in outcomes if outcome.advantage is not None]
    if advantages:
        values |= {
            "critic/advantages/max": max(advantages),
            "critic/advantages/min": min(advantages),
        }
    values |= _counts(groups, outcomes, seen)
    values |= _lengths(outcomes)
    values |= _traces(outcomes)
    return values


def _spread(prefix: str, values: Sequence[float]) -> dict[str, float]:
    middle = mean(values)
    return {
        f"{prefix}/mean": middle,
        f"{prefix}/std": math.sqrt(mean([(value - middle) ** 2 for value in values])),
        f"{prefix}/max": max(values),
        f"{prefix}/min": min(values),
    }


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _counts(groups: Sequence[Group], outcomes: Sequence[Outcome], seen: tuple[float, float] | None) -> dict[str, Any]:
    flat = [group.stats.mean or 0.0 for group in groups if group.stats.is_zero_variance]
    low, high = seen if seen is not None else (0.0, 0.0)
    at_most = sum(1 for value in flat if low < high and value >= high)
    at_least = sum(1 for value in flat if low < high and value <= low)
    stds = [group.stats.std for group in groups if group.stats.std]
    scores = [score for outcome in outcomes for score in outcome.scores]
    counted = {
        "trajectory/groups": len(groups),
        "trajectory/total": len(outcomes),
        "trajectory/scored": sum(outcome.reward is not None for outcome in outcomes),
        "trajectory/failed_rollouts": sum(outcome.failure is not None for outcome in outcomes),
        "trajectory/timeout_rollouts": sum(
            outcome.failure is not None and outcome.failure.kind == "timeout" for outcome in outcomes
        ),
        "trajectory/retried_rollouts": sum(outcome.attempt > 1 for outcome in outcomes),
        "trajectory/failed_rewards": sum(score.failure is not None for score in scores),
        "trajectory/zero_by_exception": sum(len(score.sub_failures) for score in scores),
        "trajectory/zero_by_judgement": sum(
            outcome.reward == 0 and not any(score.sub_failures for score in outcome.scores) for outcome in outcomes
        ),
        "trajectory/no_model_call": sum(outcome.failure is None and not outcome.turns for outcome in outcomes),
        "trajectory/unusable_groups": sum(group.stats.scored < 2 for group in groups),
        "trajectory/zero_variance_groups": len(flat),
        "trajectory/zero_variance_groups/all_max": at_most,
        "trajectory/zero_variance_groups/all_min": at_least,
        "trajectory/zero_variance_groups/all_other": len(flat) - at_most - at_least,
        "trajectory/zero_variance_share": len(flat) / len(groups) if groups else 0.0,
    }
    if stds:
        counted["trajectory/smallest_group_std"] = min(stds)
    return counted


def _lengths(outcomes: Sequence[Outcome]) -> dict[str, float]:
    alive = [outcome for outcome in outcomes if outcome.failure is None]
    if not alive:
        return {}
    responses = [float(outcome.completion_tokens) for outcome in alive]
    prompts = [float(outcome.prompt_tokens) for outcome in alive]
    turns = [float(outcome.turns) for outcome in alive]
    return {
        "response_length/mean": mean(responses),
        "response_length/max": max(responses),
        "response_length/min": min(responses),
        "response_length/clip_ratio": mean([float(outcome.is_cut) for outcome in alive]),
        "prompt_length/mean": mean(prompts),
        "prompt_length/max": max(prompts),
        "num_turns/mean": mean(turns),
        "num_turns/max": max(turns),
        "timing/s/rollout/mean": mean([outcome.rollout_s for outcome in alive]),
        "timing/s/rollout/max": max(outcome.rollout_s for outcome in alive),
        "timing/s/reward/mean": mean([outcome.reward_s for outcome in alive]),
        "timing/s/reward/max": max(outcome.reward_s for outcome in alive),
    }


def _traces(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Users' own metrics: average over the rollouts that gave them, and sum."""
    collected: dict[str, list[float]] = {}

    def add(name: str, values: Mapping[str, float]) -> None:
        for key, value in values.items():
            full = f"{name}/{key}"
            if full in collected or len(collected) < _MAX_METRIC_NAMES:
                collected.setdefault(full, []).append(value)

    for outcome in outcomes:
        add("trace/rollout_metrics", outcome.rollout_metrics)
        for score in outcome.scores:
            prefix = f"trace/reward_metrics/{score.name}"
            if score.value is not None:
                add(prefix, {"reward_score": score.value})
            add(prefix, score.metrics)
            for sub in score.sub_results:
                if "error" not in sub and f"{sub['name']}" not in score.metrics:
                    add(prefix, {f"{sub['name']}.score": sub["score"]})
    found: dict[str, float] = {}
    for name in sorted(collected):
        values = collected[name]
        found[f"{name}/avg"] = mean(values)
        found[f"{name}/sum"] = math.fsum(values)
    return found


def choices(groups: Sequence[Group], *, shown: int = 6) -> str:
    """What the practice policy chose most often, in words: ``tool_right 31 %, wrong 12 %``."""
    counts = Counter(decision.name for group in groups for outcome in group.outcomes for decision in outcome.decisions)
    total = sum(counts.values())
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:shown]
    return ", ".join(f"{name} {count / total:.0%}" for name, count in common) or "nothing"


def update_metrics(update: Update, *, kl_coef: float, learning_rate: float, step: float) -> dict[str, Any]:
    """What a step of learning tells. ``practice/step_size`` is what the learning rate means to the practice policy."""
    values: dict[str, Any] = {
        "actor/lr": learning_rate,
        "actor/pg_loss": update.pg_loss,
        "actor/pg_clipfrac": update.clip_fraction,
        "actor/ppo_kl": update.ppo_kl,
        "actor/kl_loss": update.kl_to_start,
        "actor/kl_coef": kl_coef,
        "actor/entropy": update.entropy,
        "actor/grad_norm": update.grad_norm,
        "practice/decisions": update.decisions,
        "practice/step_size": step,
    }
    if update.distill_loss is not None:
        values["actor/distillation/loss"] = update.distill_loss
    return values


def distillation_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """How much of the answers a practice teacher could judge: all tokens of rollouts that called the model."""
    alive = [outcome for group in groups for outcome in group.outcomes if outcome.failure is None]
    if not alive:
        return {}
    judged = mean([float(bool(outcome.decisions)) for outcome in alive])
    return {
        "trace/distillation/valid_token_rate": judged,
        "trace/distillation/missing_token_rate": 1.0 - judged,
        "trace/distillation/empty_response_rate": mean([float(outcome.completion_tokens <= 1) for outcome in alive]),
    }


def teacher_metrics(groups: Sequence[Group], *, prefix: str = "") -> dict[str, float]:
    """What a teacher behind an endpoint said of the rollouts. The loss is in nats a token, lower is liked better."""
    alive = [outcome for group in groups for outcome in group.outcomes if outcome.failure is None]
    judged = joined([outcome.judged for outcome in alive if outcome.judged is not None])
    values: dict[str, float] = {
        f"{prefix}trace/distillation/judged_rollouts": sum(outcome.judged is not None for outcome in alive),
        f"{prefix}trace/distillation/judged_tokens": judged.tokens if judged else 0,
        f"{prefix}trace/distillation/failed_judgements": sum(len(outcome.unjudged) for outcome in alive),
    }
    if alive and not prefix:
        share = values["trace/distillation/judged_rollouts"] / len(alive)
        values |= {"trace/distillation/valid_token_rate": share, "trace/distillation/missing_token_rate": 1.0 - share}
    if judged is not None:
        values[f"{prefix}distillation/loss" if prefix else "actor/distillation/loss"] = -judged.mean
    return values


def validation_metrics(groups: Sequence[Group]) -> dict[str, Any]:
    outcomes = [outcome for group in groups for outcome in group.outcomes]
    rewards = [outcome.reward for outcome in outcomes if outcome.reward is not None]
    values: dict[str, Any] = {}
    if rewards:
        spread = _spread("validation/data/reward", rewards)
        values["validation/data/reward/mean@1"] = spread["validation/data/reward/mean"]
        values["validation/data/reward/std@1"] = spread["validation/data/reward/std"]
    values |= {
        "validation/trajectory/total": len(outcomes),
        "validation/trajectory/failed_rollouts": sum(outcome.failure is not None for outcome in outcomes),
        "validation/trajectory/failed_rewards": sum(
            score.failure is not None for outcome in outcomes for score in outcome.scores
        ),
    }
    values |= {f"validation/{name}": value for name, value in _traces(outcomes).items() if name.endswith("/avg")}
    return values


def zero_variance_hint(values: Mapping[str, Any]) -> tuple[str, str]:
    """Which kind of groups teach nothing, and the likeliest reason."""
    prefix = "trajectory/zero_variance_groups"
    kinds = {kind: values[f"{prefix}/{kind}"] for kind in ("all_max", "all_min", "all_other")}
    most = max(kinds, key=lambda kind: kinds[kind])
    reason = {
        "all_max": "all at the best reward so far, so the data is too easy by now",
        "all_min": "all at the worst reward so far, so the data or the reward is too hard",
        "all_other": "the reward hardly tells answers apart, or n_rollouts is too small",
    }[most]
    share, total = values["trajectory/zero_variance_share"], values["trajectory/groups"]
    text = (
        f"{share:.0%} of the groups gave all their rollouts the same reward and teach nothing "
        f"({kinds['all_max']} at the best, {kinds['all_min']} at the worst, {kinds['all_other']} others of {total}): "
        f"{reason}"
    )
    return f"zero variance {most}", text
