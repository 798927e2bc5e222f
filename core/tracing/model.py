"""A trace as the reading side knows it: its spans, what was counted, and what that says of its completeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.tracing.reasons import all_told

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Times in nanoseconds since the epoch; end_ns is None while nobody ended it."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    start_ns: int
    end_ns: int | None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    status: str = "UNSET"
    message: str = ""
    scope: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Span:
        return cls(
            record["trace_id"],
            record["span_id"],
            record.get("parent_id"),
            record["name"],
            record.get("kind", "INTERNAL"),
            record["start_ns"],
            record.get("end_ns"),
            record.get("attributes") or {},
            tuple(record.get("events") or ()),
            record.get("status", "UNSET"),
            record.get("message", ""),
            record.get("scope", ""),
        )

    def record(self) -> Record:
        return {
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "parent_id": self.parent_id,
            "name": self.name,
            "kind": self.kind,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "attributes": dict(self.attributes),
            "events": list(self.events),
            "status": self.status,
            "message": self.message,
            "scope": self.scope,
        }

    @property
    def role(self) -> str:
        """CHAIN, ROLLOUT, REWARD, GROUP_REWARD, LLM, TOOL; empty for spans that are none of these."""
        return str(self.attributes.get("gen_ai.span.kind", ""))

    @property
    def duration_s(self) -> float:
        return 0.0 if self.end_ns is None else max(0, self.end_ns - self.start_ns) / 1e9

    @property
    def is_error(self) -> bool:
        return self.status == "ERROR"


@dataclass(frozen=True, slots=True)
class Counted:
    """Calls of one sort: how many happened, how many of them gave spans, and why the others did not."""

    traced: int = 0
    total: int = 0
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.traced}/{self.total}"


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of what happened the spans tell.

    cautions: what is wrong although no call is missing. linked: model calls whose server knows their very span.
    """

    llm: Counted = field(default_factory=Counted)
    tools: Counted = field(default_factory=Counted)
    cautions: tuple[str, ...] = ()
    linked: int = 0

    @property
    def is_complete(self) -> bool:
        return self.llm.traced >= self.llm.total and self.tools.traced >= self.tools.total

    @property
    def text(self) -> str:
        """``LLM 4/4, tools 0/2: trace_tool() was never called``, in the language in force."""
        counts = _("LLM {llm}, tools {tools}").format(llm=self.llm, tools=self.tools)
        reasons = self.why
        return f"{counts}: {reasons}" if reasons else counts

    @property
    def why(self) -> str:
        """The reasons alone, in the language in force; empty where there is nothing to say."""
        return "; ".join(all_told([*self.llm.reasons, *self.tools.reasons, *self.cautions]))

    def record(self) -> Record:
        return {
            "llm": [self.llm.traced, self.llm.total, list(self.llm.reasons)],
            "tools": [self.tools.traced, self.tools.total, list(self.tools.reasons)],
            "cautions": list(self.cautions),
            "linked": self.linked,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> Completeness:
        if not record:
            return cls()
        llm, tools = record.get("llm") or [0, 0, []], record.get("tools") or [0, 0, []]
        return cls(
            Counted(llm[0], llm[1], tuple(llm[2])),
            Counted(tools[0], tools[1], tuple(tools[2])),
            tuple(record.get("cautions") or ()),
            int(record.get("linked") or 0),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a function, as a list shows it. source: ``job``, ``call``, ``test`` or ``import``.

    run_id: its outermost span; several runs may belong to one trace, that of whoever called. status: how the call
    ended; detail: why it did not end well. started_ns is since the epoch.
    """

    trace_id: str
    run_id: str = ""
    function: str = ""
    kind: str = ""
    source: str = "call"
    job_id: str = ""
    rollout_id: str = ""
    sample_id: str = ""
    attempt_id: str = ""
    started_ns: int = 0
    duration_s: float = 0.0
    status: str = "ok"
    detail: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    errors: int = 0
    spans: int = 0
    completeness: Completeness = field(default_factory=Completeness)

    @classmethod
    def over(cls, spans: Sequence[Span], **facts: Any) -> Run:
        """Sums over the spans; ids that are not given are read from them."""
        ids = {
            name: next((str(value) for span in spans if (value := span.attributes.get(key)) is not None), "")
            for name, key in _ID_KEYS.items()
        }
        begin = min(span.start_ns for span in spans)
        end = max(span.end_ns or span.start_ns for span in spans)
        llm = [span for span in spans if span.role == "LLM"]
        known: dict[str, Any] = {
            **ids,
            "trace_id": spans[0].trace_id,
            "run_id": outermost(spans).span_id,
            "started_ns": begin,
            "duration_s": (end - begin) / 1e9,
            "tokens_in": _sum(llm, "gen_ai.usage.input_tokens"),
            "tokens_out": _sum(llm, "gen_ai.usage.output_tokens"),
            "errors": sum(span.is_error for span in spans),
            "spans": len(spans),
        }
        return cls(**(known | {name: value for name, value in facts.items() if value not in (None, "")}))

    @property
    def key(self) -> str:
        """What no other run has."""
        return f"{self.trace_id}-{self.run_id}" if self.run_id else self.trace_id

    def record(self) -> Record:
        found = {name: getattr(self, name) for name in self.__slots__ if name != "completeness"}
        return {**found, "completeness": self.completeness.record()}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Run:
        """Entries that nobody knows are passed over."""
        known = {name: value for name, value in record.items() if name in cls.__slots__ and name != "completeness"}
        return cls(**known, completeness=Completeness.of(record.get("completeness")))


_ID_KEYS = {
    "rollout_id": "bailian.agentic_rl.rollout_id",
    "sample_id": "bailian.agentic_rl.sample_id",
    "attempt_id": "bailian.agentic_rl.attempt_id",
}


def outermost(spans: Sequence[Span]) -> Span:
    """The first span whose parent is not among them."""
    ids = {span.span_id for span in spans}
    tops = [span for span in spans if span.parent_id not in ids]
    return min(tops or spans, key=lambda span: span.start_ns)


def _sum(spans: Sequence[Span], key: str) -> int:
    return sum(value for span in spans if isinstance(value := span.attributes.get(key), int))
