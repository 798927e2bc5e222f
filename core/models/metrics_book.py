"""The numbers of a job by name and step, collected line by line from its log."""

import csv
import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agentic_rl_tui.core.models.metrics import parse_metrics, step_of
from agentic_rl_tui.core.models.text import plain

_CLOCKS = frozenset({"step", "global_step", "training/global_step", "train/step", "epoch"})
_MOST_NAMES = 5_000
"""Names beyond these are left out: a log that makes up a new one in every line must not fill the memory."""
_LONGEST_NAME = 300


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

    def at(self, step: int) -> float | None:
        """The value of a step itself; None where it has none."""
        place = bisect_right(self.steps, step) - 1
        return self.values[place] if place >= 0 and self.steps[place] == step else None


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
                changed |= self._add(name, step, value)
        return changed

    def _add(self, name: str, step: int, value: float) -> bool:
        if name in _CLOCKS or (name not in self.series and len(self.series) >= _MOST_NAMES):
            return False
        # A name is shown and written to files: nothing in it may act there.
        known = name if name.isprintable() else plain(name, keep_newlines=False)
        self.series.setdefault(known[:_LONGEST_NAME], Series()).add(step, value)
        return True

    def first(self, *names: str) -> Series | None:
        """The first of `names` that has values."""
        return next((self.series[name] for name in names if name in self.series), None)

    def starting(self, prefix: str) -> dict[str, Series]:
        return {name: series for name, series in self.series.items() if name.startswith(prefix)}

    def steps(self) -> list[int]:
        """Every step that has a number, in order."""
        return sorted({step for series in list(self.series.values()) for step in series.steps})

    def rows(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Each step with its numbers by name."""
        table: dict[int, dict[str, float]] = {}
        for name, series in sorted(self.series.items()):
            for step, value in zip(series.steps, series.values, strict=False):
                table.setdefault(step, {})[name] = value
        for step in sorted(table):
            yield step, table[step]


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """The exponential moving average; weight (0 to below 1) is how much of what was before stays.

    The first values are not drawn towards zero: each is divided by the weights that went into it.
    """
    out: list[float] = []
    held = scale = 0.0
    for value in values:
        held = weight * held + (1 - weight) * value
        scale = weight * scale + (1 - weight)
        out.append(held / scale)
    return out


def csv_lines(books: Mapping[str, MetricBook]) -> Iterator[str]:
    """A table of every series by step, line by line; a cell is empty where a series has no value.

    books: by the name of their job. With more than one the name stands in a first column.
    """
    names = sorted({name for book in books.values() for name in book.series})
    lead = ["job"] if len(books) > 1 else []
    yield _csv([*lead, "step", *map(_harmless, names)], is_quoted=True)
    for job, book in books.items():
        for step, values in book.rows():
            cells = [repr(values[name]) if name in values else "" for name in names]
            yield _csv([*([_harmless(job)] if lead else []), str(step), *cells])


def _harmless(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@") else name


def _csv(cells: Sequence[str], *, is_quoted: bool = False) -> str:
    file = io.StringIO()
    plain_writer = csv.writer(file, lineterminator="")
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="") if is_quoted else plain_writer
    writer.writerow(cells)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What became of the groups and rollouts of one step. A failure is never a zero; None where the log is silent."""

    step: int
    groups: int | None = None
    flat: int | None = None
    all_max: int | None = None
    all_min: int | None = None
    all_other: int | None = None
    rollouts: int | None = None
    scored: int | None = None
    failed_rollouts: int | None = None
    failed_rewards: int | None = None
    zero_by_judgement: int | None = None
    zero_by_exception: int | None = None
    share: float | None = None


_COUNTS = {
    "groups": "trajectory/groups",
    "flat": "trajectory/zero_variance_groups",
    "all_max": "trajectory/zero_variance_groups/all_max",
    "all_min": "trajectory/zero_variance_groups/all_min",
    "all_other": "trajectory/zero_variance_groups/all_other",
    "rollouts": "trajectory/total",
    "scored": "trajectory/scored",
    "failed_rollouts": "trajectory/failed_rollouts",
    "failed_rewards": "trajectory/failed_rewards",
    "zero_by_judgement": "trajectory/zero_by_judgement",
    "zero_by_exception": "trajectory/zero_by_exception",
}
SHARE = ("trajectory/zero_variance_share", "zero_variance_share", "frac_reward_zero_std")


def step_counts(book: MetricBook, step: int) -> StepCounts:
    """The counts that the log gives of a step."""
    found: dict[str, int] = {}
    for name, metric in _COUNTS.items():
        series = book.series.get(metric)
        value = None if series is None else series.at(step)
        if value is not None and math.isfinite(value):
            found[name] = int(value)
    shares = book.first(*SHARE)
    return StepCounts(step, **found, share=None if shares is None else shares.at(step))
