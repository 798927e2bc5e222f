"""One rollout's right to call the model, and the record of what it did with it."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.platform.engine.policy import Decision, ModelReply, ModelRequest, Place, Policy
from agentic_rl_tui.core.platform.engine.wrappers import spoken, text_of

Draft = tuple[list[dict[str, Any]], str]
_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(slots=True)
class ModelCall:
    """One call of the model. shared messages at the front are those of the call before; only the rest is kept.

    span: id of the span in which the agent made the call, where its client said so.
    """

    shared: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    answers: list[dict[str, Any]]
    strategies: list[str]
    prompt_tokens: int
    completion_tokens: int
    latency_s: float
    streamed: bool = False
    error: str | None = None
    span: str = ""

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "shared": self.shared,
            "messages": self.messages,
            "answers": self.answers,
            "strategies": self.strategies,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "latency_s": round(self.latency_s, 6),
        }
        if self.tools:
            record["tools"] = self.tools
        if self.streamed:
            record["streamed"] = True
        if self.error is not None:
            record["error"] = self.error
        if self.span:
            record["span"] = self.span
        return record


@dataclass(slots=True)
class Session:
    """Open while its rollout runs. key is the bearer key that stands for this rollout alone.

    drafts holds what a teacher judges: for each decision what was asked and what was answered.
    """

    policy: Policy
    place: Place
    key: str = field(default_factory=lambda: f"sk-rollout-{secrets.token_urlsafe(24)}", repr=False)
    calls: list[ModelCall] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    keeps_drafts: bool = False
    drafts: list[Draft] = field(default_factory=list)
    is_open: bool = True
    is_cut: bool = False
    _seen: Counter[str] = field(default_factory=Counter, repr=False)
    _last: list[dict[str, Any]] = field(default_factory=list, repr=False)
    _last_tools: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def call_path(self, messages: Sequence[Mapping[str, Any]]) -> tuple[object, ...]:
        """What tells this call apart from the others of the rollout, whatever their order.

        Digits are left out, so that a time of day in a prompt does not change what the policy draws.
        """
        digest = hashlib.blake2b(digest_size=8)
        for message in messages:
            digest.update(f"{message.get('role')}\0{text_of(dict(message)).translate(_DIGITS)}\1".encode())
        name = digest.hexdigest()
        turn = self._seen[name]
        self._seen[name] += 1
        return name, turn

    def note(
        self, request: ModelRequest, reply: ModelReply, latency_s: float, *, streamed: bool, span: str = ""
    ) -> None:
        shared, rest, tools = self._delta(request)
        answers = [message_of(completion) for completion in reply.completions]
        if self.keeps_drafts:
            self.drafts += [
                (request.messages, spoken(answer))
                for answer, completion in zip(answers, reply.completions, strict=True)
                if completion.decision is not None
            ]
        chosen = [completion.decision for completion in reply.completions if completion.decision is not None]
        self.decisions += chosen
        self.is_cut = self.is_cut or any(completion.finish_reason == "length" for completion in reply.completions)
        self.calls.append(
            ModelCall(
                shared,
                rest,
                tools,
                answers,
                [decision.name for decision in chosen],
                reply.prompt_tokens,
                reply.completion_tokens,
                latency_s,
                streamed,
                span=span,
            )
        )

    def note_fault(self, request: ModelRequest, message: str, latency_s: float, *, span: str = "") -> None:
        shared, rest, tools = self._delta(request)
        self.calls.append(ModelCall(shared, rest, tools, [], [], 0, 0, latency_s, error=message, span=span))

    def _delta(self, request: ModelRequest) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]] | None]:
        shared = 0
        for old, new in zip(self._last, request.messages, strict=False):
            if old != new:
                break
            shared += 1
        tools = request.tools if request.tools and request.tools != self._last_tools else None
        self._last, self._last_tools = request.messages, request.tools
        return shared, request.messages[shared:], tools

    @property
    def completion_tokens(self) -> int:
        return sum(call.completion_tokens for call in self.calls)

    @property
    def prompt_tokens(self) -> int:
        """Of the first call: what the data row and the agent's own instructions take."""
        return self.calls[0].prompt_tokens if self.calls else 0


def message_of(completion: Any) -> dict[str, Any]:
    """A completion as a chat message."""
    message: dict[str, Any] = {"role": "assistant", "content": completion.text}
    if completion.tool_calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in completion.tool_calls
        ]
    return message
