"""How the reward of one rollout came together: each score, its weight, and what it adds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a waterfall. depth 0: a reward of the job, whose shares add up to the rollout's reward.

    depth 1: a part of the reward above it, whose shares add up to that one's. is_rest: what a reward's own way of
    adding up made of its parts. value is None where it failed, share where it cannot be told.
    """

    name: str
    depth: int
    value: float | None
    weight: float
    share: float | None
    error: str = ""
    is_rest: bool = False


def waterfall(record: Mapping[str, Any]) -> tuple[Part, ...]:
    """The parts of a stored rollout's reward in the order of the job file, each followed by its own parts."""
    scores = [item for item in record.get("scores") or () if isinstance(item, Mapping)]
    whole = math.fsum(abs(_weight(score)) for score in scores)
    # A reward that fails leaves the rollout without one, so no share can be told.
    can_tell = whole > 0 and all(_value(score) is not None for score in scores if _weight(score))
    parts: list[Part] = []
    for score in scores:
        weight, value = _weight(score), _value(score)
        scale = weight / whole if can_tell else None
        share = None if scale is None else scale * (value or 0.0)
        parts.append(Part(str(score.get("name", "reward")), 0, value, weight, share, _error(score)))
        parts += _subs(score, value, scale)
    return tuple(parts)


def _subs(score: Mapping[str, Any], value: float | None, scale: float | None) -> list[Part]:
    subs = score.get("sub_results")
    found = [sub for sub in subs if isinstance(sub, Mapping)] if isinstance(subs, list) else []
    parts = []
    added = 0.0
    for sub in found:
        weight, own = _weight(sub), _value(sub)
        gives = weight * (own or 0.0)
        added += gives
        share = None if scale is None else scale * gives
        parts.append(Part(str(sub.get("name", "?")), 1, own, weight, share, _error(sub)))
    if found and value is not None and abs(value - added) > _SAME * max(1.0, abs(value)):
        share = None if scale is None else scale * (value - added)
        parts.append(Part("", 1, value - added, 1.0, share, is_rest=True))
    return parts


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _value(score: Mapping[str, Any]) -> float | None:
    return _number(score.get("score", score.get("value")))


def _weight(score: Mapping[str, Any]) -> float:
    weight = _number(score.get("weight"))
    return 1.0 if weight is None else weight


def _error(score: Mapping[str, Any]) -> str:
    error = score.get("error")
    if isinstance(error, Mapping):
        kind, text = str(error.get("type") or ""), str(error.get("message") or error.get("kind") or "")
        return f"{kind}: {text}" if kind and text else kind or text
    return str(error) if error else ""
