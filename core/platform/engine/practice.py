"""The practice policy: a small softmax over ways to answer, behind the face of a chat model.

It is no language model. It knows the data row's solution and chooses how to use it; what it learns is which of its
strategies the user's rewards prefer.
"""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson

from agentic_rl_tui.core.platform.engine import strategies, tool_use
from agentic_rl_tui.core.platform.engine.learning import LearnSettings, Sample, Update, learn, measure
from agentic_rl_tui.core.platform.engine.policy import (
    Completion,
    Decision,
    ModelFault,
    ModelReply,
    ModelRequest,
    Place,
    ToolCall,
)
from agentic_rl_tui.core.platform.engine.row import RowFacts
from agentic_rl_tui.core.platform.engine.schema_fill import Material, fill
from agentic_rl_tui.core.platform.engine.seeds import rng
from agentic_rl_tui.core.platform.engine.softmax import Features, SoftmaxTable, is_greedy, pick, probabilities
from agentic_rl_tui.core.platform.engine.strategies import Scene, Strategy
from agentic_rl_tui.core.platform.engine.wrappers import text_of

PRACTICE = "practice"
_FIRST, _AFTER_TOOL = "first", "after_tool"
_FEATURES = ("always", "form_asked", "tools_offered", "numeric", "later_turn")
_FEATURE_VALUE = 0.5
_STRATEGIES: Mapping[str, tuple[Strategy, ...]] = {_FIRST: strategies.FIRST, _AFTER_TOOL: strategies.AFTER_TOOL}
_PIECES = re.compile(r"\s*(?:[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_)|\s+")
Tables = dict[str, SoftmaxTable]


def start_tables() -> Tables:
    return {
        name: SoftmaxTable(
            [item.name for item in items],
            _FEATURES,
            [item.start for item in items],
            [item.slope for item in items],
        )
        for name, items in _STRATEGIES.items()
    }


def teacher_tables() -> Tables:
    """The practice teacher: the start with a strong habit of right answers in the wanted form."""
    tables = start_tables()
    for table in tables.values():
        for place, choice in enumerate(table.choices):
            table.weights[0][place] += strategies.TEACHER_BONUS.get(choice, 0.0)
    return tables


class PracticePolicy:
    """Answers like a chat model and learns from advantages. Not thread-safe: learn between steps."""

    name = PRACTICE

    def __init__(self, *, with_teacher: bool = False) -> None:
        self._tables = start_tables()
        self._start = {name: table.copy() for name, table in self._tables.items()}
        self._teacher = teacher_tables() if with_teacher else None

    async def answer(self, request: ModelRequest, place: Place, call: tuple[object, ...]) -> ModelReply:
        prompt_tokens = estimate_tokens(request.messages, request.tools)
        room = place.max_length - prompt_tokens
        if room <= 0:
            raise ModelFault(
                f"This model's maximum context length is {place.max_length} tokens, "
                f"and the messages are about {prompt_tokens} tokens.",
                code="context_length_exceeded",
            )
        limit = min(room, request.max_tokens) if request.max_tokens is not None else room
        completions = tuple(self._complete(request, place, call, number, limit) for number in range(request.n))
        return ModelReply(completions, prompt_tokens, self.name)

    async def close(self) -> None:
        return None

    def learn(self, samples: Sequence[Sample], settings: LearnSettings, *, seed: Sequence[object]) -> Update:
        return learn(self._tables, self._start, samples, settings, rng("learn", *seed), self._teacher)

    def distance_to_teacher(self, decisions: Sequence[Decision]) -> float | None:
        """KL(policy || teacher) over the situations of `decisions`; None without a teacher."""
        return None if self._teacher is None else measure(self._tables, self._teacher, decisions)

    def chances(self, table: str = _FIRST, *, tools: bool = False) -> dict[str, float]:
        """Probability of each strategy for a numeric question that asks for a form."""
        items = _STRATEGIES[table]
        allowed = [place for place, item in enumerate(items) if tools or item.tool is None]
        features = ((0, 1.0), (1, _FEATURE_VALUE), *(((2, _FEATURE_VALUE),) if tools else ()), (3, _FEATURE_VALUE))
        found = probabilities(self._tables[table].logits(features, allowed))
        return {items[place].name: chance for place, chance in zip(allowed, found, strict=True)}

    def dump(self) -> dict[str, Any]:
        return {"policy": PRACTICE, "tables": {name: table.dump() for name, table in self._tables.items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a dump; the loaded weights become the start that the KL term holds on to."""
        for name, table in self._tables.items():
            table.load(state.get("tables", {}).get(name, {}))
        self._start = {name: table.copy() for name, table in self._tables.items()}

    def _complete(
        self, request: ModelRequest, place: Place, call: tuple[object, ...], number: int, limit: int
    ) -> Completion:
        temperature = place.temperature if request.temperature is None else request.temperature
        # Greedy answers are the same in every rollout, as a model's are.
        path = ("greedy", place.row.index) if is_greedy(temperature) else place.seed_path
        draw = rng(*path, *call, number)
        facts = place.row.facts
        tools = _offered(request)
        decision = self._decide(request, place, tools, temperature, draw.random())
        strategy = _STRATEGIES[decision.table][decision.chosen]
        scene = Scene(facts, draw, _last_result(request.messages))
        if strategy.tool is not None:
            return _calls(strategy, request, tools, facts, draw, decision)
        text = strategy.text(scene)
        if request.response_format is not None:
            text = _in_format(request.response_format, text, facts)
        return _finished(text, request.stop, limit, decision)

    def _decide(
        self, request: ModelRequest, place: Place, tools: list[dict[str, Any]], temperature: float, draw: float
    ) -> Decision:
        after_tool = bool(request.messages) and request.messages[-1].get("role") in ("tool", "function")
        table = _AFTER_TOOL if after_tool else _FIRST
        items = _STRATEGIES[table]
        forced = bool(tools) and (request.tool_choice == "required" or isinstance(request.tool_choice, Mapping))
        allowed = _allowed(table, bool(tools), forced)
        features = _features(request, place.row.facts, bool(tools))
        shift = place.row.facts.difficulty
        logits = self._tables[table].logits(features, allowed, shift)
        chosen = allowed[pick(probabilities(logits, temperature), draw)]
        return Decision(table, features, allowed, shift, chosen, temperature, items[chosen].name)


def _offered(request: ModelRequest) -> list[dict[str, Any]]:
    """The tools that may be called now."""
    if request.tool_choice == "none":
        return []
    if isinstance(request.tool_choice, Mapping):
        wanted = request.tool_choice.get("function", {}).get("name")
        return [tool for tool in request.tools if tool.get("function", {}).get("name") == wanted]
    return request.tools


def _features(request: ModelRequest, facts: RowFacts, has_tools: bool) -> Features:
    later = sum(1 for message in request.messages if message.get("role") == "assistant") > 1
    return _active(facts.wrapper.asked, has_tools, facts.is_numeric, later)


# A step holds thousands of decisions; sharing these tuples keeps the garbage collector's pauses short.
@cache
def _active(*flags: bool) -> Features:
    return ((0, 1.0), *((index, _FEATURE_VALUE) for index, is_on in enumerate(flags, 1) if is_on))


@cache
def _allowed(table: str, has_tools: bool, forced: bool) -> tuple[int, ...]:
    """The strategies that may be chosen: those with a tool where one is offered, the others unless one is forced."""
    return tuple(
        index for index, item in enumerate(_STRATEGIES[table]) if (has_tools if item.tool is not None else not forced)
    )


def _last_result(messages: Sequence[Mapping[str, Any]]) -> str | None:
    for message in reversed(messages):
        if message.get("role") in ("tool", "function"):
            return text_of(dict(message))
    return None


def _calls(
    strategy: Strategy,
    request: ModelRequest,
    tools: list[dict[str, Any]],
    facts: RowFacts,
    draw: random.Random,
    decision: Decision,
) -> Completion:
    chosen = tool_use.right_call(tools, facts) if strategy.tool == "right" else tool_use.wrong_call(tools, facts)
    if request.raw.get("parallel_tool_calls") is False:
        chosen = chosen[:1]
    calls = tuple(ToolCall(f"call_{draw.getrandbits(64):016x}", name, arguments) for name, arguments in chosen)
    tokens = sum(len(_PIECES.findall(call.arguments)) + 8 for call in calls)
    return Completion(None, calls, "tool_calls", tokens, decision)


def _finished(text: str, stop: Sequence[str], limit: int, decision: Decision) -> Completion:
    """Cut a text at the first stop word and at the limit of tokens."""
    cuts = [at for word in stop if word and (at := text.find(word)) >= 0]
    if cuts:
        text = text[: min(cuts)]
    pieces = _PIECES.findall(text)
    if len(pieces) > limit:
        return Completion("".join(pieces[:limit]), (), "length", limit, decision)
    return Completion(text, (), "stop", max(1, len(pieces)), decision)


def _in_format(response_format: Mapping[str, Any], text: str, facts: RowFacts) -> str:
    kind = response_format.get("type")
    if kind not in ("json_object", "json_schema"):
        return text
    answer = text.rsplit("\n", 1)[-1]
    schema = response_format.get("json_schema", {})
    schema = schema.get("schema") if isinstance(schema, Mapping) else None
    if kind == "json_schema" and isinstance(schema, Mapping):
        numbers = tuple(value for _, value in facts.numbers)
        return orjson.dumps(fill(schema, Material(facts.calculation, facts.question, numbers, answer))).decode()
    return orjson.dumps({"answer": answer}).decode()


def pieces_of(text: str) -> list[str]:
    """A text in the pieces that count as its tokens; together they are the text."""
    return _PIECES.findall(text)


def estimate_tokens(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Prompt tokens, estimated at four bytes each and four a message."""
    total = 4 * len(messages)
    for message in messages:
        content = message.get("content")
        size = len(content.encode()) if isinstance(content, str) else len(orjson.dumps(content)) if content else 0
        if message.get("tool_calls"):
            size += len(orjson.dumps(message["tool_calls"]))
        total += (size + 3) // 4
    return total + (len(orjson.dumps(list(tools))) // 4 if tools else 0)
