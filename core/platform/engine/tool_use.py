"""Which of the offered tools to call, and with what."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from agentic_rl_tui.core.platform.engine.expressions import OPERATIONS, Calculation
from agentic_rl_tui.core.platform.engine.row import RowFacts
from agentic_rl_tui.core.platform.engine.schema_fill import Material, fill

_CALCULATOR_HINTS = ("calc", "math", "eval", "comput", "arith", "python", "sympy")


def functions_of(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The function descriptions among `tools` that have a name."""
    found = []
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            found.append(function)
    return found


def right_call(tools: Sequence[Mapping[str, Any]], facts: RowFacts) -> list[tuple[str, str]]:
    """Name and JSON arguments of the calls that should help with the row."""
    functions = functions_of(tools)
    if facts.tool_calls:
        names = {function["name"] for function in functions}
        wanted = [(name, orjson.dumps(arguments).decode()) for name, arguments in facts.tool_calls if name in names]
        if wanted:
            return wanted
    return [_call(_best(functions, facts.calculation), facts.calculation, facts)]


def wrong_call(tools: Sequence[Mapping[str, Any]], facts: RowFacts) -> list[tuple[str, str]]:
    """A call that fits the schema and does not help."""
    functions = functions_of(tools)
    return [_call(_best(functions, facts.miscalculation), facts.miscalculation, facts)]


def _best(functions: Sequence[Mapping[str, Any]], calculation: Calculation) -> Mapping[str, Any]:
    """A calculator where one is offered; a tool named for the operation first."""
    if calculation.operation is not None:
        for function in functions:
            name = function["name"].lower()
            if name.startswith(calculation.operation[:3]) and calculation.operation in OPERATIONS:
                return function
    for function in functions:
        text = f"{function['name']} {function.get('description', '')}".lower()
        if any(hint in text for hint in _CALCULATOR_HINTS):
            return function
    return functions[0]


def _call(function: Mapping[str, Any], calculation: Calculation, facts: RowFacts) -> tuple[str, str]:
    schema = function.get("parameters")
    material = Material(calculation, facts.question, tuple(value for _, value in facts.numbers))
    arguments = fill(schema, material) if isinstance(schema, Mapping) and schema else {}
    return function["name"], orjson.dumps(arguments if isinstance(arguments, dict) else {}).decode()
