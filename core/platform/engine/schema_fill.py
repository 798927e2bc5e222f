"""Values that fit a JSON schema, filled from what a row knows: arguments of tool calls, answers in JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from agentic_rl_tui.core.platform.engine.expressions import OPERATIONS, Calculation
from agentic_rl_tui.core.platform.engine.numerals import parse, spell

_EXPRESSION_HINTS = ("expr", "formula", "equation", "calc", "math", "code", "comput")
_TEXT_HINTS = ("question", "query", "prompt", "text", "input", "task", "search", "keyword", "message")
_OPERATION_WORDS = {
    "add": ("add", "plus", "sum", "+", "addition"),
    "subtract": ("sub", "minus", "-", "difference"),
    "multiply": ("mul", "times", "*", "x", "×", "product"),
    "divide": ("div", "/", "÷", "quotient"),
}
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Material:
    """What values are made of. answer goes where a schema asks for an answer or result."""

    calculation: Calculation
    question: str
    numbers: tuple[Fraction, ...] = ()
    answer: str | None = None


class Filler:
    """Fills one schema. The numbers of the material are handed out in the order in which fields ask for them."""

    def __init__(self, schema: Mapping[str, Any], material: Material) -> None:
        self._root = schema
        self._material = material
        operands = [
            value for value in (material.calculation.left, material.calculation.right) if value is not None
        ] or list(material.numbers)
        self._operands = iter(operands)

    def fill(self) -> Any:
        return self._value("", self._root, 0)

    def _value(self, name: str, schema: Any, depth: int) -> Any:
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if (options := schema.get("enum")) and isinstance(options, list):
            return self._option(options)
        for key in ("anyOf", "oneOf", "allOf"):
            if (variants := schema.get(key)) and isinstance(variants, list):
                real = [item for item in variants if isinstance(item, Mapping) and item.get("type") != "null"]
                return self._value(name, real[0] if real else {}, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((item for item in kind if item != "null"), "null")
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array":
            return self._array(name, schema, depth)
        if kind in ("integer", "number"):
            return self._number(name, schema, kind == "integer")
        if kind == "boolean":
            return bool(schema.get("default", True))
        if kind == "null":
            return None
        return self._text(name, schema)

    def _resolve(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping):
                return {}
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                return schema
            target: Any = self._root
            for part in reference[2:].split("/"):
                target = target.get(part) if isinstance(target, Mapping) else None
            schema = target
        return {}

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or depth > _MAX_DEPTH:
            return {}
        required = schema.get("required")
        needed = set(required) if isinstance(required, list) else set()
        chosen = [name for name in properties if name in needed]
        if not chosen:
            chosen = [name for name in properties if "default" not in self._resolve(properties[name])][:2]
        return {name: self._value(name, properties[name], depth + 1) for name in chosen}

    def _array(self, name: str, schema: Mapping[str, Any], depth: int) -> list[Any]:
        if depth > _MAX_DEPTH:
            return []
        least, most = schema.get("minItems"), schema.get("maxItems")
        count = max(least if isinstance(least, int) else 1, 2 if name in ("numbers", "values", "operands") else 1)
        count = min(count, most) if isinstance(most, int) else count
        items = schema.get("items", {})
        return [self._value(name, items, depth + 1) for _ in range(min(count, 16))]

    def _option(self, options: list[Any]) -> Any:
        operation = self._material.calculation.operation
        for option in options if operation in OPERATIONS else ():
            text = str(option).lower()
            words = _OPERATION_WORDS[operation or ""]
            if any(text == word or (len(word) > 1 and text.startswith(word)) for word in words):
                return option
        return options[0]

    def _number(self, name: str, schema: Mapping[str, Any], whole: bool) -> int | float:
        default = schema.get("default")
        if isinstance(default, int | float) and not isinstance(default, bool):
            return default
        value = self._answer_number(name)
        if value is None:
            value = next(self._operands, Fraction(1))
        number = float(value)
        low, high = schema.get("minimum"), schema.get("maximum")
        if isinstance(low, int | float):
            number = max(number, low)
        if isinstance(high, int | float):
            number = min(number, high)
        if whole:
            least = math.ceil(low) if isinstance(low, int | float) else None
            return max(least, math.floor(number)) if least is not None else math.floor(number)
        return int(number) if number == int(number) and abs(number) < 1e15 else number

    def _answer_number(self, name: str) -> Fraction | None:
        answer = self._material.answer
        if answer is None or not _names_answer(name):
            return None
        return parse(answer)

    def _text(self, name: str, schema: Mapping[str, Any]) -> str:
        default = schema.get("default")
        lower = f"{name} {schema.get('description', '')}".lower()
        if isinstance(default, str):
            text = default
        elif self._material.answer is not None and (_names_answer(name) or not name):
            text = self._material.answer
        elif any(hint in lower for hint in _EXPRESSION_HINTS):
            text = self._material.calculation.text
        elif any(hint in lower for hint in _TEXT_HINTS):
            text = self._material.question.strip()[:400]
        else:
            operand = next(self._operands, None)
            text = spell(operand) if operand is not None else self._material.calculation.text
        longest = schema.get("maxLength")
        return text[:longest] if isinstance(longest, int) and longest >= 0 else text


def _names_answer(name: str) -> bool:
    return any(word in name.lower() for word in ("answer", "result", "solution", "final"))


def fill(schema: Mapping[str, Any], material: Material) -> Any:
    """A value for `schema`: required fields only, or the first two where none is required."""
    return Filler(schema, material).fill()
