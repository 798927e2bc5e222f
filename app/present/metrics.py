"""The curves of a job, collected line by line from its log."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.metrics import parse_metrics, step_of


@dataclass(slots=True)
class Series:
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, step: int, value: float) -> None:
        """Later news of the same step replace earlier ones."""
        if self.steps and self.steps[-1] == step:
            self.values[-1] = value
        else:
            self.steps.append(step)
            self.values.append(value)

    @property
    def last(self) -> float | None:
        return self.values[-1] if self.values else None


class MetricBook:
    """Series by name. `feed` takes lines in the order of the log; a line seen twice does no harm."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self._step = 0

    def feed(self, lines: Iterable[str]) -> bool:
        """True when a line brought numbers."""
        changed = False
        for line in lines:
            if "{" not in line and "step:" not in line:
                continue
            values = parse_metrics(line)
            if values is None:
                continue
            step = step_of(values)
            if step is None:
                if not any("/" in name for name in values):
                    # A dict of a user's own print, not of the training loop.
                    continue
                step = self._step
            self._step = step
            for name, value in values.items():
                if name not in _CLOCKS:
                    self.series.setdefault(name, Series()).add(step, value)
                    changed = True
        return changed

    def first(self, *names: str) -> Series | None:
        """The first of `names` that has values."""
        return next((self.series[name] for name in names if name in self.series), None)

    def starting(self, prefix: str) -> dict[str, Series]:
        return {name: series for name, series in self.series.items() if name.startswith(prefix)}


def as_csv(book: MetricBook) -> Iterator[str]:
    """A table of every series by step, line by line; a cell is empty where a series has no value."""
    names = sorted(book.series)
    yield ",".join(["step", *(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)])
    table: dict[int, dict[str, float]] = {}
    for name in names:
        for step, value in zip(book.series[name].steps, book.series[name].values, strict=True):
            table.setdefault(step, {})[name] = value
    for step in sorted(table):
        yield ",".join([str(step), *(repr(table[step][name]) if name in table[step] else "" for name in names)])


_CLOCKS = frozenset({"step", "global_step", "training/global_step", "train/step", "epoch"})

REWARD = ("critic/rewards/mean", "critic/score/mean", "reward/mean", "rewards/mean", "reward")
REWARD_STD = ("critic/rewards/std", "critic/score/std", "reward/std")
ZERO_VARIANCE = ("trajectory/zero_variance_share", "zero_variance_share")
RESPONSE_LENGTH = ("response_length/mean", "completion_length/mean", "response_len")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: its name and style token, and its points."""

    label: str
    token: str
    steps: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class ChartFacts:
    title: str
    curves: tuple[Curve, ...]
    low: float | None = None
    high: float | None = None

    @property
    def last(self) -> float | None:
        values = self.curves[0].values if self.curves else ()
        return values[-1] if values else None


def _curve(label: str, token: str, series: Series | None) -> Curve | None:
    return None if series is None else Curve(label, token, series.steps, series.values)


def charts(book: MetricBook) -> tuple[ChartFacts, ...]:
    """The charts that the numbers allow, the most telling first."""
    found: list[ChartFacts] = []

    def add(title: str, *curves: Curve | None, low: float | None = None, high: float | None = None) -> None:
        known = tuple(curve for curve in curves if curve is not None)
        if known:
            found.append(ChartFacts(title, known, low, high))

    validation = next(iter(_validation(book)), None)
    add(
        _("Reward"),
        _curve(_("training"), "running", book.first(*REWARD)),
        _curve(_("validation"), "succeeded", validation),
    )
    rewards = [
        Curve(name.split("/")[2], token, series.steps, series.values)
        for (name, series), token in zip(_reward_functions(book), _TOKENS, strict=False)
    ]
    if len(rewards) > 1:
        add(_("Each reward"), *rewards)
    add(_("Groups without spread"), _curve(_("share"), "warn", book.first(*ZERO_VARIANCE)), low=0.0, high=1.0)
    add(_("Spread of rewards"), _curve("std", "accent", book.first(*REWARD_STD)))
    add(_("Response length"), _curve(_("tokens"), "accent", book.first(*RESPONSE_LENGTH)))
    add(_("KL to the start"), _curve("kl", "accent", book.first("actor/kl_loss", "actor/ppo_kl", "kl")))
    add(_("Entropy"), _curve(_("entropy"), "accent", book.first("actor/entropy", "entropy")))
    add(
        _("Failures"),
        _curve(_("rollouts"), "failed", _if_any(book.first("trajectory/failed_rollouts"))),
        _curve(_("rewards"), "warn", _if_any(book.first("trajectory/failed_rewards"))),
    )
    add(_("Seconds a rollout"), _curve(_("mean"), "accent", book.first("timing/s/rollout/mean")))
    return tuple(found)


def reward_bounds(book: MetricBook) -> tuple[float, float] | None:
    """The least and greatest reward that the log tells of; None where it tells none."""
    low, high = (
        book.first("critic/rewards/min", "critic/score/min"),
        book.first("critic/rewards/max", "critic/score/max"),
    )
    return (min(low.values), max(high.values)) if low is not None and high is not None else None


_TOKENS = ("running", "accent", "warn", "succeeded", "failed", "muted")


def _validation(book: MetricBook) -> list[Series]:
    return [
        series
        for name, series in book.series.items()
        if name.startswith(("val", "eval")) and "reward" in name and "/mean" in name
    ]


def _reward_functions(book: MetricBook) -> list[tuple[str, Series]]:
    prefix, suffix = "trace/reward_metrics/", "/reward_score/avg"
    return [(name, series) for name, series in book.starting(prefix).items() if name.endswith(suffix)]


def _if_any(series: Series | None) -> Series | None:
    return series if series is not None and any(series.values) else None
