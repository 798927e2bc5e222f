"""What a check of one JSONL file found: problems with their places, true totals, statistics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from agentic_rl_tui.core.i18n import N_
from agentic_rl_tui.core.models.errors import ArlError


class Severity(StrEnum):
    """ERROR: the file must not be sent. WARNING: it works, but hardly as meant. INFO: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class CheckCanceled(ArlError):
    """The caller's cancel event was set before the work was done."""

    default_advice = N_("Start it again when wanted; nothing was changed.")


@dataclass(frozen=True, slots=True)
class RowProblem:
    """One problem. line and col count from 1; col counts characters, as an editor does.

    json_path is like ``messages[2].role``, empty where the problem is not of a value. fix is a sentence, or empty.
    """

    file: Path
    line: int
    col: int
    json_path: str
    rule: str
    severity: Severity
    message: str
    fix: str = ""

    def __str__(self) -> str:
        place = f"{self.json_path}: " if self.json_path else ""
        return f"{self.file}:{self.line}:{self.col}: {place}{self.message} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Rows whose value lies in low..high, both included."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """A distribution over rows: exact count, total, minimum and maximum; bucket width about 6 % of the value."""

    count: int = 0
    total: int = 0
    minimum: int = 0
    maximum: int = 0
    buckets: tuple[Bucket, ...] = ()

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def percentile(self, percent: float) -> int:
        """The upper end of the bucket below which `percent` of the rows lie; 0 for no rows."""
        wanted = self.count * percent / 100
        seen = 0
        for bucket in self.buckets:
            seen += bucket.count
            if seen >= wanted:
                return min(bucket.high, self.maximum)
        return self.maximum

    def grouped(self, bars: int) -> tuple[Bucket, ...]:
        """At most `bars` buckets of equal width from minimum to maximum, empty ones included, for a chart."""
        if not self.count or bars < 1:
            return ()
        width = max(1, -(-(self.maximum - self.minimum + 1) // bars))
        counts = [0] * -(-(self.maximum - self.minimum + 1) // width)
        for bucket in self.buckets:
            middle = min(max((bucket.low + bucket.high) // 2, self.minimum), self.maximum)
            counts[(middle - self.minimum) // width] += bucket.count
        start = self.minimum
        return tuple(
            Bucket(start + place * width, min(start + (place + 1) * width - 1, self.maximum), count)
            for place, count in enumerate(counts)
        )


@dataclass(frozen=True, slots=True)
class LongRow:
    """A row whose prompt is estimated to be longer than the limit."""

    line: int
    tokens: int


@dataclass(frozen=True, slots=True)
class DatasetStats:
    """Figures over the rows that could be read. Characters and tokens count the text of all messages of a row.

    rows have messages; measured_rows of them are in the histograms of characters and tokens (all, except in large
    files). long_rows holds the first 200 rows over max_prompt_length, long_row_count the true number. keys counts
    the top-level keys, roles the messages by role; both keep at most 200 names.
    """

    rows: int = 0
    turns: Histogram = field(default_factory=Histogram)
    chars: Histogram = field(default_factory=Histogram)
    tokens: Histogram = field(default_factory=Histogram)
    roles: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    max_prompt_length: int | None = None
    long_row_count: int = 0
    long_rows: tuple[LongRow, ...] = ()
    token_basis: str = ""
    measured_rows: int = 0


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """The whole check. `problems` is ordered by place and holds a part of each rule when there are too many.

    rows counts the lines that are not blank, lines all of them. rule_counts and problem_count are true totals.
    """

    path: Path
    rows: int
    lines: int
    bytes: int
    problems: tuple[RowProblem, ...]
    rule_counts: Mapping[str, int]
    errors: int
    warnings: int
    infos: int
    stats: DatasetStats
    seconds: float = 0.0

    @property
    def problem_count(self) -> int:
        return self.errors + self.warnings + self.infos

    @property
    def is_ok(self) -> bool:
        """No errors: warnings and infos do not keep a file from being sent."""
        return self.errors == 0
