"""A softmax over named choices whose logits are linear in a few context features."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Features = tuple[tuple[int, float], ...]
"""Active features: (index, value)."""


_COLDEST = 0.01


class SoftmaxTable:
    """weights[feature][choice]; feature 0 is the bias, always active. slopes shift each choice by a given amount."""

    def __init__(
        self, choices: Sequence[str], features: Sequence[str], start: Sequence[float], slopes: Sequence[float]
    ):
        self.choices = tuple(choices)
        self.features = tuple(features)
        self.slopes = tuple(slopes)
        self.weights: list[list[float]] = [[0.0] * len(choices) for _ in features]
        self.weights[0] = [math.log(weight) for weight in start]

    def logits(self, features: Features, allowed: Sequence[int], shift: float = 0.0) -> list[float]:
        """Logits of the allowed choices, in the order of `allowed`."""
        slopes = self.slopes
        logits = [slopes[choice] * shift for choice in allowed]
        for feature, value in features:
            row = self.weights[feature]
            for place, choice in enumerate(allowed):
                logits[place] += row[choice] * value
        return logits

    def copy(self) -> "SoftmaxTable":
        twin = SoftmaxTable(self.choices, self.features, [1.0] * len(self.choices), self.slopes)
        twin.weights = [list(row) for row in self.weights]
        return twin

    def dump(self) -> dict[str, dict[str, float]]:
        return {
            feature: dict(zip(self.choices, row, strict=True))
            for feature, row in zip(self.features, self.weights, strict=True)
        }

    def load(self, state: dict[str, dict[str, float]]) -> None:
        """Take over what `state` names; choices and features it does not know keep their start."""
        for feature, row in zip(self.features, self.weights, strict=True):
            known = state.get(feature, {})
            for place, choice in enumerate(self.choices):
                if isinstance(value := known.get(choice), int | float) and math.isfinite(value):
                    row[place] = float(value)


def is_greedy(temperature: float) -> bool:
    """Whether a temperature is so low that only the best choice is left; agents write 1e-8 for 0."""
    return temperature < _COLDEST


def probabilities(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    if is_greedy(temperature):
        best = max(range(len(logits)), key=logits.__getitem__)
        return [1.0 if place == best else 0.0 for place in range(len(logits))]
    scaled = [logit / temperature for logit in logits] if temperature != 1.0 else logits
    top = max(scaled)
    powers = [math.exp(logit - top) for logit in scaled]
    total = math.fsum(powers)
    return [power / total for power in powers]


def pick(chances: Sequence[float], draw: float) -> int:
    """The place where the running sum passes `draw` in [0, 1)."""
    running = 0.0
    for place, chance in enumerate(chances):
        running += chance
        if draw < running:
            return place
    return max(range(len(chances)), key=chances.__getitem__)


def entropy(chances: Sequence[float]) -> float:
    """In nats."""
    return -math.fsum(chance * math.log(chance) for chance in chances if chance > 0)


def divergence(left: Sequence[float], right: Sequence[float]) -> float:
    """KL(left || right) in nats."""
    return math.fsum(a * math.log(a / max(b, 1e-300)) for a, b in zip(left, right, strict=True) if a > 0)


@dataclass(slots=True)
class Gradient:
    """Sums of d objective / d weight for one table."""

    rows: list[list[float]]

    @classmethod
    def zero(cls, table: SoftmaxTable) -> "Gradient":
        return cls([[0.0] * len(table.choices) for _ in table.features])

    def add(self, features: Features, allowed: Sequence[int], by_logit: Sequence[float]) -> None:
        for feature, value in features:
            row = self.rows[feature]
            for choice, amount in zip(allowed, by_logit, strict=True):
                row[choice] += amount * value

    def square_norm(self) -> float:
        return math.fsum(amount * amount for row in self.rows for amount in row)
