"""What a decorated reward knows of its parts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.functions.processors.log import logger

SUB_MARK = "_is_sub_reward_func"
AGGREGATE_MARK = "is_aggregate_func"


@dataclass
class SubRewardFunction:
    name: str
    func: Callable[..., Any]
    weight: float = 1.0


@dataclass
class AggregateFunction:
    func: Callable[..., Any]


@dataclass
class RewardProcessorMeta:
    """Subs by name, in the alphabetical order of their methods' names."""

    processor_id: str
    sub_functions: dict[str, SubRewardFunction] = field(default_factory=dict)
    aggregate_function: AggregateFunction | None = None

    def copy(self) -> RewardProcessorMeta:
        return RewardProcessorMeta(self.processor_id, dict(self.sub_functions), self.aggregate_function)


def collect(processor: Any) -> RewardProcessorMeta:
    """Find the marked methods of an instance, inherited ones too. The later of two subs with one name wins."""
    declared = getattr(type(processor), "reward_meta", None)
    meta = RewardProcessorMeta(getattr(declared, "processor_id", "default"))
    _fill(meta, type(processor), lambda name: getattr(processor, name))
    return meta


def own_meta(processor: Any) -> RewardProcessorMeta:
    """An instance's own parts; none where the constructor that collects them never ran."""
    own = processor.__dict__.get("reward_meta")
    return own if isinstance(own, RewardProcessorMeta) else RewardProcessorMeta("default")


def describe(cls: type) -> RewardProcessorMeta:
    """What `collect` will find, with plain functions, and a warning for each mark that will have no effect."""
    meta = RewardProcessorMeta(str(getattr(cls, "__name__", "default")))
    _fill(meta, cls, lambda name: getattr(cls, name), warn=True)
    for name in _marked(cls, private=True):
        logger.warning("%s.%s is marked as a sub-reward but its name starts with _; it is ignored", cls.__name__, name)
    return meta


def _fill(meta: RewardProcessorMeta, cls: type, get: Callable[[str], Any], *, warn: bool = False) -> None:
    for attribute in _marked(cls, private=False):
        method = get(attribute)
        if hasattr(method, SUB_MARK):
            name = getattr(method, "_sub_reward_name", attribute)
            if warn and name in meta.sub_functions:
                logger.warning("%s has two sub-rewards named %r; only %s counts", cls.__name__, name, attribute)
            meta.sub_functions[name] = SubRewardFunction(name, method, getattr(method, "_sub_weight", 1.0))
        if hasattr(method, AGGREGATE_MARK):
            if warn and meta.aggregate_function is not None:
                logger.warning("%s has two aggregate functions; only %s counts", cls.__name__, attribute)
            meta.aggregate_function = AggregateFunction(method)


def _marked(cls: type, *, private: bool) -> Iterator[str]:
    for attribute in dir(cls):
        if attribute.startswith("_") != private:
            continue
        value = getattr(cls, attribute, None)
        if callable(value) and (hasattr(value, SUB_MARK) or hasattr(value, AGGREGATE_MARK)):
            yield attribute


def warn_if_uncollected(processor: Any) -> None:
    """Say once per class that a missing ``super().__init__()`` leaves a reward without parts."""
    cls = type(processor)
    if "reward_meta" in processor.__dict__ or cls.__dict__.get("_warned_uncollected"):
        return
    cls._warned_uncollected = True
    logger.log(
        logging.WARNING,
        "%s.__init__ does not call super().__init__(): no sub-reward was collected and every score is 0.0",
        cls.__name__,
    )
