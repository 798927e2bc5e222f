"""What a try of a function showed: one call, or a sweep over many rows."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentic_rl_tui.core.functions.calls import CallError, CallStatus, SubResult
from agentic_rl_tui.core.functions.harness_inputs import SchemaProblem
from agentic_rl_tui.core.functions.harness_waterfall import Waterfall
from agentic_rl_tui.core.functions.output import OutputLine
from agentic_rl_tui.core.functions.problems import SourceProblem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.tracing.model import Completeness, Span

NEAR_TIMEOUT = 0.8
_CONSTANT_ROWS = 5
_BINS = 10
_SLOWEST = 5


class Verdict(StrEnum):
    """What an answer is worth. A zero that an exception made is no judgement of the rollout."""

    SCORED = N_("scored")
    ZERO_BY_JUDGEMENT = N_("0 by judgement")
    ZERO_BY_EXCEPTION = N_("0 by exception")
    FAILED = "FAILED"


class Stage(StrEnum):
    """How far a try came: the input did not fit, the function did not start, or it was called."""

    INPUT = "input"
    START = "start"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Caution:
    """Something to look at. rule is a stable id."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the model, as whoever serves it recorded it. latency in seconds; span: id of the one it came from."""

    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0
    error: str | None = None
    span: str = ""


@dataclass(frozen=True, slots=True)
class TestReport:
    """Everything about one call. input has its key masked; output is the answer as the service would see it.

    score is None where there is none; of a group it is the mean of `scores`. error.traceback holds the user's frames,
    error.full_traceback all. start_s: from the package to a ready worker. completeness: how much of what happened the
    spans tell; None where nothing was called that could have been traced. trace_records: what the worker noted of it.
    """

    __test__ = False

    classpath: ClassPath
    kind: FunctionKind
    stage: Stage
    status: CallStatus
    input: dict[str, Any]
    output: dict[str, Any] | None = None
    problems: tuple[SchemaProblem, ...] = ()
    score: float | None = None
    scores: tuple[float, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    sub_results: tuple[SubResult, ...] = ()
    waterfalls: tuple[Waterfall, ...] = ()
    latency_s: float = 0.0
    start_s: float = 0.0
    lines: tuple[OutputLine, ...] = ()
    printed: str = ""
    error: CallError | None = None
    model_calls: tuple[ModelCall, ...] = ()
    warnings: tuple[Caution, ...] = ()
    package_problems: tuple[SourceProblem, ...] = ()
    row_index: int | None = None
    spans: tuple[Span, ...] = ()
    completeness: Completeness | None = None
    trace_records: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_ok(self) -> bool:
        return self.status is CallStatus.OK

    @property
    def verdict(self) -> Verdict:
        if self.status is not CallStatus.OK:
            return Verdict.FAILED
        if self.score is None or self.score != 0 or any(self.scores):
            return Verdict.SCORED
        failed = any(sub.error is not None for sub in self.sub_results)
        return Verdict.ZERO_BY_EXCEPTION if failed else Verdict.ZERO_BY_JUDGEMENT

    @property
    def waterfall(self) -> Waterfall | None:
        return self.waterfalls[0] if self.waterfalls else None


@dataclass(frozen=True, slots=True)
class Distribution:
    """histogram: (low, high, count) of equal bins; the last one holds its high end too."""

    count: int
    minimum: float
    mean: float
    p50: float
    p95: float
    maximum: float
    histogram: tuple[tuple[float, float, int], ...] = ()

    @classmethod
    def of(cls, values: Sequence[float]) -> "Distribution | None":
        """None of no values."""
        if not values:
            return None
        ordered = sorted(values)
        mean = math.fsum(ordered) / len(ordered)
        return cls(
            len(ordered),
            ordered[0],
            min(max(mean, ordered[0]), ordered[-1]),
            percentile(ordered, 0.5),
            percentile(ordered, 0.95),
            ordered[-1],
            _histogram(ordered),
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of sorted values that at least this share of them does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _histogram(ordered: Sequence[float]) -> tuple[tuple[float, float, int], ...]:
    low, high = ordered[0], ordered[-1]
    if low == high:
        return ((low, high, len(ordered)),)
    width = (high - low) / _BINS
    counts = Counter(min(_BINS - 1, int((value - low) / width)) if width else 0 for value in ordered)
    edges = [low + width * number for number in range(_BINS)] + [high]
    return tuple((edges[number], edges[number + 1], counts[number]) for number in range(_BINS))


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row of a sweep, without what takes memory."""

    index: int
    verdict: Verdict
    status: CallStatus
    score: float | None
    latency_s: float
    error: str = ""
    failed_subs: tuple[str, ...] = ()

    @classmethod
    def of(cls, index: int, report: TestReport) -> "RowResult":
        error = f"{report.error.type}: {report.error.message}" if report.error else "; ".join(map(str, report.problems))
        failed = tuple(sub.name for sub in report.sub_results if sub.error is not None)
        return cls(index, report.verdict, report.status, report.score, report.latency_s, error, failed)


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Scores and times over rows. Failed rows have no score and count in `verdicts` alone."""

    classpath: ClassPath
    kind: FunctionKind
    rows: tuple[RowResult, ...]
    scores: Distribution | None
    latencies_s: Distribution | None
    verdicts: Mapping[Verdict, int]
    slowest: tuple[RowResult, ...]
    errors: tuple[tuple[str, int, int], ...]
    warnings: tuple[Caution, ...]
    restarts: int = 0
    package_problems: tuple[SourceProblem, ...] = ()

    @classmethod
    def of(
        cls,
        classpath: ClassPath,
        kind: FunctionKind,
        rows: Sequence[RowResult],
        *,
        timeout_s: float | None,
        restarts: int = 0,
        package_problems: tuple[SourceProblem, ...] = (),
    ) -> "SweepReport":
        """errors: (text, how often, first row), most frequent first."""
        ordered = tuple(sorted(rows, key=lambda row: row.index))
        scores = [row.score for row in ordered if row.score is not None and row.verdict is not Verdict.FAILED]
        latencies = Distribution.of([row.latency_s for row in ordered if row.latency_s > 0])
        counted = Counter(row.verdict for row in ordered)
        failed = [row for row in ordered if row.error]
        first = {row.error: row.index for row in reversed(failed)}
        errors = tuple((text, count, first[text]) for text, count in Counter(row.error for row in failed).most_common())
        slowest = tuple(sorted(ordered, key=lambda row: -row.latency_s)[:_SLOWEST])
        return cls(
            classpath,
            kind,
            ordered,
            Distribution.of(scores),
            latencies,
            {verdict: counted[verdict] for verdict in Verdict},
            slowest,
            errors,
            tuple(_cautions(ordered, scores, latencies, timeout_s)),
            restarts,
            package_problems,
        )


def _cautions(
    rows: Sequence[RowResult], scores: Sequence[float], latencies: Distribution | None, timeout_s: float | None
) -> list[Caution]:
    warnings = []
    if timeout_s and latencies and latencies.p95 >= NEAR_TIMEOUT * timeout_s:
        text = _("95 % of the calls end within {p95:.3g} s, close to the limit of {timeout_s:g} s").format(
            p95=latencies.p95, timeout_s=timeout_s
        )
        warnings.append(Caution("near-timeout", text))
    if len(scores) >= _CONSTANT_ROWS and min(scores) == max(scores):
        text = _("the score is {score:g} for all {count} rows, so nothing can be learned from it").format(
            score=scores[0], count=len(scores)
        )
        warnings.append(Caution("score-constant", text))
    by_exception = sum(row.verdict is Verdict.ZERO_BY_EXCEPTION for row in rows)
    if by_exception:
        text = _("{count} of {rows} rows got 0 because of an exception, which looks like a bad model").format(
            count=by_exception, rows=len(rows)
        )
        warnings.append(Caution("zero-by-exception", text))
    subs = Counter(name for row in rows for name in row.failed_subs)
    for name, count in subs.most_common():
        text = _("sub-reward {name} failed in {count} of {rows} rows and counted as 0").format(
            name=name, count=count, rows=len(rows)
        )
        warnings.append(Caution("sub-failed", text))
    failed = sum(row.verdict is Verdict.FAILED for row in rows)
    if failed:
        text = _("{failed} of {rows} rows failed; the service tries such rollouts again, then drops them").format(
            failed=failed, rows=len(rows)
        )
        warnings.append(Caution("rows-failed", text))
    return warnings
