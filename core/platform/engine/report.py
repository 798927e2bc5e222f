"""The report of a job: written at its end, and in part when it was cancelled or failed."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.platform import crash
from agentic_rl_tui.core.platform.engine.checkpoints import Checkpoint, read_table, write_json
from agentic_rl_tui.core.platform.engine.functions import Function
from agentic_rl_tui.core.platform.engine.groups import Group

REPORT, STEPS = "report.json", "steps.jsonl"
_SLOWEST = 10
_TRACING = "tracing"


class ReportBook:
    """Collects what the report tells while a job runs. `steps.jsonl` grows by a line a step.

    tracing tells how complete the job's traces are so far; each step's line holds it, so that a kill loses it no more
    than the step. `tracing` of a book from disk is what the last line holds.
    """

    def __init__(self, folder: Path, tracing: Callable[[], dict[str, Any] | None] = lambda: None) -> None:
        self._folder = folder
        self._tell_tracing = tracing
        self.tracing: dict[str, Any] | None = None
        self.rewards: list[dict[str, Any]] = []
        self.validations: list[dict[str, Any]] = []
        self._slowest: list[tuple[float, int, int, int]] = []
        self._groups = 0
        self._zero_variance = 0
        self._totals = {"rollouts": 0, "failed_rollouts": 0, "failed_rewards": 0, "zero_by_exception": 0}
        self.judged: dict[str, int] = {}

    @classmethod
    def from_disk(cls, folder: Path) -> "ReportBook":
        """What the steps that were written down tell; the slowest samples are not among it."""
        book = cls(folder)
        for values in _lines(folder):
            book._count(values["step"], values)
            book.tracing = values.get(_TRACING)
        return book

    def add_step(self, step: int, groups: Sequence[Group], metrics: Mapping[str, Any]) -> None:
        self._count(step, metrics)
        for group in groups:
            for outcome in group.outcomes:
                seconds = outcome.rollout_s + outcome.reward_s
                heapq.heappush(self._slowest, (seconds, step, outcome.sample, outcome.rollout))
                if len(self._slowest) > _SLOWEST:
                    heapq.heappop(self._slowest)
        with (self._folder / STEPS).open("ab") as file:
            told = {"step": step, **metrics, _TRACING: self._tell_tracing()}
            line = orjson.dumps(told, default=str) + b"\n"
            crash.torn("step.torn", file.write, line, flush=file.flush)
            file.write(line)

    def _count(self, step: int, metrics: Mapping[str, Any]) -> None:
        self.rewards.append(
            {
                "step": step,
                "mean": metrics.get("critic/rewards/mean"),
                "std": metrics.get("critic/rewards/std"),
                "scored": metrics["trajectory/scored"],
                "zero_variance_groups": metrics["trajectory/zero_variance_groups"],
                "failed_rollouts": metrics["trajectory/failed_rollouts"],
                "failed_rewards": metrics["trajectory/failed_rewards"],
            }
        )
        self._groups += metrics["trajectory/groups"]
        self._zero_variance += metrics["trajectory/zero_variance_groups"]
        self._totals["rollouts"] += metrics["trajectory/total"]
        for key in ("failed_rollouts", "failed_rewards", "zero_by_exception"):
            self._totals[key] += metrics[f"trajectory/{key}"]

        for key in ("judged_rollouts", "judged_tokens", "failed_judgements"):
            if (count := metrics.get(f"trace/distillation/{key}")) is not None:
                self.judged[key] = self.judged.get(key, 0) + count

    def add_validation(self, step: int, metrics: Mapping[str, Any]) -> None:
        self.validations.append({"step": step, "mean": metrics.get("validation/data/reward/mean@1")})

    def write(
        self,
        *,
        status: str,
        reason: str | None,
        facts: Mapping[str, Any],
        functions: Sequence[Function],
        checkpoints: Sequence[Checkpoint],
        failures: Mapping[tuple[str, str, str], int],
    ) -> dict[str, Any]:
        """Write report.json and give it back. facts holds what identifies the job and its settings."""
        known = [entry for entry in self.rewards if entry["mean"] is not None]
        tenth = max(1, len(known) // 10)
        report: dict[str, Any] = {
            **facts,
            "status": status,
            "reason": None if reason is None else redact(reason),
            "is_partial": status != "SUCCEEDED",
            "steps_done": len(self.rewards),
            "reward": {
                "first_tenth": _mean(known[:tenth]),
                "last_tenth": _mean(known[-tenth:]),
                "by_step": self.rewards,
            },
            "validation": self.validations,
            "zero_variance_share": self._zero_variance / self._groups if self._groups else None,
            "totals": self._totals,
            "teacher_judgements": self.judged or None,
            "functions": [_function(function) for function in functions],
            "failures": [
                {"function": name, "kind": kind, "type": error_type, "count": count}
                for (name, kind, error_type), count in sorted(failures.items(), key=lambda item: -item[1])
            ],
            "slowest": [
                {"seconds": round(seconds, 6), "step": step, "sample": sample, "rollout": rollout}
                for seconds, step, sample, rollout in sorted(self._slowest, reverse=True)
            ],
            "checkpoints": [
                {
                    "step": item.step,
                    "name": item.name,
                    "validation": item.validation,
                    "reward": item.reward,
                    "is_kept": item.is_kept,
                    "is_best": item.is_best,
                    "is_final": item.is_final,
                }
                for item in checkpoints
            ],
        }
        write_json(self._folder / REPORT, report)
        return report


def write_from_disk(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job whose platform was killed: what its finished steps and saved checkpoints tell.

    facts holds status and reason, too.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    saved = [Checkpoint(**row) for row in read_table(folder)]
    book = ReportBook.from_disk(folder)
    return book.write(
        status=facts["status"],
        reason=facts["reason"],
        facts={_TRACING: book.tracing, **facts},
        functions=(),
        checkpoints=saved,
        failures={},
    )


def read_report(folder: Path) -> dict[str, Any] | None:
    """A job's report, None before it ended."""
    try:
        report: dict[str, Any] = orjson.loads((folder / REPORT).read_bytes())
    except FileNotFoundError:
        return None
    return report


def read_steps(folder: Path, *, first: int = 1, limit: int | None = None) -> list[dict[str, Any]]:
    """The metrics of the finished steps from step `first` on, oldest first."""
    steps = [step for step in _lines(folder) if step["step"] >= first]
    for step in steps:
        step.pop(_TRACING, None)
    return steps if limit is None else steps[:limit]


def _lines(folder: Path) -> list[dict[str, Any]]:
    """A torn last line is passed over."""
    try:
        raw = (folder / STEPS).read_bytes()
    except FileNotFoundError:
        return []
    return [orjson.loads(line) for line in raw.split(b"\n")[:-1]]


def _mean(entries: Sequence[Mapping[str, Any]]) -> float | None:
    return sum(entry["mean"] for entry in entries) / len(entries) if entries else None


def _function(function: Function) -> dict[str, Any]:
    times = sorted(function.latencies)

    def at(share: float) -> float | None:
        return round(times[min(len(times) - 1, int(share * len(times)))], 6) if times else None

    return {
        "name": function.name,
        "kind": function.kind.value,
        "weight": function.weight,
        "calls": len(times),
        "p50_s": at(0.5),
        "p95_s": at(0.95),
        "max_s": round(times[-1], 6) if times else None,
        "failures": dict(function.failures),
        "retries": function.retries,
    }
