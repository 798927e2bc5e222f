"""The curves of a job, or of several over each other, and what became of the groups of a step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.metrics_book import SHARE, MetricBook, Series, StepCounts, smooth, step_counts
from agentic_rl_tui.widgets.cells import Span

__all__ = ["MetricBook", "Series"]

SMOOTHING = (0.0, 0.6, 0.9, 0.97)
"""How much of the past stays in a curve; the first is none of it."""
REWARD = ("critic/rewards/mean", "critic/score/mean", "reward/mean", "rewards/mean", "reward")
REWARD_STD = ("critic/rewards/std", "critic/score/std", "reward/std")
RESPONSE_LENGTH = ("response_length/mean", "completion_length/mean", "response_len")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: its name and style token, and its points. raw: the values before smoothing."""

    label: str
    token: str
    steps: Sequence[int]
    values: Sequence[float]
    raw: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class ChartFacts:
    """key stays the same in every language."""

    key: str
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

    def add(
        key: str, title: str, *curves: Curve | None, least: int = 1, low: float | None = None, high: float | None = None
    ) -> None:
        known = tuple(curve for curve in curves if curve is not None)
        if len(known) >= least:
            found.append(ChartFacts(key, title, known, low, high))

    first = book.first
    add(
        "reward",
        _("Reward"),
        _curve(_("training"), "running", first(*REWARD)),
        _curve(_("validation"), "succeeded", next(iter(_validation(book)), None)),
        _curve(_("greatest"), "faint", first("critic/rewards/max", "critic/score/max")),
        _curve(_("least"), "faint", first("critic/rewards/min", "critic/score/min")),
    )
    add("rewards", _("Each reward"), *_named(_by_function(book, "")), least=2)
    add("flat", _("Groups without spread"), _curve(_("share"), "warn", first(*SHARE)), low=0.0, high=1.0)
    add("std", _("Spread of rewards"), _curve("std", "accent", first(*REWARD_STD)))
    add("validation", _("Validation, each reward"), *_named(_by_function(book, "validation/")), least=2)
    add(
        "length",
        _("Response length"),
        _curve(_("mean"), "accent", first(*RESPONSE_LENGTH)),
        _curve(_("longest"), "faint", first("response_length/max")),
    )
    add("kl", _("KL to the start"), _curve("kl", "accent", first("actor/kl_loss", "actor/ppo_kl", "kl")))
    add("entropy", _("Entropy"), _curve(_("entropy"), "accent", first("actor/entropy", "entropy")))
    add(
        "failures",
        _("Failures"),
        _curve(_("rollouts"), "failed", first("trajectory/failed_rollouts")),
        _curve(_("rewards"), "warn", _if_any(first("trajectory/failed_rewards"))),
        _curve(_("parts of rewards"), "accent", _if_any(first("trajectory/zero_by_exception"))),
        low=0.0,
    )
    add(
        "latency",
        _("Seconds a rollout"),
        _curve(_("mean"), "accent", first("timing/s/rollout/mean")),
        _curve(_("longest"), "faint", first("timing/s/rollout/max")),
    )
    add(
        "scoring",
        _("Seconds a reward"),
        _curve(_("mean"), "accent", first("timing/s/reward/mean")),
        _curve(_("longest"), "faint", first("timing/s/reward/max")),
    )
    return tuple(found)


def _named(found: Sequence[tuple[str, Series]]) -> list[Curve]:
    return [Curve(n, token, s.steps, s.values) for (n, s), token in zip(found, _TOKENS, strict=False)]


def overlaid(books: Mapping[str, MetricBook]) -> tuple[ChartFacts, ...]:
    """The charts of several jobs over each other, one curve a job; books by the names that jobs are shown under."""
    if len(books) == 1:
        return charts(next(iter(books.values())))
    merged: dict[str, ChartFacts] = {}
    for (name, book), token in zip(books.items(), _TOKENS * len(books), strict=False):
        for chart in charts(book):
            for place, curve in enumerate(chart.curves):
                if curve.token == "faint":
                    # Least and greatest of every job would be a thicket.
                    continue
                key = chart.key if place == 0 else f"{chart.key}/{curve.label}"
                title = chart.title if len(chart.curves) == 1 else f"{chart.title} · {curve.label}"
                known = merged.get(key) or ChartFacts(key, title, (), chart.low, chart.high)
                own = Curve(name, token, curve.steps, curve.values)
                merged[key] = replace(known, curves=(*known.curves, own))
    return tuple(merged.values())


def legend_line(names: Sequence[str]) -> tuple[Span, ...]:
    """Which colour is which job."""
    return tuple((f"━ {name}   ", f"${token}") for name, token in zip(names, _TOKENS * len(names), strict=False))


def smoothed(chart: ChartFacts, weight: float) -> ChartFacts:
    if not weight:
        return chart
    curves = tuple(
        replace(curve, values=smooth(curve.values, weight), raw=curve.values) if curve.token != "faint" else curve
        for curve in chart.curves
    )
    return replace(chart, curves=curves)


# One step


def step_lines(book: MetricBook, step: int) -> tuple[tuple[Span, ...], ...]:
    """What became of the groups and the rollouts of a step, in up to three lines."""
    counts = step_counts(book, step)
    lines: list[tuple[Span, ...]] = [_group_line(counts)]
    if counts.rollouts is not None or counts.failed_rollouts is not None:
        lines.append(_rollout_line(counts))
    if advice := _advice(counts):
        lines.append(((f"⚠ {advice}", "$warn"),))
    return tuple(lines)


def _group_line(counts: StepCounts) -> tuple[Span, ...]:
    spans: list[Span] = [(_("step {step}").format(step=counts.step), "$ink bold")]
    if counts.groups is not None and counts.flat is not None:
        text = ngettext("{flat} of {count} group without spread", "{flat} of {count} groups without spread",
                        counts.groups)  # fmt: skip
        style = "$warn" if counts.flat else "$muted"
        spans += [("   ", ""), (text.format(flat=counts.flat, count=counts.groups), style)]
        parts = ((_("all max"), counts.all_max), (_("all min"), counts.all_min), (_("all same"), counts.all_other))
        for word, count in parts if counts.flat else ():
            if count is not None:
                spans += [("  ", ""), (f"{word} {count}", "$ink" if count else "$faint")]
    elif counts.share is not None:
        text = _("{percent} % of the groups without spread").format(percent=round(100 * counts.share))
        spans += [("   ", ""), (text, "$warn" if counts.share else "$muted")]
    return tuple(spans)


def _rollout_line(counts: StepCounts) -> tuple[Span, ...]:
    c = counts
    given = (
        (c.rollouts, ngettext("{count} rollout", "{count} rollouts", c.rollouts or 0), "$muted"),
        (c.scored, ngettext("{count} scored", "{count} scored", c.scored or 0), "$muted"),
        (
            c.failed_rollouts,
            ngettext("{count} rollout FAILED", "{count} rollouts FAILED", c.failed_rollouts or 0),
            "$failed",
        ),
        (
            c.failed_rewards,
            ngettext("{count} reward FAILED", "{count} rewards FAILED", c.failed_rewards or 0),
            "$failed",
        ),
        (c.zero_by_judgement, ngettext("{count} judged zero", "{count} judged zero", c.zero_by_judgement or 0), "$ink"),
        (
            c.zero_by_exception,
            ngettext("{count} zero by exception", "{count} zeros by exception", c.zero_by_exception or 0),
            "$warn",
        ),
    )
    spans: list[Span] = []
    for count, text, style in given:
        if count is not None:
            spans += [("   ", "")] if spans else []
            spans.append((text.format(count=f"{count:,}"), style if count else "$faint"))
    return tuple(spans)


def _advice(counts: StepCounts) -> str:
    share = counts.share
    if share is None and counts.groups:
        share = (counts.flat or 0) / counts.groups
    if share is None or share <= 0.5:
        return ""
    most = max(counts.all_max or 0, counts.all_min or 0, counts.all_other or 0)
    if most and most == counts.all_max:
        return _("More than half of the groups teach nothing; most get the full reward: take harder prompts")
    if most and most == counts.all_min:
        return _("More than half of the groups teach nothing; most get the least: easier prompts, or part of the score")
    return _("More than half of the groups teach nothing: the reward hardly tells their rollouts apart")


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


def _by_function(book: MetricBook, prefix: str) -> list[tuple[str, Series]]:
    begin, end = f"{prefix}trace/reward_metrics/", "/reward_score/avg"
    found = book.starting(begin).items()
    return [(name[len(begin) : -len(end)], series) for name, series in found if name.endswith(end)]


def _if_any(series: Series | None) -> Series | None:
    return series if series is not None and any(series.values) else None
