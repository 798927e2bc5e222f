"""What a policy is asked and what it answers: the seam behind the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentic_rl_tui.core.platform.engine.row import Row


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A chat completion request after its check. temperature is None where the caller named none."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = field(default_factory=list)
    tool_choice: Any = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    n: int = 1
    response_format: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """arguments is a JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice of the practice policy, with all that is needed to learn from it.

    allowed holds the strategies that could be chosen, shift how hard the row is. Greedy choices teach nothing.
    """

    table: str
    features: tuple[tuple[int, float], ...]
    allowed: tuple[int, ...]
    shift: float
    chosen: int
    temperature: float
    name: str


@dataclass(frozen=True, slots=True)
class Completion:
    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    tokens: int = 0
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    completions: tuple[Completion, ...]
    prompt_tokens: int
    model: str

    @property
    def completion_tokens(self) -> int:
        return sum(completion.tokens for completion in self.completions)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a job a model call happens; what is random depends on nothing else.

    seed_path holds seed, phase, step, sample, rollout and attempt. temperature is used where a request names none.
    """

    row: Row
    seed_path: tuple[object, ...]
    temperature: float = 1.0
    max_length: int = 8192


class Policy(Protocol):
    name: str
    """The model name that the gateway serves it under."""

    async def answer(self, request: ModelRequest, place: Place, call: tuple[object, ...]) -> ModelReply:
        """Answer one call. call tells the calls of one rollout apart. Raises ModelFault."""
        ...

    async def close(self) -> None: ...


class ModelFault(Exception):
    """The model cannot answer: HTTP status, OpenAI error type and code, a sentence."""

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "invalid_request_error", code: str | None = None
    ):
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.code = code
