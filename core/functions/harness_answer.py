"""From a call's result to what a person wants to know of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus, SubResult
from agentic_rl_tui.core.functions.harness_inputs import Payload, SchemaProblem, json_path
from agentic_rl_tui.core.functions.harness_report import NEAR_TIMEOUT, Caution, TestReport
from agentic_rl_tui.core.functions.harness_waterfall import Component, Waterfall, waterfall
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.kinds import FunctionKind

_PLACE = re.compile(r"(the whole|the answer|[^\s.;:]+(?:\.[^\s.;:]+)*): ")


def report_of(
    base: TestReport,
    result: CallResult,
    weight: float,
    metric_weights: Mapping[str, float],
    *,
    timeout_s: float,
    payload: Payload,
) -> TestReport:
    """Fill the report of a call that was made."""
    score, scores, metrics = _scores(base.kind, result.output)
    report = replace(
        base,
        output=result.output,
        problems=_schema_problems(result),
        score=score,
        scores=scores,
        metrics=metrics,
        sub_results=result.sub_results,
        latency_s=result.latency_s,
        printed=result.printed,
        error=result.error or _failed_answer(result),
    )
    falls = _waterfalls(report, weight, metric_weights)
    return replace(report, waterfalls=falls, warnings=tuple(_cautions(report, timeout_s, payload)))


def _scores(
    kind: FunctionKind, output: Mapping[str, Any] | None
) -> tuple[float | None, tuple[float, ...], dict[str, float]]:
    """(score, one score a rollout of a group, metrics)."""
    holder = (output or {}).get("agent_output" if kind is FunctionKind.ROLLOUT else "reward")
    if not isinstance(holder, Mapping):
        return None, (), {}
    if kind is FunctionKind.GROUP_REWARD:
        scores = tuple(float(item["reward_score"]) for item in holder.get("rewards") or ())
        return (sum(scores) / len(scores) if scores else None), scores, {}
    own = holder.get("reward_score")
    metrics = holder.get("rollout_metrics" if kind is FunctionKind.ROLLOUT else "reward_metrics")
    return (None if own is None else float(own)), (), dict(metrics or {})


def _schema_problems(result: CallResult) -> tuple[SchemaProblem, ...]:
    """A worker joins all problems of an answer into one text; each starts with its place in dotted form."""
    if result.status not in (CallStatus.INVALID_OUTPUT, CallStatus.INVALID_INPUT) or result.error is None:
        return ()
    problems: list[SchemaProblem] = []
    for piece in result.error.message.split("; "):
        found = _PLACE.match(piece)
        if found is not None:
            problems.append(SchemaProblem(_path(found[1]), piece[found.end() :]))
        elif problems and not piece.startswith("process "):
            problems[-1] = replace(problems[-1], message=f"{problems[-1].message}; {piece}")
        else:
            problems.append(SchemaProblem("$", piece))
    return tuple(problems)


def _path(place: str) -> str:
    if place in ("the whole", "the answer"):
        return "$"
    return json_path([int(part) if part.isdigit() else part for part in place.split(".")])


def _failed_answer(result: CallResult) -> CallError | None:
    """The words of an answer that says ``failed`` of itself."""
    if result.status is not CallStatus.FAILED:
        return None
    output = result.output or {}
    code = output.get("error_code")
    kind = f"status=failed ({code})" if code else "status=failed"
    return CallError(kind, str(output.get("error") or _("the answer gives no reason")))


def _waterfalls(report: TestReport, weight: float, metric_weights: Mapping[str, float]) -> tuple[Waterfall, ...]:
    """One for the score, or one for each rollout of a group."""
    if report.status is not CallStatus.OK or report.score is None:
        return ()
    name = report.classpath.class_name
    if report.scores:
        return tuple(waterfall([Component(name, score, weight)]) for score in report.scores)
    component = Component(name, report.score, weight, report.sub_results, report.metrics, metric_weights)
    return (waterfall([component]),)


def _cautions(report: TestReport, timeout_s: float, payload: Payload) -> Iterator[Caution]:
    if report.latency_s >= NEAR_TIMEOUT * timeout_s and report.status is not CallStatus.TIMEOUT:
        text = _("the call took {latency_s:.3g} s, close to the limit of {timeout_s:g} s").format(
            latency_s=report.latency_s, timeout_s=timeout_s
        )
        yield Caution("near-timeout", text)
    for sub in report.sub_results:
        if sub.error is not None:
            text = _("sub-reward {file} failed and counted as 0: {type}: {message}").format(
                file=sub.name, type=sub.error.type, message=sub.error.message
            )
            yield Caution("sub-failed", text)
        elif sub.status == "failed":
            yield Caution("sub-failed", _said_failed(sub))
    if len(report.scores) > 1 and len(set(report.scores)) == 1:
        text = _("all {count} rollouts got {score:g}, so the group teaches nothing").format(
            count=len(report.scores), score=report.scores[0]
        )
        yield Caution("group-constant", text)
    if report.kind is FunctionKind.ROLLOUT and report.status is CallStatus.OK:
        yield from _rollout_cautions(report, payload)
    yield from package_cautions(report.package_problems)


def package_cautions(problems: Sequence[SourceProblem]) -> Iterator[Caution]:
    """What will go wrong on the service, whatever happened here."""
    for problem in problems:
        if problem.severity is Severity.ERROR:
            yield Caution("package", f"{problem.place}: {problem.message}")


def _said_failed(sub: SubResult) -> str:
    return _("sub-reward {file} says failed, yet its score {score:g} counts").format(file=sub.name, score=sub.score)


def _rollout_cautions(report: TestReport, payload: Payload) -> Iterator[Caution]:
    output = (report.output or {}).get("agent_output")
    if not isinstance(output, Mapping):
        yield Caution("no-agent-output", _("the answer says success and has no agent_output, so rewards have no input"))
        return
    if payload.get("rollout_extra") and not output.get("rollout_extra"):
        text = _("the row's rollout_extra is not handed on in agent_output, so rewards that need it find nothing")
        yield Caution("extra-dropped", text)
    messages = output.get("messages")
    if not any(isinstance(item, Mapping) and item.get("role") == "assistant" for item in messages or ()):
        yield Caution("no-assistant", _("the messages hold nothing that the model said"))
