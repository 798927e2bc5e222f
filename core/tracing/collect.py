"""From the records that a worker sent during one call to its spans and their completeness."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentic_rl_tui.core.tracing import reasons as why
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Record, Span
from agentic_rl_tui.core.tracing.recorder import CONTEXT_LOST, UNFINISHED

LINKED_CALLS = "agentic_rl.model_calls.linked"
"""On the outermost span: model calls of which their server knows the very span."""


def spans_of(records: Iterable[Mapping[str, Any]], *, ended: str | None = None) -> tuple[Span, ...]:
    """In the order of their beginning. ended: why the call ended early, said of each span that never ended."""
    found: dict[str, Record] = {}
    for record in records:
        if record.get("type") in ("begun", "span") and record.get("span_id"):
            before = found.get(record["span_id"], {}).get("attributes") or {}
            found[record["span_id"]] = {**record, "attributes": {**before, **(record.get("attributes") or {})}}
    now = time.time_ns()
    for record in found.values():
        record.pop("type", None)
        if record.get("end_ns") is None:
            record["attributes"] = {**(record.get("attributes") or {}), UNFINISHED: ended or why.NEVER_ENDED}
            record["end_ns"] = max(now, record["start_ns"])
            if ended:
                record["status"], record["message"] = "ERROR", ended
    return tuple(sorted((Span.of(record) for record in found.values()), key=lambda span: span.start_ns))


def judge(
    records: Sequence[Mapping[str, Any]],
    spans: Sequence[Span],
    *,
    model_calls: int | Sequence[str] | None = None,
    tool_results: int = 0,
    is_forbidden: bool = False,
) -> Completeness:
    """How complete the spans of one call are.

    model_calls: what whoever serves the model has seen: how many, or the span that each named, empty for none; None
    where nobody counted. tool_results: answers of tools
    in the conversation, the least number of tool calls there were.
    """
    facts = next((record for record in records if record.get("type") == "facts"), None)
    missing = next((record["reason"] for record in records if record.get("type") == "missing"), None)
    one = why.OFF if is_forbidden else missing
    named = () if model_calls is None or isinstance(model_calls, int) else model_calls
    linked = [name for name in named if name and name in {span.span_id for span in spans}]
    seen = _seen(records, spans, model_calls, linked)
    llm = _model_calls(records, spans, seen, facts, one)
    tools = _tool_calls(records, spans, tool_results, facts, one)
    lost = sum(bool(span.attributes.get(CONTEXT_LOST)) for span in spans)
    cautions = [why.CONTEXT_LOST.format(count=lost)] if lost else []
    told = {*llm.reasons, *tools.reasons}
    cautions += [text for text in _refusals(records, facts) if text not in told and not is_forbidden]
    return Completeness(llm, tools, tuple(cautions), linked=len(linked))


def _seen(
    records: Sequence[Mapping[str, Any]], spans: Sequence[Span], calls: int | Sequence[str] | None, linked: list[str]
) -> int:
    """Model calls that only their server has seen: without a span, and without a request that was watched here."""
    posts = [record for record in records if record.get("type") == "http"]
    inside = sum(bool(post.get("traced")) for post in posts)
    outside = len(posts) - inside
    traced = sum(span.role == "LLM" for span in spans)
    if calls is None:
        return 0
    if isinstance(calls, int):
        return max(0, calls - max(traced, inside) - outside)
    spare = traced - len(set(linked))
    return max(0, len(calls) - len(linked) - spare - outside)


def link(spans: Sequence[Span], completeness: Completeness) -> tuple[Span, ...]:
    """The spans, the outermost of which says how many model calls are known to belong to one of them."""

    def linked(span: Span) -> Span:
        return replace(span, attributes={**span.attributes, LINKED_CALLS: completeness.linked})

    return tuple(linked(span) if span.role == "CHAIN" and completeness.linked else span for span in spans)


def _model_calls(
    records: Sequence[Mapping[str, Any]],
    spans: Sequence[Span],
    unexplained: int,
    facts: Mapping[str, Any] | None,
    one_reason: str | None,
) -> Counted:
    traced = sum(span.role == "LLM" for span in spans)
    posts = [record for record in records if record.get("type") == "http"]
    inside = sum(bool(post.get("traced")) for post in posts)
    outside = len(posts) - inside
    total = traced + outside + unexplained
    if traced == total:
        return Counted(traced, total)
    if one_reason is not None:
        return Counted(traced, total, (one_reason,))
    unsupported = _unsupported(records, facts, "client")
    is_instrumented = (
        traced
        or _wrapped_inside(records, "trace_client")
        or (facts is not None and (facts["clients"] or _wraps_models(facts)))
    )
    reasons: list[str] = []
    early = _before_wrapping(records, "http", "trace_client")
    if early:
        reasons.append(why.LATE_CLIENT)
    if outside > early and is_instrumented and not unsupported:
        reasons.append(why.OTHER_CLIENT)
    if unexplained and _has_children(records, facts) and (is_instrumented or not outside):
        reasons.append(why.CHILD)
    if reasons:
        return Counted(traced, total, tuple(reasons))
    if unsupported:
        reasons.append(why.UNKNOWN_CLIENT.format(names=", ".join(unsupported)))
    elif not is_instrumented:
        reasons.append(why.NEVER_CLIENT)
    else:
        reasons.append(why.UNTRACED_CLIENT)
    return Counted(traced, total, tuple(reasons))


def _has_children(records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any] | None) -> bool:
    """Whether the process forked in the call, or before it: a pool may be older than the call that uses it."""
    return any(record.get("type") == "child" for record in records) or bool((facts or {}).get("children"))


def _before_wrapping(records: Sequence[Mapping[str, Any]], kind: str, wrapper: str) -> int:
    """Records of a kind without a span before `wrapper` was called, where that happened in the same call."""
    count = 0
    for record in records:
        if record.get("type") == "late" and record.get("what") == wrapper:
            return count
        count += record.get("type") == kind and not record.get("traced")
    return 0


def _unsupported(records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any] | None, sort: str) -> list[str]:
    """What was refused before the call, and in it. sort: ``client`` or ``tool``."""
    inside = [str(record.get("name")) for record in records if record.get("type") == "unsupported"]
    names = dict.fromkeys([*(facts or {}).get("unsupported", ()), *inside])
    return [name for name in names if name.startswith("tool ") == (sort == "tool")]


def _refusals(records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any] | None) -> list[str]:
    """What was given to be traced and could not be, said even where no call is known to be missing."""
    found = []
    for sort, text in (("client", why.UNKNOWN_CLIENT), ("tool", why.UNKNOWN_TOOL)):
        names = _unsupported(records, facts, sort)
        if names:
            found.append(text.format(names=", ".join(names)))
    return found


def _wrapped_inside(records: Sequence[Mapping[str, Any]], wrapper: str) -> bool:
    return any(record.get("type") == "late" and record.get("what") == wrapper for record in records)


def _wraps_models(facts: Mapping[str, Any]) -> bool:
    return bool({"observe_llm", "genai_llm_span", "run_with_genai_llm_span"} & set(facts.get("decorated", ())))


def _wraps_tools(facts: Mapping[str, Any]) -> bool:
    return bool(facts["tools"]) or "observe_tool" in facts.get("decorated", ())


def _tool_calls(
    records: Sequence[Mapping[str, Any]],
    spans: Sequence[Span],
    results: int,
    facts: Mapping[str, Any] | None,
    one_reason: str | None,
) -> Counted:
    traced = sum(span.role == "TOOL" for span in spans)
    runs = [record for record in records if record.get("type") == "tool"]
    outside = [record for record in runs if not record.get("traced")]
    total = max(traced + len(outside), results)
    if traced >= total:
        return Counted(traced, total)
    if one_reason is not None:
        return Counted(traced, total, (one_reason,))
    reasons = []
    names = ", ".join(sorted({str(record.get("name")) for record in outside}))
    unsupported = _unsupported(records, facts, "tool")
    if _before_wrapping(records, "tool", "trace_tool"):
        reasons.append(why.LATE_TOOL)
    elif unsupported:
        reasons.append(why.UNKNOWN_TOOL.format(names=", ".join(unsupported)))
    elif not outside and facts is not None and _wraps_tools(facts) and _has_children(records, facts):
        reasons.append(why.CHILD)
    elif not traced and (facts is None or not facts["tools"]):
        reasons.append(why.NEVER_TOOL)
        if any(record.get("mcp") for record in outside):
            reasons.append(why.MCP_SIDE)
    elif names:
        reasons.append(why.OTHER_TOOL.format(names=names))
    else:
        reasons.append(why.PLAIN_TOOL)
    return Counted(traced, total, tuple(reasons))


def tool_results(messages: Any) -> int:
    """Answers of tools in a conversation."""
    if not isinstance(messages, list):
        return 0
    return sum(isinstance(item, Mapping) and item.get("role") == "tool" for item in messages)


class Tally:
    """Completeness over many calls. notes: what else is to be told of their traces."""

    def __init__(self) -> None:
        self.calls = 0
        self.traced = [0, 0]
        self.total = [0, 0]
        self.reasons: Counter[str] = Counter()
        self.notes: dict[str, None] = {}

    def add(self, one: Completeness) -> None:
        self.calls += 1
        for place, counted in enumerate((one.llm, one.tools)):
            self.traced[place] += counted.traced
            self.total[place] += counted.total
        self.reasons.update({*one.llm.reasons, *one.tools.reasons, *one.cautions})

    @property
    def text(self) -> str:
        counts = f"LLM {self.traced[0]}/{self.total[0]}, tools {self.traced[1]}/{self.total[1]}"
        reasons = [*(reason for reason, _ in self.reasons.most_common()), *self.notes]
        return f"{counts}: {'; '.join(reasons)}" if reasons else counts

    def record(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "llm": {"traced": self.traced[0], "total": self.total[0]},
            "tools": {"traced": self.traced[1], "total": self.total[1]},
            "reasons": dict(self.reasons.most_common()),
            "notes": list(self.notes),
        }
