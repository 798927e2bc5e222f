"""A trace as the reading side knows it: its spans, what was counted, and what that says of its completeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    """How much of what happened the spans tell. cautions: spans that are there and hang in the wrong place."""

    llm: Counted = field(default_factory=Counted)
    tools: Counted = field(default_factory=Counted)
    cautions: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self.llm.traced >= self.llm.total and self.tools.traced >= self.tools.total

    @property
    def text(self) -> str:
        """``LLM 4/4, tools 0/2: trace_tool() was never called``"""
        reasons = list(dict.fromkeys([*self.llm.reasons, *self.tools.reasons, *self.cautions]))
        counts = f"LLM {self.llm}, tools {self.tools}"
        return f"{counts}: {'; '.join(reasons)}" if reasons else counts

    def record(self) -> Record:
        return {
            "llm": [self.llm.traced, self.llm.total, list(self.llm.reasons)],
            "tools": [self.tools.traced, self.tools.total, list(self.tools.reasons)],
            "cautions": list(self.cautions),
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
        )
