"""How far each rollout of a group beat the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SAME = 1e-9
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class GroupStats:
    """advantages line up with the rewards given, None where the rollout has no reward. std is the population's."""

    advantages: tuple[float | None, ...]
    mean: float | None
    std: float | None
    is_zero_variance: bool
    scored: int


def group_advantages(rewards: Sequence[float | None]) -> GroupStats:
    """(reward - mean) / (std + 1e-6) over the scored rollouts of a group; 0 where all are the same or only one is.

    The same for gspo, grpo and dapo: they differ in how far one step may change a probability.
    """
    known = [reward for reward in rewards if reward is not None]
    if not known:
        return GroupStats((None,) * len(rewards), None, None, False, 0)
    mean = math.fsum(known) / len(known)
    std = math.sqrt(math.fsum((reward - mean) ** 2 for reward in known) / len(known))
    same = max(known) - min(known) <= _SAME * max(1.0, abs(mean))
    flat = same or len(known) < 2
    found = tuple(None if r is None else (0.0 if flat else (r - mean) / (std + _EPSILON)) for r in rewards)
    return GroupStats(found, mean, 0.0 if flat else std, same and len(known) >= 2, len(known))


def teacher_advantages(groups: Sequence[Sequence[float | None]]) -> list[tuple[float, ...]]:
    """How far a teacher likes each rollout above the others of its group; 0 where it said nothing.

    Rollouts that nobody of their group can be compared with are compared with each other.
    """
    found = [list(group) for group in groups]
    lone = [place for place, group in enumerate(groups) if sum(value is not None for value in group) == 1]
    pooled = iter(group_advantages([next(v for v in groups[place] if v is not None) for place in lone]).advantages)
    for place, group in enumerate(groups):
        if place in lone:
            given = next(pooled)
            found[place] = [None if value is None else given for value in group]
        else:
            found[place] = list(group_advantages(group).advantages)
    return [tuple(value or 0.0 for value in group) for group in found]
