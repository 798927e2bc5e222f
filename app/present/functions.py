"""Functions and what trying them showed, as people read it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.present.frames import as_in_workspace
from agentic_rl_tui.app.present.kinds import kind_word
from agentic_rl_tui.app.present.steps import size
from agentic_rl_tui.app.present.times import coarse_duration
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, Span, clip_middle, clip_path, pad
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.panels import Fact, Section
from agentic_rl_tui.widgets.spark import bar

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness import RowResult, SweepReport, TestReport
    from agentic_rl_tui.core.functions.package_plan import PackagePlan
    from agentic_rl_tui.core.models.processors import ProcessorInfo
    from agentic_rl_tui.core.sdk.deploy import Deployment
    from agentic_rl_tui.core.tracing.model import Run

Lines = tuple[tuple[Span, ...], ...]

KIND_STYLES = {"rollout": "$running", "reward": "$accent", "group_reward": "$succeeded"}
_BAR = 24
_MOST_CALLS = 12
_GAP: tuple[Span, ...] = (("", ""),)


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A class of the workspace and the registered function made from it. is_same: whether their code is equal."""

    info: "ProcessorInfo"
    deployment: "Deployment | None" = None
    is_same: bool | None = None

    @property
    def key(self) -> str:
        return self.info.classpath.dotted


def _kind(row: FunctionRow, _width: int) -> Cell:
    kind = row.info.kind.value
    return [("ƒ ", KIND_STYLES.get(kind, "$muted")), (kind_word(kind), "$ink")]


def _state(row: FunctionRow, _width: int) -> Cell:
    if row.deployment is None:
        return [("–", "$faint")]
    if row.is_same is False:
        return [(_("! changed"), "$warn")]
    return [("✓ ", "$succeeded"), (_("loaded") if row.deployment.instances else _("registered"), "$muted")]


def _where(row: FunctionRow, width: int) -> Cell:
    return [(clip_path(clean(f"{row.info.path}:{row.info.line}"), width), "$muted")]


COLUMNS: tuple[Column[FunctionRow], ...] = (
    Column("kind", N_("KIND"), _kind, 14, sort=lambda row: row.info.kind.value),
    Column("class", N_("CLASS"), lambda row, _width: [(row.info.class_name, "$ink")], 16, 30),
    Column("state", N_("SERVICE"), _state, 11, 14, fold=1),
    Column("where", N_("WHERE"), _where, 16, 40, fold=2, sort=lambda row: (row.info.path, row.info.line)),
)


def clean(text: object) -> str:
    return redact(plain(str(text), keep_newlines=False))


def sections(row: FunctionRow, now_s: float) -> tuple[Section, ...]:
    """What is known of a function before it is run."""
    info = row.info
    if info.has_setup:
        ways = _("async, setup once a worker") if info.is_async else _("sync, setup once a worker")
    else:
        ways = _("async") if info.is_async else _("sync")
    traits = _("{kind}, {ways}").format(kind=kind_word(info.kind.value), ways=ways)
    facts = [
        Fact(_("class"), [(info.class_name, "$ink bold"), (f"  {traits}", "$muted")]),
        Fact(_("place"), [(clean(f"{info.path}:{info.line}"), "$muted")]),
    ]
    for sub in info.sub_rewards:
        weight = "?" if sub.weight is None else f"{sub.weight:g}"
        label = _("sub-rewards") if sub is info.sub_rewards[0] else ""
        facts.append(
            Fact(
                label,
                [
                    (clean(sub.name), "$ink"),
                    (_("  ×{weight}  line {line}").format(weight=weight, line=sub.line), "$muted"),
                ],
            )
        )
    if row.deployment is not None:
        facts += _service_facts(row, now_s)
    return (Section("", tuple(facts)),)


def _service_facts(row: FunctionRow, now_s: float) -> list[Fact]:
    found = row.deployment
    assert found is not None
    ago = coarse_duration(max(0.0, now_s - found.at_s))
    state: list[Span] = [(found.entity_id, "$ink"), (_("  {ago} ago").format(ago=ago), "$faint")]
    if row.is_same is False:
        state.append((_("  ! the code changed since"), "$warn"))
    facts = [Fact(_("registered"), state)]
    for number, instance in enumerate(found.instances):
        facts.append(Fact(_("instance") if number == 0 else "", [(instance, "$ink")]))
    return facts


_STATUS = {
    "ok": ("✔", "$succeeded", N_("answered")),
    "failed": ("✗", "$failed", N_("answered: failed")),
    "raised": ("✗", "$failed", N_("raised an exception")),
    "invalid_input": ("✗", "$failed", N_("the input does not fit")),
    "invalid_output": ("✗", "$failed", N_("the answer does not fit")),
    "timeout": ("✗", "$failed", N_("took too long")),
    "canceled": ("○", "$canceled", N_("canceled")),
    "died": ("✗", "$failed", N_("the process died")),
}


def status_word(status: str) -> str:
    """How a run ended, in words."""
    known = _STATUS.get(status)
    return _(known[2]) if known is not None else status


def score_bar(score: float) -> Span:
    return (bar(score, _BAR), ("$succeeded" if score > 0 else "$failed") + " on $line")


def report_lines(report: "TestReport") -> Lines:
    """Everything about one call, the verdict first."""
    return tuple(_report_lines(report))


def _report_lines(report: "TestReport") -> "Iterator[tuple[Span, ...]]":
    glyph, style, _words = _STATUS.get(report.status.value, ("·", "$muted", ""))
    head: list[Span] = [
        (f"{glyph} ", style),
        (status_word(report.status.value), "$ink bold"),
        (f"  {report.latency_s * 1000:,.1f} ms", "$muted"),
    ]
    if report.start_s:
        head.append((_("  started in {seconds:.2f} s").format(seconds=report.start_s), "$faint"))
    yield tuple(head)
    if report.score is not None:
        yield (
            (_("score   "), "$muted"),
            score_bar(report.score),
            (f" {report.score:.4g}", "$ink bold"),
            (f"  {_(report.verdict.value)}", "$muted"),
        )
    if len(report.scores) > 1:
        yield ((_("scores  "), "$muted"), ("  ".join(f"{value:.3g}" for value in report.scores), "$ink"))
    for name, value in report.metrics.items():
        yield ((pad(clean(name), 30), "$muted"), (f" {value:.4g}", "$ink"))
    yield from _waterfall(report)
    yield from _trouble(report)
    yield from _asked(report)
    if report.warnings:
        yield _GAP
    for caution in report.warnings:
        yield (("! ", "$warn"), (clean(caution.message), "$ink"))
    if report.output is not None:
        yield _GAP
        yield ((_("ANSWER"), "$faint bold"),)
        for text in pretty(report.output).splitlines():
            yield ((text, "$muted"),)
    printed = [line for line in report.lines if line.stream != "worker"]
    if printed:
        yield _GAP
        yield ((_("PRINTED"), "$faint bold"),)
        for line in printed[-40:]:
            yield ((clean(line.text), "$failed" if line.stream == "stderr" else "$ink"),)


def _waterfall(report: "TestReport") -> "Iterator[tuple[Span, ...]]":
    fall = report.waterfall
    if fall is None or len(fall.rows) < 1 or not report.sub_results:
        return
    yield _GAP
    yield ((_("HOW THE SCORE COMES ABOUT"), "$faint bold"),)
    for row in fall.rows:
        name = " · ".join(part for part in (row.sub, row.metric) if part) or row.component
        sums = f"{row.value:.3g}"
        for weight in (row.metric_weight, row.sub_weight, row.component_weight):
            sums += f" × {weight:g}"
        yield (
            (pad(clean(name), 26) + " ", "$ink"),
            (f"{sums:<28}", "$muted"),
            (f"= {row.contribution:+.4g}", "$ink"),
            (f"  {row.note}", "$warn"),
        )
    yield ((pad(_("total"), 55), "$muted"), (f"= {fall.total:+.4g}", "$ink bold"))


def _asked(report: "TestReport") -> "Iterator[tuple[Span, ...]]":
    """The model calls that its server counted, and how much of all calls the trace tells."""
    calls = report.model_calls
    if calls:
        yield _GAP
        tokens = _("{given:,} tokens in, {taken:,} out").format(
            given=sum(call.prompt_tokens for call in calls), taken=sum(call.completion_tokens for call in calls)
        )
        count = ngettext("{count} call", "{count} calls", len(calls)).format(count=len(calls))
        yield ((_("MODEL CALLS"), "$faint bold"), (f"  {count}, {tokens}", "$muted"))
        for call in calls[:_MOST_CALLS]:
            yield (
                (pad(clean(call.model), 27), "$ink"),
                (f"{call.prompt_tokens:>7,} → {call.completion_tokens:<6,}", "$muted"),
                (f"{call.latency_s * 1000:>8,.1f} ms", "$muted"),
                (f"  {clean(call.error)}" if call.error else "", "$failed"),
            )
    found = report.completeness
    if found is not None:
        yield _GAP
        glyph, style = ("✓", "$succeeded") if found.is_complete else ("!", "$warn")
        spans = ngettext("{count} span", "{count} spans", len(report.spans)).format(count=len(report.spans))
        yield (
            (_("TRACE"), "$faint bold"),
            (f"  {glyph} ", style),
            (clean(found.text), "$ink"),
            (f"  {spans}", "$muted"),
        )
        if report.spans:
            yield (("w", "$accent bold"), (_("  opens the spans as a waterfall"), "$muted"))


def trace_of(report: "TestReport") -> "Run | None":
    """The run that the spans of a try make; None where there are none."""
    if not report.spans:
        return None
    from agentic_rl_tui.core.tracing.model import Completeness, Run

    return Run.over(
        report.spans,
        function=report.classpath.class_name,
        status=report.status.value,
        completeness=report.completeness or Completeness(),
    )


def _trouble(report: "TestReport") -> "Iterator[tuple[Span, ...]]":
    for problem in report.problems:
        yield (("✗ ", "$failed"), (clean(problem.path), "$accent"), (f"  {clean(problem.message)}", "$ink"))
    for sub in report.sub_results:
        if sub.error is not None:
            yield (
                ("✗ ", "$failed"),
                (clean(sub.name), "$ink"),
                (f"  {clean(sub.error.type)}: {clean(sub.error.message)}", "$failed"),
            )
            yield from _traceback(sub.error.traceback)
    if report.error is not None and not report.problems:
        yield _GAP
        yield (("✗ ", "$failed"), (f"{clean(report.error.type)}: {clean(report.error.message)}", "$failed"))
        yield from _traceback(report.error.traceback)


def _traceback(text: str) -> "Iterator[tuple[Span, ...]]":
    for line in as_in_workspace(plain(text)).splitlines()[-24:]:
        is_place = line.lstrip().startswith("File ")
        yield ((redact(line), "$accent" if is_place else "$muted"),)


def pretty(value: Any) -> str:
    """JSON as people read it; what is no JSON as its text."""
    return redact(plain(json.dumps(value, ensure_ascii=False, indent=2, default=str)))


@dataclass(frozen=True, slots=True)
class SweepState:
    """A sweep while it runs: rows done of total."""

    done: int
    total: int
    rows: "Sequence[RowResult]"


def sweep_progress(state: SweepState) -> Lines:
    share = state.done / state.total if state.total else 0.0
    words = _("{done} of {total} rows").format(done=state.done, total=state.total)
    head: tuple[Span, ...] = ((bar(share, _BAR), "$running on $line"), (f"  {words}", "$ink"))
    return (head, _counts_of(state.rows))


def _counts_of(rows: "Sequence[RowResult]") -> tuple[Span, ...]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.verdict.value] = counts.get(row.verdict.value, 0) + 1
    return _counts(counts)


_VERDICTS = (
    (N_("scored"), "✔", "$succeeded"),
    (N_("0 by judgement"), "○", "$muted"),
    (N_("0 by exception"), "!", "$warn"),
    (N_("FAILED"), "✗", "$failed"),
)


def _counts(counts: dict[str, int]) -> tuple[Span, ...]:
    line: list[Span] = []
    for name, glyph, style in _VERDICTS:
        line += [(f"{glyph} {counts.get(name, 0)}", style), (f" {_(name)}   ", "$muted")]
    return tuple(line)


def sweep_lines(report: "SweepReport") -> Lines:
    """Scores over rows: the counts that must not be mixed up, a histogram, the slowest rows."""
    return tuple(_sweep_lines(report))


def _sweep_lines(report: "SweepReport") -> "Iterator[tuple[Span, ...]]":
    count = len(report.rows)
    yield ((ngettext("{count} row", "{count} rows", count).format(count=count), "$ink bold"),)
    yield _counts({verdict.value: count for verdict, count in report.verdicts.items()})
    scores, times = report.scores, report.latencies_s
    if scores is not None:
        words = _("mean {mean:.3g}  p50 {p50:.3g}  min {low:.3g}  max {high:.3g}").format(
            mean=scores.mean, p50=scores.p50, low=scores.minimum, high=scores.maximum
        )
        yield _GAP
        yield ((_("SCORES  "), "$faint bold"), (words, "$muted"))
        most = max(count for _low, _high, count in scores.histogram)
        for low, high, count in scores.histogram:
            yield (
                (f"{low:>7.3g} – {high:<7.3g} ", "$muted"),
                (bar(count / most if most else 0, 30), "$accent"),
                (f" {count}", "$ink"),
            )
    if times is not None:
        words = _("p50 {p50:,.1f} ms  p95 {p95:,.1f} ms  max {high:,.1f} ms").format(
            p50=times.p50 * 1000, p95=times.p95 * 1000, high=times.maximum * 1000
        )
        yield _GAP
        yield ((_("TIME  "), "$faint bold"), (words, "$muted"))
        slowest = "  ".join(
            _("row {row}: {ms:,.1f} ms").format(row=row.index, ms=row.latency_s * 1000) for row in report.slowest
        )
        yield ((_("slowest  "), "$muted"), (slowest, "$ink"))
    if report.errors:
        yield _GAP
        for message, count, first in report.errors[:6]:
            yield (
                ("✗ ", "$failed"),
                (f"{count}× ", "$ink"),
                (clean(message), "$ink"),
                (_("  first in row {row}").format(row=first), "$muted"),
            )
    for caution in report.warnings:
        yield (("! ", "$warn"), (clean(caution.message), "$ink"))


def package_lines(plan: "PackagePlan") -> Lines:
    """Exactly what would be sent, what stays at home and why."""
    return tuple(_package_lines(plan))


def _package_lines(plan: "PackagePlan") -> "Iterator[tuple[Span, ...]]":
    entries = plan.all_entries
    count = ngettext("{count} file, {size}", "{count} files, {size}", len(entries)).format(
        count=len(entries), size=size(plan.total_bytes)
    )
    yield ((count, "$ink bold"), (f"  {plan.content_hash[:12]}", "$faint"))
    for problem in plan.problems:
        glyph, style = {"error": ("✗", "$failed"), "warning": ("!", "$warn")}.get(
            problem.severity.value, ("·", "$muted")
        )
        yield ((f"{glyph} ", style), (f"{clean(problem.place)}  ", "$muted"), (clean(problem.message), "$ink"))
        if problem.advice:
            yield ((f"  → {clean(problem.advice)}", "$faint"),)
    yield _GAP
    for entry in entries[:400]:
        yield (
            ("+ ", "$succeeded"),
            (pad(clip_middle(clean(entry.path), 44), 44), "$ink"),
            (f"{size(entry.size):>8}", "$muted"),
            (f"  {clean(entry.reason)}", "$faint"),
        )
    for item in plan.left_out[:200]:
        name = clean(item.path) + ("/" if item.is_dir else "")
        yield (
            ("– ", "$faint"),
            (pad(clip_middle(name, 44), 44), "$muted"),
            (f"          {clean(item.reason)}", "$faint"),
        )
