"""Finding a small calculation over the numbers of a prompt that gives the wanted answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from agentic_rl_tui.core.platform.engine.numerals import spell

OPERATIONS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_MAX_NUMBERS = 5


@dataclass(frozen=True, slots=True)
class Calculation:
    """text is an arithmetic expression; operation, left and right are set where it has just two operands."""

    text: str
    operation: str | None = None
    left: Fraction | None = None
    right: Fraction | None = None


def find(numbers: Sequence[Fraction], target: Fraction) -> Calculation:
    """A calculation with two or three of `numbers` that gives `target`, else the target itself."""
    pool = list(dict.fromkeys(numbers))[:_MAX_NUMBERS]
    for left, right in permutations(pool, 2):
        for name, sign in OPERATIONS.items():
            if _apply(name, left, right) == target:
                return Calculation(f"{_text(left)} {sign} {_text(right)}", name, left, right)
    for first, second, third in permutations(pool, 3):
        for inner, inner_sign in OPERATIONS.items():
            middle = _apply(inner, first, second)
            if middle is None:
                continue
            for outer, outer_sign in OPERATIONS.items():
                if _apply(outer, middle, third) == target:
                    text = f"({_text(first)} {inner_sign} {_text(second)}) {outer_sign} {_text(third)}"
                    return Calculation(text)
    return Calculation(_text(target).strip("()"))


def wrong(numbers: Sequence[Fraction], target: Fraction | None) -> Calculation:
    """A calculation over `numbers` that misses `target`."""
    pool = [*dict.fromkeys(numbers), Fraction(2), Fraction(3)][:_MAX_NUMBERS]
    for left, right in permutations(pool, 2):
        for name, sign in OPERATIONS.items():
            value = _apply(name, left, right)
            if value is not None and value != target:
                return Calculation(f"{_text(left)} {sign} {_text(right)}", name, left, right)
    return Calculation("1 + 1", "add", Fraction(1), Fraction(1))


def _apply(name: str, left: Fraction, right: Fraction) -> Fraction | None:
    if name == "add":
        return left + right
    if name == "subtract":
        return left - right
    if name == "multiply":
        return left * right
    return left / right if right else None


def _text(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator) if value >= 0 else f"({value.numerator})"
    exact = Fraction(spell(value, places=6))
    if exact == value:
        return spell(value, places=6) if value >= 0 else f"({spell(value, places=6)})"
    return f"({value.numerator}/{value.denominator})"
