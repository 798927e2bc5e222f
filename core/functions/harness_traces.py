"""What a try leaves of tracing: its spans, and how much of what happened they tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentic_rl_tui.core.functions.calls import CallResult
from agentic_rl_tui.core.functions.harness_inputs import Payload
from agentic_rl_tui.core.functions.harness_report import Caution, ModelCall, Stage, TestReport
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.tracing.collect import judge, link, spans_of, tool_results
from agentic_rl_tui.core.tracing.reasons import OFF

_RULE = "not-traced"
_OFF = frozenset({"false", "0", "no"})


def traced(
    report: TestReport, result: CallResult, payload: Payload, model_calls: int | None, env: Mapping[str, str]
) -> TestReport:
    """The report with its trace. model_calls: how many the model's server has seen, None where nobody counted."""
    records: tuple[Mapping[str, Any], ...] = result.trace
    if str(env.get("ENABLE_TRAJECTORY", "")).strip().lower() in _OFF:
        records = (*records, {"type": "missing", "reason": OFF})
    spans = spans_of(records, ended=None if result.is_ok else _why(result))
    return _judged(replace(report, spans=spans, trace_records=records), payload, model_calls)


def with_model_calls(report: TestReport, calls: Sequence[ModelCall]) -> TestReport:
    """The report, judged again by what the model's server has seen; each call may name the span it came from."""
    counted = replace(report, model_calls=tuple(calls))
    return _judged(counted, report.input, [call.span for call in calls]) if report.stage is Stage.CALL else counted


def _judged(report: TestReport, payload: Payload, model_calls: int | Sequence[str] | None) -> TestReport:
    output = (report.output or {}).get("agent_output")
    answered = tool_results(output.get("messages")) if isinstance(output, Mapping) else 0
    found = judge(
        report.trace_records,
        report.spans,
        model_calls=model_calls,
        tool_results=max(0, answered - tool_results(payload.get("messages"))),
    )
    if not found.llm.total and not found.tools.total and not report.spans:
        return report
    warnings = tuple(caution for caution in report.warnings if caution.rule != _RULE)
    if not found.is_complete or found.cautions:
        warnings = (*warnings, Caution(_RULE, _("the trace is not whole: {text}").format(text=found.text)))
    return replace(report, spans=link(report.spans, found), completeness=found, warnings=warnings)


def _why(result: CallResult) -> str:
    return result.error.message if result.error is not None else result.status.value
