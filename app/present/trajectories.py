"""Steps and samples of a job as rows, and which samples a filter keeps."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentic_rl_tui.app.present.group_words import CAUSES, SPREADS
from agentic_rl_tui.app.present.rollouts import number_of, one_line
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.groups import Cause, GroupFacts, Spread, bounds, judge
from agentic_rl_tui.widgets.cells import Cell
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.spark import low_bar

_BAR_WIDTH = 10


@dataclass(frozen=True, slots=True)
class StepRow:
    step: int
    phase: str
    rollouts: int
    failed_rollouts: int
    failed_rewards: int
    mean: float | None

    @property
    def key(self) -> str:
        return f"{self.phase}:{self.step}"


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One group of a step. facts get their cause and prompt when the group has been read."""

    sample: int
    rewards: tuple[float | None, ...]
    mean: float | None
    facts: GroupFacts
    is_read: bool = False

    @property
    def key(self) -> str:
        return str(self.sample)

    @property
    def failed(self) -> int:
        return self.facts.failed_rollouts + self.facts.failed_rewards


def step_rows(page: Mapping[str, Any]) -> tuple[StepRow, ...]:
    """Newest first: that is the one people look at while a job runs."""
    rows = [
        StepRow(
            int(item.get("step", 0)),
            str(item.get("phase", "train")),
            int(item.get("rollouts", 0)),
            int(item.get("failed_rollouts", 0)),
            int(item.get("failed_rewards", 0)),
            number_of(item.get("reward_mean")),
        )
        for item in page.get("steps") or ()
    ]
    return tuple(reversed(rows))


def sample_rows(page: Mapping[str, Any], known: tuple[float, float] | None = None) -> tuple[SampleRow, ...]:
    """known: the least and greatest reward of the job so far, where more is known than the page tells."""
    samples = [item for item in page.get("samples") or () if isinstance(item, Mapping)]
    rewards = [tuple(number_of(value) for value in item.get("rewards") or ()) for item in samples]
    low, high = bounds(rewards)
    if known is not None:
        low, high = min(low, known[0]), max(high, known[1])
    return tuple(
        SampleRow(
            int(item.get("sample", 0)),
            given,
            number_of(item.get("reward_mean")),
            judge(
                given,
                low,
                high,
                failed_rollouts=int(item.get("failed_rollouts", 0)),
                failed_rewards=int(item.get("failed_rewards", 0)),
            ),
        )
        for item, given in zip(samples, rewards, strict=True)
    )


def with_group(row: SampleRow, page: Mapping[str, Any], low: float, high: float) -> SampleRow:
    """The row with what the whole rollouts of its group tell."""
    records = [item for item in page.get("rollouts") or () if isinstance(item, Mapping)]
    return replace(row, facts=judge(row.rewards, low, high, records=records), is_read=True) if records else row


def step_columns() -> tuple[Column[StepRow], ...]:
    return (
        Column("step", _("STEP"), lambda row, _width: [(str(row.step), "$ink")], 6, align="right", sort=_step),
        Column("phase", _("PHASE"), _phase, 10, sort=lambda row: row.phase),
        Column("rollouts", _("ROLLOUTS"), lambda row, _width: [(f"{row.rollouts:,}", "$muted")], 8, align="right"),
        Column("mean", _("MEAN REWARD"), lambda row, _width: _mean_bar(row.mean), 17, sort=_mean),
        Column("failed", _("FAILED"), lambda row, _width: _failed(row.failed_rollouts), 6, align="right",
               sort=lambda row: row.failed_rollouts),
        Column("unscored", _("NO REWARD"), lambda row, _width: _failed(row.failed_rewards), 9, align="right",
               sort=lambda row: row.failed_rewards, fold=1),
    )  # fmt: skip


def sample_columns() -> tuple[Column[SampleRow], ...]:
    return (
        Column("sample", _("SAMPLE"), lambda row, _width: [(str(row.sample), "$ink")], 6, align="right",
               sort=lambda row: row.sample),
        Column("mean", _("MEAN REWARD"), lambda row, _width: _mean_bar(row.mean), 17, sort=_mean),
        Column("spread", _("SPREAD"), _spread, 8, 10, sort=lambda row: row.facts.spread.value),
        Column("failed", _("FAILED"), lambda row, _width: _failed(row.failed), 6, align="right",
               sort=lambda row: row.failed),
        Column("cause", _("LIKELY CAUSE"), _cause, 26, 42),
        Column("prompt", _("PROMPT"), lambda row, _width: [(one_line(row.facts.prompt), "$muted")], 20, 120,
               fold=2),
        Column("scores", _("EACH ROLLOUT"), _scores, 20, 66, fold=1),
    )  # fmt: skip


def _step(row: StepRow) -> int:
    return row.step


def _mean(row: StepRow | SampleRow) -> float:
    return row.mean or 0.0


def phase_word(phase: str) -> str:
    return {"train": _("train"), "validation": _("validation")}.get(phase, one_line(phase, 20))


def _phase(row: StepRow, _width: int) -> Cell:
    return [(phase_word(row.phase), "$muted")]


def _mean_bar(value: float | None) -> Cell:
    if value is None:
        return [("–", "$faint")]
    return [(low_bar(value, _BAR_WIDTH), "$fill"), (f" {value:.3f}", "$ink")]


def _failed(count: int) -> Cell:
    return [(str(count), "$failed")] if count else [("–", "$faint")]


def _scores(row: SampleRow, width: int) -> Cell:
    parts = ["✗   " if value is None else f"{value:.2f}" for value in row.rewards]
    whole = "  ".join(parts).rstrip()
    if len(whole) <= width:
        return [(whole, "$muted")]
    # Numbers are shown whole or not at all.
    room = width - 1
    while parts and len("  ".join(parts)) + 2 > room:
        parts.pop()
    return [("  ".join([*parts, "…"]), "$muted")]


def _spread(row: SampleRow, _width: int) -> Cell:
    spread = row.facts.spread
    if len(row.rewards) < 2:
        return [("–", "$faint")]
    return [(_(SPREADS[spread]), "$muted" if spread is Spread.SPREAD else "$warn")]


def _cause(row: SampleRow, _width: int) -> Cell:
    cause = row.facts.cause
    if cause is None or (cause is Cause.ONE_ROLLOUT and len(row.rewards) < 2):
        return [("–", "$faint")]
    is_failure = cause in (Cause.ROLLOUTS_FAILED, Cause.REWARDS_FAILED, Cause.ZERO_BY_EXCEPTION)
    return [(_(CAUSES[cause]), "$failed" if is_failure else "$warn")]


# Filters

Match = Callable[[SampleRow], bool]
_BOUND = re.compile(r"reward(<=|>=|<|>|=)(-?\d+(?:\.\d+)?)$")
_RANGE = re.compile(r"reward[:=](-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
KINDS = ("", "flat", "failed")
"""What `f` goes through: all samples, those without spread, those with a failure."""


def sample_match(text: str) -> Match | None:
    """What a filter keeps: every word of it must hold. None keeps all.

    ``failed``, ``flat``, ``max``, ``min``, ``same``, ``spread``; ``reward>0.5``, ``reward:0.2..0.8`` over the mean;
    any other word is looked for in the prompt and the number of the sample.
    """
    tests = [_test(word) for word in text.casefold().split()]
    return (lambda row: all(test(row) for test in tests)) if tests else None


_SPREAD_WORDS = {"max": Spread.ALL_MAX, "min": Spread.ALL_MIN, "same": Spread.ALL_OTHER, "spread": Spread.SPREAD}


def _test(word: str) -> Match:
    if word == "failed":
        return lambda row: row.failed > 0
    if word == "flat":
        return lambda row: row.facts.spread.is_flat
    if word in _SPREAD_WORDS:
        return lambda row: row.facts.spread is _SPREAD_WORDS[word]
    if (found := _RANGE.match(word)) is not None:
        low, high = float(found[1]), float(found[2])
        return lambda row: row.mean is not None and low <= row.mean <= high
    if (found := _BOUND.match(word)) is not None:
        compare, bound = _COMPARE[found[1]], float(found[2])
        return lambda row: row.mean is not None and bool(compare(row.mean, bound))
    return lambda row: word == str(row.sample) or word in row.facts.prompt.casefold()
