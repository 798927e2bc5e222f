"""How the practice policy learns: clipped policy gradient with group advantages, and a pull to a reference."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentic_rl_tui.core.platform.engine.policy import Decision
from agentic_rl_tui.core.platform.engine.softmax import (
    Gradient,
    SoftmaxTable,
    divergence,
    entropy,
    is_greedy,
    probabilities,
)

STEP_AT_2E_6 = 4.0
"""Practice step size at the service's quick-check learning rate of 2e-6."""

Tables = Mapping[str, SoftmaxTable]


def step_size(learning_rate: float) -> float:
    """What a job's learning rate means here: ``4 * sqrt(learning_rate / 2e-6)`` in logits per unit of gradient.

    The practice policy has some hundred weights instead of billions, so a step of the same size would not show.
    The square root keeps the documented range (1e-6 to 7e-6) within a factor of three and still makes 5e-5 overshoot.
    """
    return STEP_AT_2E_6 * math.sqrt(learning_rate / 2e-6)


@dataclass(frozen=True, slots=True)
class Sample:
    """One scored rollout: what the policy chose in it, and by how much it beat its group (0 where nothing is known)."""

    decisions: tuple[Decision, ...]
    advantage: float


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """clip_low and clip_high bound the change of a choice's probability in one step, as a ratio around 1."""

    step: float
    kl_coef: float = 0.0
    clip_low: float = 0.8
    clip_high: float = 0.8
    mini_batch: int = 8
    distill_coef: float = 0.0


@dataclass(frozen=True, slots=True)
class Update:
    """What one step of learning did. All divergences in nats, averaged over the decisions of the step."""

    decisions: int
    pg_loss: float
    clip_fraction: float
    grad_norm: float
    entropy: float
    ppo_kl: float
    kl_to_start: float
    distill_loss: float | None = None


def learn(
    tables: Tables,
    start: Tables,
    samples: Sequence[Sample],
    settings: LearnSettings,
    order: random.Random,
    teacher: Tables | None = None,
) -> Update:
    """Change `tables` in place. Samples are taken in an order drawn from `order`, in mini-batches."""
    usable = [sample for sample in samples if sample.decisions]
    decisions = [decision for sample in usable for decision in sample.decisions]
    if not decisions:
        return Update(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None if teacher is None else 0.0)
    before = {name: table.copy() for name, table in tables.items()}
    shuffled = list(usable)
    order.shuffle(shuffled)
    pass_ = _Pass(tables, before, start, teacher, settings, len(usable))
    for first in range(0, len(shuffled), settings.mini_batch):
        pass_.mini_batch(shuffled[first : first + settings.mini_batch])
    seen = _contexts(decisions)
    return Update(
        decisions=len(decisions),
        pg_loss=-pass_.objective / len(usable),
        clip_fraction=pass_.clipped / len(decisions),
        grad_norm=math.sqrt(pass_.square_norm),
        entropy=_average(seen, lambda decision: entropy(_chances(before, decision))),
        ppo_kl=_average(seen, lambda d: divergence(_chances(before, d), _chances(tables, d))),
        kl_to_start=_average(seen, lambda d: divergence(_chances(before, d), _chances(start, d))),
        distill_loss=None
        if teacher is None
        else _average(seen, lambda d: divergence(_chances(before, d), _chances(teacher, d))),
    )


def measure(tables: Tables, reference: Tables, decisions: Sequence[Decision]) -> float:
    """KL(tables || reference) averaged over the contexts of `decisions`, in nats."""
    seen = _contexts(decisions)
    return _average(seen, lambda d: divergence(_chances(tables, d), _chances(reference, d))) if decisions else 0.0


class _Pass:
    """One walk over the samples of a step."""

    def __init__(
        self,
        tables: Tables,
        before: Tables,
        start: Tables,
        teacher: Tables | None,
        settings: LearnSettings,
        total: int,
    ) -> None:
        self._tables = tables
        self._before = before
        self._start = start
        self._teacher = teacher
        self._settings = settings
        self._total = total
        self._old: dict[tuple[object, ...], list[float]] = {}
        self.objective = 0.0
        self.clipped = 0
        self.square_norm = 0.0

    def mini_batch(self, samples: Sequence[Sample]) -> None:
        gradients = {name: Gradient.zero(table) for name, table in self._tables.items()}
        for sample in samples:
            for decision in sample.decisions:
                by_logit = self._by_logit(decision, sample.advantage)
                gradients[decision.table].add(decision.features, decision.allowed, by_logit)
        scale = self._settings.step / self._total
        for name, table in self._tables.items():
            self.square_norm += gradients[name].square_norm() / self._total**2
            for row, amounts in zip(table.weights, gradients[name].rows, strict=True):
                for place, amount in enumerate(amounts):
                    row[place] += scale * amount

    def _by_logit(self, decision: Decision, advantage: float) -> list[float]:
        """d objective / d logit of the allowed choices for one decision."""
        settings = self._settings
        chances = _chances(self._tables, decision)
        total = [0.0] * len(chances)
        if advantage != 0.0 and not is_greedy(decision.temperature):
            self._add_policy_gradient(total, decision, advantage)
        if settings.kl_coef > 0:
            _pull(total, chances, _chances(self._start, decision), settings.kl_coef)
        if self._teacher is not None and settings.distill_coef > 0:
            _pull(total, chances, _chances(self._teacher, decision), settings.distill_coef)
        return total

    def _add_policy_gradient(self, total: list[float], decision: Decision, advantage: float) -> None:
        settings = self._settings
        temperature = decision.temperature
        place = decision.allowed.index(decision.chosen)
        now = _chances(self._tables, decision, temperature)
        ratio = now[place] / max(self._before_the_step(decision)[place], 1e-12)
        low, high = 1 - settings.clip_low, 1 + settings.clip_high
        self.objective += min(ratio * advantage, min(max(ratio, low), high) * advantage)
        if (advantage > 0 and ratio > high) or (advantage < 0 and ratio < low):
            self.clipped += 1
            return
        amount = advantage * ratio / temperature
        for other, chance in enumerate(now):
            total[other] -= amount * chance
        total[place] += amount

    def _before_the_step(self, decision: Decision) -> list[float]:
        """Probabilities at which the choice was made; the rollouts of a row share them."""
        key = (decision.table, decision.features, decision.allowed, decision.shift, decision.temperature)
        if key not in self._old:
            self._old[key] = _chances(self._before, decision, decision.temperature)
        return self._old[key]


def _pull(total: list[float], chances: Sequence[float], reference: Sequence[float], coefficient: float) -> None:
    """Add -coefficient * d KL(chances || reference) / d logit."""
    logs = [math.log(max(a, 1e-300) / max(b, 1e-300)) for a, b in zip(chances, reference, strict=True)]
    distance = math.fsum(chance * log for chance, log in zip(chances, logs, strict=True))
    for place, (chance, log) in enumerate(zip(chances, logs, strict=True)):
        total[place] -= coefficient * chance * (log - distance)


def _chances(tables: Tables, decision: Decision, temperature: float = 1.0) -> list[float]:
    logits = tables[decision.table].logits(decision.features, decision.allowed, decision.shift)
    return probabilities(logits, temperature)


def _contexts(decisions: Sequence[Decision]) -> list[tuple[Decision, int]]:
    """One decision for each distinct situation, with how often it came up."""
    counts: dict[tuple[object, ...], tuple[Decision, int]] = {}
    for decision in decisions:
        key = (decision.table, decision.features, decision.allowed, decision.shift)
        counts[key] = (decision, counts[key][1] + 1 if key in counts else 1)
    return list(counts.values())


def _average(seen: Sequence[tuple[Decision, int]], value: Callable[[Decision], float]) -> float:
    total = sum(count for _, count in seen)
    return math.fsum(value(decision) * count for decision, count in seen) / total
