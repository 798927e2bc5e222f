"""What a try leaves of tracing: its spans, and how much of what happened they tell."""

from collections.abc import Mapping
from dataclasses import replace

from agentic_rl_tui.core.functions.calls import CallResult
from agentic_rl_tui.core.functions.harness_inputs import Payload
from agentic_rl_tui.core.functions.harness_report import Caution, TestReport
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.tracing.collect import judge, spans_of, tool_results

_OFF = frozenset({"false", "0", "no"})


def traced(
    report: TestReport, result: CallResult, payload: Payload, model_calls: int | None, env: Mapping[str, str]
) -> TestReport:
    """The report with its trace. model_calls: how many the model's server has seen, None where nobody counted."""
    spans = spans_of(result.trace, ended=None if result.is_ok else _why(result))
    output = (result.output or {}).get("agent_output")
    answered = tool_results(output.get("messages")) if isinstance(output, Mapping) else 0
    found = judge(
        result.trace,
        spans,
        model_calls=model_calls,
        tool_results=max(0, answered - tool_results(payload.get("messages"))),
        is_forbidden=str(env.get("ENABLE_TRAJECTORY", "")).strip().lower() in _OFF,
    )
    if not found.llm.total and not found.tools.total and not spans:
        return report
    warnings = report.warnings
    if not found.is_complete or found.cautions:
        warnings = (*warnings, Caution("not-traced", _("the trace is not whole: {text}").format(text=found.text)))
    return replace(report, spans=spans, completeness=found, warnings=warnings)


def _why(result: CallResult) -> str:
    return result.error.message if result.error is not None else result.status.value
