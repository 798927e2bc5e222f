"""The same instrumented file under the vendor's package and under ours: the span trees must be equal."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.tracing.collect import judge, spans_of
from agentic_rl_tui.core.tracing.model import Span

pytestmark = pytest.mark.conformance

CHECKOUT = Path(__file__).parents[2]
ROW = Row.of(0, {"messages": [{"role": "user", "content": "What is 12 * 7?"}], "rollout_extra": {"solution": "84"}})
OURS = {"agentic_rl.unfinished", "operation.name", "gen_ai.operation.name"}
"""Keys that may differ: our own, and the one that the vendor spells in two ways."""

CODE = """
import asyncio, openai
from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import (
    observe_llm, observe_processor, observe_tool, trace_client, trace_tool
)

class Tool:
    name = "search"
    def invoke(self, given, config=None): return "found"
    async def ainvoke(self, given, config=None): return self.invoke(given)

@observe_tool
def calc(expression):
    if expression == "bad":
        raise ValueError("no expression")
    return "84"

@observe_llm(provider="mine")
async def ask(*, model, messages): return "42"

class R(AbstractRolloutProcessor):
    @observe_processor
    async def process(self, input):
        resource = input.model_resource
        client = openai.AsyncOpenAI(base_url=resource.base_url, api_key=resource.api_key.get_secret_value())
        trace_client(client)
        tool = Tool()
        trace_tool([tool])
        await client.chat.completions.create(model="practice", messages=input.messages)
        calc("12 * 7")
        await tool.ainvoke({"query": "x"})
        await ask(model="own", messages=input.messages)
        try:
            calc("bad")
        except ValueError:
            pass
        return RolloutOutput(agent_output=AgentOutput(messages=input.messages, reward_score=0.5))
"""
ENV = {
    "ENABLE_TRAJECTORY": "true",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}


def interpreter() -> Path:
    """One that holds the vendor's package with all that its tracing needs."""
    named = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE_TRACING")
    path = Path(named) if named else CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2-tracing" / "bin" / "python"
    if not path.exists():
        pytest.skip("no interpreter with dashscope and its tracing packages")
    return path


async def spans_under(python: Path | None, package: Path) -> tuple[str, tuple[Span, ...], str]:
    gateway = Gateway()
    listener = socket.create_server(("127.0.0.1", 0))
    gateway.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(gateway.app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    session = gateway.open(PracticePolicy(), Place(ROW, (1, 1)))
    payload: dict[str, Any] = {
        "func_type": "rollout",
        "messages": [{"role": "user", "content": "What is 12 * 7?"}],
        "model_resource": {"model_name": "practice", "base_url": gateway.model_url, "api_key": session.key},
        "request_metadata": {"job_id": "j", "sample_id": "s", "rollout_id": "r", "attempt_id": "1"},
    }
    spec = WorkerSpec(package, FunctionKind.ROLLOUT, ClassPath("agent", "R"), python=python, env=ENV)
    async with FunctionPool(spec) as pool:
        result = await pool.call(payload, timeout_s=60)
        source = pool.processors
    server.should_exit = True
    await serving
    listener.close()
    assert result.is_ok, result.error
    spans = spans_of(result.trace)
    return source, spans, judge(result.trace, spans, model_calls=[call.span for call in session.calls]).text


def shape(spans: tuple[Span, ...]) -> list[tuple[Any, ...]]:
    names = {span.span_id: span.name for span in spans}
    return [
        (
            span.name,
            names.get(span.parent_id or ""),
            span.kind,
            span.role,
            span.status == "ERROR",
            span.attributes.get("gen_ai.tool.name"),
            span.attributes.get("gen_ai.provider.name"),
        )
        for span in spans
    ]


async def test_the_same_file_yields_the_same_tree(tmp_path: Path) -> None:
    python = interpreter()
    (tmp_path / "agent.py").write_text(CODE)
    source, theirs, _ = await spans_under(python, tmp_path)
    assert source == "real"
    source, ours, told = await spans_under(None, tmp_path)
    assert source == "own"
    assert told == "LLM 2/2, tools 3/3"
    assert shape(ours) == shape(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        missing = set(other.attributes) - set(mine.attributes) - OURS
        assert not missing, f"{mine.name} lacks {missing}"
        for key in (
            "bailian.agentic_rl.rollout_id",
            "request_id",
            "agentic_rl.result.status",
            "gen_ai.tool.call.result",
        ):
            assert mine.attributes.get(key) == other.attributes.get(key)
