"""How a score comes about, in three layers: metric x its weight, sub-reward x its weight, component x its weight."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agentic_rl_tui.core.functions.calls import SubResult
from agentic_rl_tui.core.i18n import _

_ROUNDING = 1e-12


class Layer(StrEnum):
    """What a row stands for. REST is what the parts above it do not explain: an aggregate's or process's own words."""

    METRIC = "metric"
    SUB = "sub"
    COMPONENT = "component"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Component:
    """One reward function's answer, and the weights that the job gives it.

    metric_weights: by ``sub.metric`` or metric, which splits a score into its metrics; or by sub-reward, which weighs
    the sub-reward once more, as in the service's formula.
    """

    name: str
    score: float
    weight: float = 1.0
    subs: Sequence[SubResult] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    metric_weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """contribution = value x the three weights; a weight is 1 where its layer has no part in the row."""

    layer: Layer
    component: str
    sub: str
    metric: str
    value: float
    contribution: float
    metric_weight: float = 1.0
    sub_weight: float = 1.0
    component_weight: float = 1.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Rows whose contributions sum to the total."""

    rows: tuple[WaterfallRow, ...]
    total: float


def waterfall(components: Sequence[Component], *, normalize: bool = False) -> Waterfall:
    """Explain the weighted sum of the components' scores; `normalize` divides by the sum of the weights' sizes.

    Pure: to see what another weight would do, call it again.
    """
    size = math.fsum(abs(component.weight) for component in components)
    divisor = size if normalize and size else 1.0
    rows = [row for component in components for row in _Rows(component, component.weight / divisor).make()]
    return Waterfall(tuple(rows), math.fsum(row.contribution for row in rows))


class _Rows:
    """The rows of one component; `weight` is its effective weight."""

    def __init__(self, component: Component, weight: float) -> None:
        self._component = component
        self._weight = weight

    def make(self) -> list[WaterfallRow]:
        component = self._component
        if component.subs:
            rows = [row for sub in component.subs for row in self._sub(sub)]
            explained = math.fsum(_value(sub) * sub.weight for sub in component.subs)
            note = _("the aggregate's own arithmetic")
        else:
            rows = self._metrics("", component.metrics, 1.0)
            explained = math.fsum(row.value * row.metric_weight for row in rows)
            note = _("the part of the score that no metric explains")
        if not rows:
            return [self._row(Layer.COMPONENT, value=component.score)]
        return [*rows, *self._rest("", component.score, explained, 1.0, note)]

    def _sub(self, sub: SubResult) -> list[WaterfallRow]:
        value = _value(sub)
        rows = [] if sub.error is not None else self._metrics(sub.name, sub.metrics, sub.weight)
        if not rows:
            note = _("0 by exception") if sub.error is not None else ""
            again = self._component.metric_weights.get(sub.name, 1.0)
            return [self._row(Layer.SUB, sub.name, "", value, again, sub.weight, note)]
        explained = math.fsum(row.value * row.metric_weight for row in rows)
        note = _("the part of the sub-reward that no metric explains")
        return [*rows, *self._rest(sub.name, value, explained, sub.weight, note)]

    def _metrics(self, sub: str, metrics: Mapping[str, float], sub_weight: float) -> list[WaterfallRow]:
        weights = self._component.metric_weights
        rows = []
        for name, value in metrics.items():
            metric_weight = weights.get(f"{sub}.{name}" if sub else name, weights.get(name))
            if metric_weight is not None:
                rows.append(self._row(Layer.METRIC, sub, name, value, metric_weight, sub_weight))
        return rows

    def _rest(self, sub: str, score: float, explained: float, sub_weight: float, note: str) -> list[WaterfallRow]:
        rest = score - explained
        if abs(rest) <= _ROUNDING * max(1.0, abs(score), abs(explained)):
            return []
        return [self._row(Layer.REST, sub, "", rest, 1.0, sub_weight, note)]

    def _row(
        self,
        layer: Layer,
        sub: str = "",
        metric: str = "",
        value: float = 0.0,
        metric_weight: float = 1.0,
        sub_weight: float = 1.0,
        note: str = "",
    ) -> WaterfallRow:
        contribution = value * metric_weight * sub_weight * self._weight
        name = self._component.name
        return WaterfallRow(
            layer, name, sub, metric, value, contribution, metric_weight, sub_weight, self._weight, note
        )


def _value(sub: SubResult) -> float:
    return 0.0 if sub.error is not None else sub.score
