"""Steps, samples and rollouts of a job as rows, and a rollout as a conversation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, Span
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.spark import bar

_BAR_WIDTH = 10
_LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class StepRow:
    step: int
    phase: str
    rollouts: int
    failed: int
    mean: float | None

    @property
    def key(self) -> str:
        return f"{self.phase}:{self.step}"


@dataclass(frozen=True, slots=True)
class SampleRow:
    sample: int
    rewards: tuple[float | None, ...]
    mean: float | None
    is_flat: bool
    failed: int

    @property
    def key(self) -> str:
        return str(self.sample)


@dataclass(frozen=True, slots=True)
class RolloutRow:
    rollout: int
    reward: float | None
    advantage: float | None
    tokens: int
    turns: int
    failure: str
    record: Mapping[str, Any]

    @property
    def key(self) -> str:
        return str(self.rollout)


def step_rows(page: Mapping[str, Any]) -> tuple[StepRow, ...]:
    """Newest first: that is the one people look at while a job runs."""
    rows = [
        StepRow(
            int(item.get("step", 0)),
            str(item.get("phase", "train")),
            int(item.get("rollouts", 0)),
            int(item.get("failed_rollouts", 0)) + int(item.get("failed_rewards", 0)),
            _number(item.get("reward_mean")),
        )
        for item in page.get("steps") or ()
    ]
    return tuple(reversed(rows))


def sample_rows(page: Mapping[str, Any]) -> tuple[SampleRow, ...]:
    return tuple(
        SampleRow(
            int(item.get("sample", 0)),
            tuple(_number(value) for value in item.get("rewards") or ()),
            _number(item.get("reward_mean")),
            bool(item.get("is_zero_variance")),
            int(item.get("failed_rollouts", 0)) + int(item.get("failed_rewards", 0)),
        )
        for item in page.get("samples") or ()
    )


def rollout_rows(page: Mapping[str, Any]) -> tuple[RolloutRow, ...]:
    return tuple(
        RolloutRow(
            int(item.get("rollout", 0)),
            _number(item.get("reward")),
            _number(item.get("advantage")),
            int(item.get("completion_tokens") or 0),
            sum(1 for message in _messages(item) if message.get("role") == "assistant"),
            _failure(item),
            item,
        )
        for item in page.get("rollouts") or ()
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _failure(record: Mapping[str, Any]) -> str:
    failure = record.get("failure")
    if isinstance(failure, Mapping):
        return _clean(failure.get("message") or failure.get("kind") or _("failed")).partition("\n")[0]
    return _clean(failure).partition("\n")[0] if failure else ""


def _messages(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = record.get("messages")
    return [item for item in messages if isinstance(item, Mapping)] if isinstance(messages, list) else []


def _clean(value: object) -> str:
    return redact(plain(str(value)))


def score_cell(value: float | None) -> list[Span]:
    return [("  –  ", "$faint")] if value is None else [(f"{value:.3f}", "$ink")]


def _mean_bar(value: float | None) -> Cell:
    if value is None:
        return [("–", "$faint")]
    return [(bar(value, _BAR_WIDTH), "$fill"), (f" {value:.3f}", "$ink")]


def _failed(count: int) -> Cell:
    return [(str(count), "$failed")] if count else [("–", "$faint")]


def _scores(row: SampleRow, width: int) -> Cell:
    parts = ["✗" if value is None else f"{value:.2f}" for value in row.rewards]
    return [("  ".join(parts)[:width], "$muted")]


def _spread(row: SampleRow, _width: int) -> Cell:
    return [(_("none"), "$warn")] if row.is_flat else [(_("yes"), "$muted")]


def step_columns() -> tuple[Column[StepRow], ...]:
    return (
        Column(
            "step",
            _("STEP"),
            lambda row, _width: [(str(row.step), "$ink")],
            6,
            align="right",
            sort=lambda row: row.step,
        ),
        Column("phase", _("PHASE"), lambda row, _width: [(row.phase, "$muted")], 10, sort=lambda row: row.phase),
        Column("rollouts", _("ROLLOUTS"), lambda row, _width: [(str(row.rollouts), "$muted")], 8, align="right"),
        Column("mean", _("MEAN REWARD"), lambda row, _width: _mean_bar(row.mean), 17, sort=lambda row: row.mean or 0.0),
        Column(
            "failed",
            _("FAILED"),
            lambda row, _width: _failed(row.failed),
            6,
            align="right",
            sort=lambda row: row.failed,
        ),
    )


def sample_columns() -> tuple[Column[SampleRow], ...]:
    return (
        Column(
            "sample",
            _("SAMPLE"),
            lambda row, _width: [(str(row.sample), "$ink")],
            6,
            align="right",
            sort=lambda r: r.sample,
        ),
        Column("mean", _("MEAN REWARD"), lambda row, _width: _mean_bar(row.mean), 17, sort=lambda row: row.mean or 0.0),
        Column("spread", _("SPREAD"), _spread, 6, sort=lambda row: row.is_flat),
        Column(
            "failed",
            _("FAILED"),
            lambda row, _width: _failed(row.failed),
            6,
            align="right",
            sort=lambda row: row.failed,
        ),
        Column("scores", _("EACH ROLLOUT"), _scores, 20, 120, fold=1),
    )


def rollout_columns() -> tuple[Column[RolloutRow], ...]:
    return (
        Column("rollout", _("ROLLOUT"), lambda row, _width: [(str(row.rollout), "$ink")], 7, align="right"),
        Column(
            "reward",
            _("REWARD"),
            lambda row, _width: score_cell(row.reward),
            7,
            align="right",
            sort=lambda r: r.reward or 0.0,
        ),
        Column("advantage", _("ADVANTAGE"), lambda row, _width: _signed(row.advantage), 9, align="right"),
        Column("turns", _("TURNS"), lambda row, _width: [(str(row.turns), "$muted")], 5, align="right"),
        Column("tokens", _("TOKENS"), lambda row, _width: [(f"{row.tokens:,}", "$muted")], 7, align="right"),
        Column("failure", "", lambda row, _width: [(row.failure, "$failed")], 10, 100, fold=1),
    )


def _signed(value: float | None) -> Cell:
    if value is None:
        return [("–", "$faint")]
    style = "$succeeded" if value > 0 else "$failed" if value < 0 else "$muted"
    return [(f"{value:+.3f}", style)]


_ROLES = {"system": "$muted", "user": "$running", "assistant": "$accent", "tool": "$succeeded"}


def conversation(record: Mapping[str, Any]) -> tuple[tuple[Span, ...], ...]:
    """A rollout as people read it: its scores, then every message with its tool calls."""
    lines: list[tuple[Span, ...]] = list(_score_lines(record))
    failure = record.get("failure")
    if failure:
        lines += [((line, "$failed"),) for line in _clean(_pretty(failure)).splitlines()]
        lines.append((("", ""),))
    for message in _messages(record):
        role = _clean(message.get("role", "?"))
        lines.append(((f"▌ {role}", f"{_ROLES.get(role, '$muted')} bold"),))
        content = message.get("content")
        if content:
            text = content if isinstance(content, str) else _pretty(content)
            lines += [((f"  {line}", "$ink"),) for line in _clean(text[:_LONGEST_TEXT]).splitlines()]
        for call in message.get("tool_calls") or ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                name, arguments = _clean(function.get("name", "?")), _clean(function.get("arguments", ""))
                lines.append((("  → ", "$succeeded"), (name, "$succeeded bold"), (f" {arguments}", "$muted")))
        lines.append((("", ""),))
    return tuple(lines)


def _score_lines(record: Mapping[str, Any]) -> Sequence[tuple[Span, ...]]:
    lines: list[tuple[Span, ...]] = []
    for score in record.get("scores") or ():
        if not isinstance(score, Mapping):
            continue
        value = _number(score.get("value", score.get("score")))
        line: list[Span] = [(f"{_clean(score.get('name', 'reward')):<20.20}", "$muted"), *score_cell(value)]
        weight = _number(score.get("weight"))
        if weight is not None:
            line.append((f"  × {weight:g}", "$faint"))
        lines.append(tuple(line))
    if record.get("ground_truth") is not None:
        lines.append(((f"{_('expected'):<20.20}", "$muted"), (_clean(record["ground_truth"])[:200], "$ink")))
    if lines:
        lines.append((("", ""),))
    return lines


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
