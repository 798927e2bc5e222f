"""The ways in which the practice policy may answer. Each has a name, a weight at the start and a text.

The start is a middling student: right now and then, often in the wrong form, with a few bad habits that a careless
reward would make worse. In the head it errs on every fourth row, with a calculator's result it does not: so a good
reward teaches it to use tools, and one that only looks for the answer somewhere teaches it to list everything.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from agentic_rl_tui.core.platform.engine import numerals
from agentic_rl_tui.core.platform.engine.row import RowFacts
from agentic_rl_tui.core.platform.engine.wrappers import OTHER_WRAPPERS, PLAIN, Wrapper

_SLIP, _SLIP_BY_DIFFICULTY = 0.3, 0.25


@dataclass(frozen=True, slots=True)
class Scene:
    """What a strategy may use. result is the text of the last tool message, None before there is one."""

    facts: RowFacts
    random: random.Random
    result: str | None = None

    @property
    def wrapper(self) -> Wrapper:
        return self.facts.wrapper

    def worked_out(self) -> str:
        """The right answer, or on a slip a near miss: who does it in the head errs, the more the harder the row."""
        is_slip = self.random.random() < _SLIP + _SLIP_BY_DIFFICULTY * self.facts.difficulty
        return self.random.choice(self.facts.near) if is_slip else self.facts.answer

    def restyled(self) -> str:
        """The answer worked out, spelled otherwise than the row does."""
        answer = self.worked_out()
        return self.random.choice(self.facts.restyled) if answer == self.facts.answer else answer


@dataclass(frozen=True, slots=True)
class Strategy:
    """slope says how much harder rows (difficulty in -1 .. 1) make the choice more likely, in logits."""

    name: str
    start: float
    text: Callable[[Scene], str]
    slope: float = 0.0
    tool: str | None = None


_OPENINGS = (
    "Let me work through this step by step.",
    "I will take the quantities one at a time.",
    "First I write down what is given.",
    "Start from what the question states.",
)
_BRIDGES = (
    "Putting these together gives the result.",
    "Combining the values leads to the answer.",
    "Working through the relation gives the value.",
)


def _working(scene: Scene, *, lines: int = 1) -> str:
    numbers = [spelling for spelling, _ in scene.facts.numbers[:4]]
    given = f" Given: {', '.join(numbers)}." if numbers else ""
    parts = [f"{scene.random.choice(_OPENINGS)}{given}"]
    for line in range(1, lines):
        value = numbers[line % len(numbers)] if numbers else "the statement"
        parts.append(f"Step {line}: I consider {value} again and check that nothing was overlooked so far.")
    parts.append(scene.random.choice(_BRIDGES))
    return "\n".join(parts)


def _other(scene: Scene, answer: str) -> str:
    left, right = scene.random.choice([pair for pair in OTHER_WRAPPERS if pair[0] != scene.wrapper.left])
    return f"{left}{answer}{right}"


def _found(scene: Scene) -> str:
    """The answer that a tool result tells: as the row spells it where they are equal, else as the tool does."""
    facts = scene.facts
    result = (scene.result or "").strip()
    values = numerals.find_all(result, limit=3)
    if not values:
        return facts.answer if facts.gold and facts.gold in result else (result[:80] or facts.guess)
    spelling, value = values[-1]
    if facts.value is not None and _equal(value, facts.value):
        return facts.answer
    if facts.value is None and facts.gold is not None:
        # A number cannot tell the letter of a choice, but who calculated may well know it.
        return facts.answer
    return spelling


def _equal(left: Fraction, right: Fraction) -> bool:
    return abs(left - right) <= abs(right) * Fraction(1, 10_000)


def _listing(scene: Scene) -> str:
    return "It could be any of these: " + ", ".join(scene.facts.candidates) + "."


def _listing_in_form(scene: Scene) -> str:
    wrapper = scene.wrapper
    return "\n".join(wrapper(answer) for answer in scene.facts.candidates[:12])


def _near(scene: Scene) -> str:
    return scene.random.choice(scene.facts.near)


def _wrong(scene: Scene) -> str:
    return scene.random.choice(scene.facts.wrong)


def _silent(_scene: Scene) -> str:
    return ""


def _refusal(_scene: Scene) -> str:
    return "I am sorry, but I cannot answer this question."


FIRST: tuple[Strategy, ...] = (
    Strategy("right_in_form", 0.09, lambda s: f"{_working(s)}\n{s.wrapper(s.worked_out())}", -0.5),
    Strategy("right_in_form_short", 0.04, lambda s: s.wrapper(s.worked_out()), -0.5),
    Strategy("right_in_form_rambling", 0.04, lambda s: f"{_working(s, lines=14)}\n{s.wrapper(s.worked_out())}", -0.5),
    Strategy("right_restyled", 0.06, lambda s: f"{_working(s)}\n{s.wrapper(s.restyled())}", -0.5),
    Strategy("right_other_form", 0.11, lambda s: f"{_working(s)}\n{_other(s, s.worked_out())}", -0.5),
    Strategy("right_bare", 0.06, lambda s: s.worked_out(), -0.5),
    Strategy("near_miss", 0.16, lambda s: f"{_working(s)}\n{s.wrapper(_near(s))}", 0.5),
    Strategy("wrong", 0.13, lambda s: f"{_working(s)}\n{s.wrapper(_wrong(s))}", 0.5),
    Strategy("wrong_other_form", 0.08, lambda s: f"{_working(s)}\n{_other(s, _wrong(s))}", 0.5),
    Strategy("form_without_answer", 0.04, lambda s: s.wrapper("") if s.wrapper is not PLAIN else "The answer is"),
    Strategy("list_candidates", 0.05, _listing),
    Strategy("list_candidates_in_form", 0.03, _listing_in_form),
    Strategy("prompt_echo", 0.04, lambda s: s.facts.question),
    Strategy("empty", 0.03, _silent),
    Strategy("refusal", 0.04, _refusal),
    Strategy("tool_right", 0.32, _silent, -0.3, tool="right"),
    Strategy("tool_wrong", 0.10, _silent, 0.3, tool="wrong"),
)
"""What may follow a user's message."""

AFTER_TOOL: tuple[Strategy, ...] = (
    Strategy("result_in_form", 0.24, lambda s: s.wrapper(_found(s))),
    Strategy("result_in_form_with_working", 0.14, lambda s: f"{_working(s)}\n{s.wrapper(_found(s))}"),
    Strategy("result_other_form", 0.18, lambda s: _other(s, _found(s))),
    Strategy("result_bare", 0.12, lambda s: _found(s)),
    Strategy("ignore_result", 0.12, lambda s: f"{_working(s)}\n{s.wrapper(_near(s))}", 0.3),
    Strategy("list_candidates", 0.05, _listing),
    Strategy("form_without_answer", 0.04, lambda s: s.wrapper("") if s.wrapper is not PLAIN else "The answer is"),
    Strategy("empty", 0.04, _silent),
    Strategy("rambling", 0.05, lambda s: f"{_working(s, lines=14)}\n{_other(s, _found(s))}"),
    Strategy("tool_again", 0.08, _silent, tool="right"),
)
"""What may follow a tool's result."""

TEACHER_BONUS = {
    "right_in_form": 3.0,
    "right_in_form_short": 1.5,
    "tool_right": 2.5,
    "result_in_form": 2.5,
    "result_in_form_with_working": 1.5,
}
"""How far, in logits, the practice teacher of a distillation job is ahead of the start."""
