"""Tool calls of the practice policy fit the user's schemas, whatever they are."""

from fractions import Fraction
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.platform.engine import tool_use
from agentic_rl_tui.core.platform.engine.expressions import Calculation
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.schema_fill import Material, fill

FACTS = Row.of(
    0,
    {
        "messages": [{"role": "user", "content": "A box holds 12 pens. How many pens are in 7 boxes?"}],
        "rollout_extra": {"solution": "84"},
    },
).facts
MATERIAL = Material(
    Calculation("12 * 7", "multiply", Fraction(12), Fraction(7)), "How many pens?", (Fraction(12), Fraction(7))
)


def tool(name: str, properties: dict[str, Any], *, required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": properties, **more}
    if required is not None:
        parameters["required"] = required
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def call(*tools: dict[str, Any]) -> tuple[str, Any]:
    ((name, arguments),) = tool_use.right_call(tools, FACTS)
    return name, orjson.loads(arguments)


@pytest.mark.parametrize("field", ["expression", "expr", "formula", "code"])
def test_a_calculator_gets_an_expression(field: str) -> None:
    assert call(tool("calculator", {field: {"type": "string"}}, required=[field])) == ("calculator", {field: "12 * 7"})


def test_a_tool_with_operands_gets_numbers_and_operation() -> None:
    schema = {
        "operation": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
        "a": {"type": "number"},
        "b": {"type": "number"},
    }
    assert call(tool("math", schema, required=["operation", "a", "b"])) == (
        "math",
        {"operation": "multiply", "a": 12, "b": 7},
    )


def test_the_tool_named_for_the_operation_is_taken() -> None:
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    tools = [tool(name, fields, required=["a", "b"]) for name in ("add", "subtract", "multiply", "divide")]
    assert call(*tools) == ("multiply", {"a": 12, "b": 7})


def test_a_calculator_is_preferred_to_a_search() -> None:
    search = tool("web_search", {"query": {"type": "string"}}, required=["query"])
    calculator = tool("evaluate", {"expression": {"type": "string"}}, required=["expression"])
    assert call(search, calculator)[0] == "evaluate"
    assert call(search) == ("web_search", {"query": FACTS.question})


def test_a_tool_without_parameters_gets_an_empty_object() -> None:
    bare = {"type": "function", "function": {"name": "now"}}
    assert call(bare) == ("now", {})
    assert call(tool("now", {})) == ("now", {})


def test_wrong_calls_fit_the_schema_too() -> None:
    calculator = tool("calculator", {"expression": {"type": "string"}}, required=["expression"])
    ((name, arguments),) = tool_use.wrong_call([calculator], FACTS)
    assert name == "calculator"
    assert eval(orjson.loads(arguments)["expression"]) != 84


def test_rows_that_name_their_calls_get_them() -> None:
    solution = '{"decision": "tool_call", "tool_calls": [{"name": "refund", "arguments": {"order": 7}}]}'
    facts = Row.of(
        0, {"messages": [{"role": "user", "content": "Refund it"}], "rollout_extra": {"solution": solution}}
    ).facts
    offered = [tool("refund", {"order": {"type": "integer"}}), tool("search", {"query": {"type": "string"}})]
    assert tool_use.right_call(offered, facts) == [("refund", '{"order":7}')]
    assert tool_use.right_call(offered[1:], facts)[0][0] == "search"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 3}, 3),
        ({"enum": ["x", "y"]}, "x"),
        ({"enum": ["+", "*"]}, "*"),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"type": ["null", "integer"]}, 12),
        ({"type": "integer", "minimum": 20}, 20),
        ({"type": "number", "maximum": 2.5}, 2.5),
        ({"type": "boolean", "default": False}, False),
        ({"type": "null"}, None),
        ({"type": "string", "default": "en"}, "en"),
        ({"type": "array", "items": {"type": "number"}, "minItems": 2}, [12, 7]),
        ({"type": "array", "items": {"type": "number"}, "maxItems": 0}, []),
        ({"type": "object"}, {}),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 12),
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"default": 1}}}, {"a": 12}),
        ({"type": "string", "maxLength": 2, "description": "an expression"}, "12"),
        ({"$ref": "#/nowhere"}, "12"),
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any], value: Any) -> None:
    assert fill(schema, MATERIAL) == value


def test_a_schema_that_holds_itself_ends() -> None:
    node: dict[str, Any] = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/node"}}}
    assert fill({"$ref": "#/$defs/node", "$defs": {"node": node}}, MATERIAL)
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert isinstance(fill(loop, MATERIAL), str)


_LEAVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", None, 5])}
) | st.just({})


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        _LEAVES,
        lambda inner: st.fixed_dictionaries(
            {
                "type": st.sampled_from(["object", "array", ["object", "null"]]),
                "properties": st.dictionaries(st.text(max_size=8), inner, max_size=3),
                "items": inner,
                "required": st.lists(st.text(max_size=8), max_size=2),
            }
        ),
        max_leaves=8,
    )
)
def test_any_schema_gives_something_that_is_json(schema: dict[str, Any]) -> None:
    assert orjson.dumps(fill(schema, MATERIAL)) is not None


def test_an_answer_in_json_goes_where_it_belongs() -> None:
    schema = {
        "type": "object",
        "required": ["reasoning", "answer"],
        "properties": {"reasoning": {"type": "string"}, "answer": {"type": "number"}},
    }
    value = fill(schema, Material(MATERIAL.calculation, "q", (), answer="84"))
    assert value["answer"] == 84
