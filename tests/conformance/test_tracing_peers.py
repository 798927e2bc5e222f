"""Real agents' libraries against the local model: LangChain, LangGraph, MCP."""

import asyncio
import socket
import sys
import textwrap
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
from agentic_rl_tui.core.tracing.collect import judge, spans_of, tool_results
from agentic_rl_tui.core.tracing.model import Completeness, Span

pytestmark = pytest.mark.conformance

ROW = Row.of(0, {"messages": [{"role": "user", "content": "What is 12 * 7?"}], "rollout_extra": {"solution": "84"}})
SERVER = """
from agentic_rl_tui.core.tracing.api import observe_tool  # what the documented name stands for
from mcp.server.fastmcp import FastMCP
server = FastMCP("shop")

@server.tool()
@observe_tool
def price(item: str) -> str:
    return f"{item} costs 3"

server.run()
"""
HEAD = """
import sys
from pathlib import Path
from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor, trace_client, trace_tool
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

@tool
async def calc(expression: str) -> str:
    "Evaluate an expression."
    return "84"

def model_of(resource):
    return ChatOpenAI(model="practice", base_url=resource.base_url, api_key=resource.api_key.get_secret_value())

def done(*contents):
    return RolloutOutput(agent_output=AgentOutput(messages=list(contents)))

async def shop():
    given = {"shop": {"transport": "stdio", "command": sys.executable, "args": [str(Path("server.py").absolute())]}}
    return await MultiServerMCPClient(given).get_tools()

CALL = {"name": "calc", "args": {"expression": "12 * 7"}, "id": "c1", "type": "tool_call"}
"""


async def traced(code: str, package: Path) -> tuple[tuple[Span, ...], Completeness]:
    (package / "agent.py").write_text(HEAD + textwrap.dedent(code))
    (package / "server.py").write_text(SERVER)
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
    spec = WorkerSpec(package, FunctionKind.ROLLOUT, ClassPath("agent", "R"), python=Path(sys.executable))
    async with FunctionPool(spec) as pool:
        result = await pool.call(payload, timeout_s=60)
    server.should_exit = True
    await serving
    listener.close()
    assert result.is_ok, result.error
    assert result.output is not None
    spans = spans_of(result.trace)
    answered = tool_results(result.output["agent_output"]["messages"])
    return spans, judge(result.trace, spans, model_calls=[call.span for call in session.calls], tool_results=answered)


async def test_a_graph_with_a_model_and_tools(tmp_path: Path) -> None:
    spans, told = await traced(
        """
        class R(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input):
                model = model_of(input.model_resource)
                trace_client(model)
                node = ToolNode([calc])
                trace_tool(node)

                async def think(state):
                    await model.ainvoke(state["messages"])
                    return {"messages": [AIMessage("", tool_calls=[CALL])]}

                graph = StateGraph(MessagesState)
                graph.add_node("think", think)
                graph.add_node("tools", node)
                graph.add_edge(START, "think")
                graph.add_edge("think", "tools")
                graph.add_edge("tools", END)
                await graph.compile().ainvoke({"messages": [("user", "What is 12 * 7?")]})
                parts = [part async for part in model.astream("hi")]
                assert len(parts) > 1
                return done({"role": "tool", "content": "84"})
        """,
        tmp_path,
    )
    assert told.text == "LLM 2/2, tools 1/1"
    names = {span.span_id: span.name for span in spans}
    assert [(span.name, names.get(span.parent_id or "")) for span in spans] == [
        ("invoke_agentic_rl", None),
        ("invoke_rollout R", "invoke_agentic_rl"),
        ("chat practice", "invoke_rollout R"),
        ("execute_tool calc", "invoke_rollout R"),
        ("chat practice", "invoke_rollout R"),
    ]
    assert spans[3].attributes["gen_ai.tool.call.id"] == "c1"
    assert spans[4].attributes["agentic_rl.stream"] is True


async def test_tools_of_an_mcp_server(tmp_path: Path) -> None:
    spans, told = await traced(
        """
        class R(AbstractRolloutProcessor):
            async def process(self, input):
                tools = await shop()
                trace_tool(tools)
                assert "costs 3" in str(await tools[0].ainvoke({"item": "tea"}))
                return done({"role": "tool", "content": "3"})
        """,
        tmp_path,
    )
    assert told.text == "LLM 0/0, tools 1/1"
    assert spans[1].name == "execute_tool price"
    assert spans[1].attributes["gen_ai.provider.name"] == "mcp"
    assert "costs 3" in spans[1].attributes["gen_ai.tool.call.result"]


async def test_tools_that_nobody_gave_to_trace_tool(tmp_path: Path) -> None:
    _, told = await traced(
        """
        class R(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input):
                await calc.ainvoke(CALL)
                await (await shop())[0].ainvoke({"item": "tea"})
                return done({"role": "tool", "content": "3"})
        """,
        tmp_path,
    )
    assert told.tools.total == 2
    assert told.text == (
        "LLM 0/0, tools 0/2: trace_tool() was never called; "
        "a decorator on the MCP server's side has no effect here; trace what get_tools() gives"
    )


async def test_tools_given_too_late_or_not_at_all(tmp_path: Path) -> None:
    late, forgotten = (tmp_path / name for name in ("late", "forgotten"))
    code = """
        class R(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input):
                {body}
                return done()
        """
    for package, body in (
        (late, "await calc.ainvoke(CALL); trace_tool(calc); await calc.ainvoke(CALL)"),
        (forgotten, "trace_tool([calc]); await calc.ainvoke(CALL); await (await shop())[0].ainvoke({'item': 'tea'})"),
    ):
        package.mkdir()
        _, told = await traced(code.replace("{body}", body), package)
        expected = {
            late: "trace_tool() was called after the first tool call; call it in setup()",
            forgotten: "price was not given to trace_tool()",
        }
        assert told.text == f"LLM 0/0, tools 1/2: {expected[package]}"
