"""A data row as the practice policy sees it: the question, the right answer, the wanted form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import orjson

from agentic_rl_tui.core.platform.engine import expressions, numerals
from agentic_rl_tui.core.platform.engine.seeds import rng
from agentic_rl_tui.core.platform.engine.wrappers import Wrapper, text_of, wanted

_ANSWER_KEYS = ("solution", "answer", "ground_truth", "label", "target", "expected")
_CHOICE = re.compile(r"\(?([A-Ha-h])\)?\.?")
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True)
class Row:
    """One line of a data set. index counts rows from 0 over all files of a job."""

    index: int
    messages: list[dict[str, Any]]
    rollout_extra: dict[str, Any] | None = None
    ground_truth: Any = None
    tools: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, index: int, raw: Mapping[str, Any]) -> "Row":
        extra = raw.get("rollout_extra")
        tools = raw.get("tools")
        return cls(
            index,
            list(raw["messages"]),
            dict(extra) if isinstance(extra, Mapping) else None,
            raw.get("ground_truth"),
            list(tools) if isinstance(tools, list) and tools else None,
        )

    @property
    def truth(self) -> Any:
        """What rewards receive as ground_truth: the row's own, else the solution in its rollout_extra."""
        if self.ground_truth is not None:
            return self.ground_truth
        return (self.rollout_extra or {}).get("solution")

    @cached_property
    def facts(self) -> "RowFacts":
        return RowFacts(self)


class RowFacts:
    """What can be said of a row without looking at any conversation."""

    def __init__(self, row: Row) -> None:
        self.prompt = "\n".join(text_of(message) for message in row.messages if message.get("role") != "assistant")
        self.question = next(
            (text_of(message) for message in reversed(row.messages) if message.get("role") == "user"), self.prompt
        )
        self.wrapper: Wrapper = wanted(self.prompt)
        self.gold = _gold(row)
        self.value: Fraction | None = numerals.parse(self.gold) if self.gold is not None else None
        self.numbers = numerals.find_all(_without_form(self.question))
        choice = _CHOICE.fullmatch(self.gold.strip()) if self.gold is not None and self.value is None else None
        self.choice: str | None = choice[1].upper() if choice else None
        self.tool_calls = _wanted_tool_calls(self.gold)
        self.difficulty: float = rng("difficulty", self.prompt).uniform(-1.0, 1.0)

    @property
    def is_numeric(self) -> bool:
        return self.value is not None

    @cached_property
    def restyled(self) -> list[str]:
        """The right answer, spelled otherwise; never empty."""
        if self.gold is None:
            return [self.guess]
        if self.value is not None:
            return numerals.restyled(self.gold.strip(), self.value) or [f"{self.gold} "]
        if self.choice is not None:
            ways = [f"({self.choice})", f"{self.choice}.", self.choice.lower(), f"Option {self.choice}", self.choice]
        else:
            ways = [f"{self.gold}.", self.gold.lower(), self.gold.upper(), f'"{self.gold}"']
        return [way for way in dict.fromkeys(ways) if way != self.gold] or [self.gold]

    @cached_property
    def near(self) -> list[str]:
        """Nearly right, but wrong; never empty."""
        if self.value is not None:
            return numerals.near(self.value)
        if self.choice is not None:
            code = ord(self.choice)
            return [chr(code + 1), chr(code - 1) if code > ord("A") else chr(code + 2)]
        if self.gold:
            return [self.gold[:-1] or "?", f"not {self.gold}"]
        return [self.guess]

    @cached_property
    def wrong(self) -> list[str]:
        """Plain wrong answers; never empty."""
        if self.choice is not None:
            return [letter for letter in "ABCD" if letter != self.choice]
        found = [spelling for spelling, value in self.numbers if value != self.value]
        if self.value is not None:
            found += [numerals.spell(self.value * 2 + 3), numerals.spell(self.value + 100)]
        elif not found:
            found = [word for word in _WORD.findall(self.question)[:4] if word != self.gold] or ["unknown"]
        return found

    @cached_property
    def guess(self) -> str:
        """What to say where the row tells no answer."""
        if self.numbers:
            return self.numbers[-1][0]
        words = _WORD.findall(self.question)
        return words[-1] if words else "yes"

    @property
    def answer(self) -> str:
        """The right answer as the row spells it, or a guess."""
        return self.gold if self.gold is not None else self.guess

    @cached_property
    def candidates(self) -> list[str]:
        """Many possible answers with the right one among them: what a policy lists that learned to hedge."""
        if self.choice is not None:
            return list("ABCDEFGH"[: max(5, ord(self.choice) - ord("A") + 1)])
        found = [spelling for spelling, _ in self.numbers]
        if self.value is not None:
            found += [*self.near[:3], *self.restyled[:2], self.answer, *(str(number) for number in range(11))]
        else:
            found += [*self.wrong, self.answer]
        return list(dict.fromkeys(found))

    @cached_property
    def calculation(self) -> expressions.Calculation:
        """What to ask a calculator for the right answer."""
        if self.value is None:
            return self.miscalculation
        return expressions.find([value for _, value in self.numbers], self.value)

    @cached_property
    def miscalculation(self) -> expressions.Calculation:
        return expressions.wrong([value for _, value in self.numbers], self.value)


def _gold(row: Row) -> str | None:
    extra = row.rollout_extra or {}
    found = row.ground_truth
    if found is None:
        found = next((extra[key] for key in _ANSWER_KEYS if extra.get(key) is not None), None)
    if found is None:
        return None
    if isinstance(found, str):
        return found
    return orjson.dumps(found).decode() if isinstance(found, dict | list) else str(found)


def _wanted_tool_calls(gold: str | None) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The tool calls that a row names as its solution: ``{"decision": "tool_call", "tool_calls": [...]}``."""
    if gold is None or "tool_calls" not in gold:
        return ()
    try:
        document = orjson.loads(gold)
    except orjson.JSONDecodeError:
        return ()
    calls = document.get("tool_calls") if isinstance(document, dict) else None
    wanted_calls: list[tuple[str, dict[str, Any]]] = []
    for call in calls if isinstance(calls, Sequence) and not isinstance(calls, str) else ():
        if not isinstance(call, dict):
            continue
        inner = call.get("function", call)
        name, arguments = inner.get("name"), inner.get("arguments", {})
        if isinstance(arguments, str):
            try:
                arguments = orjson.loads(arguments)
            except orjson.JSONDecodeError:
                arguments = {}
        if isinstance(name, str) and isinstance(arguments, dict):
            wanted_calls.append((name, arguments))
    return tuple(wanted_calls)


def _without_form(question: str) -> str:
    """A question without its sentence on the form of the answer, so that no number is read out of that."""
    return re.sub(r"#{2,5}[^#\n]{0,80}#{2,5}|`#{2,5}`", " ", question)
