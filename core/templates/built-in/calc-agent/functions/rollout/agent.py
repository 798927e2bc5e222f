"""An agent that answers arithmetic word problems, with a calculator as its tool.

One rollout = one conversation: the model may call the calculator as often as the turn limit allows, then answers.
"""

import ast
import json
import operator
from fractions import Fraction

import openai

from dashscope.finetune.reinforcement import (
    AbstractRolloutProcessor,
    AgentOutput,
    RolloutInput,
    RolloutOutput,
    logger,
)
from dashscope.finetune.reinforcement.component.observability import observe_processor, observe_tool, trace_client

MAX_TURNS = 6

CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Evaluate an arithmetic expression exactly, e.g. (3 + 4) * 12 / 5.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate(expression: str) -> Fraction:
    """Work out + - * / and brackets exactly. Raises ValueError for anything else."""

    def value(node: ast.AST) -> Fraction:
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Fraction(str(node.value))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        raise ValueError("only numbers, + - * / and brackets are understood")

    if len(expression) > 200:
        raise ValueError("the expression is longer than 200 characters")
    return value(ast.parse(expression, mode="eval"))


@observe_tool
def calculator(expression: str) -> str:
    """The tool's answer as the model sees it; a mistake is told, not raised, so that the model can try again."""
    try:
        result = evaluate(expression)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError) as error:
        return f"error: {error}"
    return str(result.numerator) if result.denominator == 1 else str(result)


def run_tool(call) -> str:
    if call.function.name != "calculator":
        return f"error: there is no tool {call.function.name!r}"
    try:
        arguments = json.loads(call.function.arguments or "{}")
        expression = str(arguments["expression"])
    except (ValueError, KeyError, TypeError):
        return 'error: arguments must be {"expression": "..."}'
    return calculator(expression)


class CalcAgent(AbstractRolloutProcessor):
    def setup(self) -> None:
        self._client: openai.AsyncOpenAI | None = None

    def _client_for(self, resource) -> openai.AsyncOpenAI:
        """One connection pool for all rollouts; the key differs from rollout to rollout."""
        if self._client is None:
            self._client = openai.AsyncOpenAI(base_url=resource.base_url, api_key="set-per-rollout", max_retries=2)
        client = self._client.with_options(base_url=resource.base_url, api_key=resource.api_key.get_secret_value())
        trace_client(client)
        return client

    @observe_processor
    async def process(self, input: RolloutInput) -> RolloutOutput:
        sampling = input.sampling_params or {}
        client = self._client_for(input.model_resource)
        messages = list(input.messages)
        tool_calls = 0
        for _turn in range(int(sampling.get("max_turns", MAX_TURNS))):
            completion = await client.chat.completions.create(
                model=input.model_resource.model_name,
                messages=messages,
                tools=[CALCULATOR],
                temperature=sampling.get("temperature", 1.0),
                max_tokens=sampling.get("max_tokens", 1024),
            )
            answer = completion.choices[0].message
            messages.append(answer.model_dump(exclude_none=True, exclude={"annotations"}))
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                tool_calls += 1
                messages.append({"role": "tool", "tool_call_id": call.id, "content": run_tool(call)})
        else:
            logger.info("turn limit reached without an answer")
        turns = sum(message["role"] == "assistant" for message in messages)
        return RolloutOutput(
            agent_output=AgentOutput(
                messages=messages,
                rollout_extra=input.rollout_extra,
                rollout_metrics={"turns": float(turns), "tool_calls": float(tool_calls)},
            ),
        )
