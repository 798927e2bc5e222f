"""LangChain's ChatOpenAI against the gateway: plain, streamed, with tools, structured."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pydantic
import pytest
import uvicorn

from agentic_rl_tui.core.platform.engine import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.row import Row

langchain_openai = pytest.importorskip("langchain_openai")

QUESTION = "In the form of ### ANSWER: <answer> ###. A box holds 12 pens. How many are in 7 boxes?"
ROW = Row.of(0, {"messages": [{"role": "user", "content": QUESTION}], "rollout_extra": {"solution": "84"}})


@pytest.fixture
async def chat() -> AsyncIterator[Any]:
    """Gives a ChatOpenAI for rollout number n."""
    gateway = Gateway()
    listener = socket.create_server(("127.0.0.1", 0))
    gateway.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(gateway.app, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    policy = PracticePolicy()
    async with httpx.AsyncClient() as shared, httpx.AsyncClient() as probe:
        await probe.get(f"{gateway.model_url}/models")

        def make(number: int) -> Any:
            session = gateway.open(policy, Place(ROW, (1, number)))
            return langchain_openai.ChatOpenAI(
                model="practice",
                base_url=gateway.model_url,
                api_key=session.key,
                max_retries=0,
                http_async_client=shared,
                stream_usage=True,
            )

        yield make
    server.should_exit = True
    await task
    listener.close()


async def test_invoke_and_stream_agree(chat: Any) -> None:
    for number in range(4):
        whole = await chat(number).ainvoke(QUESTION)
        parts = [part async for part in chat(number).astream(QUESTION)]
        assert "".join(str(part.content) for part in parts) == whole.content
        assert whole.usage_metadata["total_tokens"] > 0
        assert (
            sum(part.usage_metadata["total_tokens"] for part in parts if part.usage_metadata)
            == (whole.usage_metadata["total_tokens"])
        )


async def test_the_tool_loop(chat: Any) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    @tool
    def calculator(expression: str) -> str:
        """Evaluate an arithmetic expression."""
        return str(eval(expression))

    called = 0
    for number in range(10):
        model = chat(number).bind_tools([calculator])
        messages: list[Any] = [HumanMessage(QUESTION)]
        for _ in range(4):
            answer = await model.ainvoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                called += 1
                messages.append(await calculator.ainvoke(call))
        assert isinstance(messages[-1].content, str)
    assert called > 0


class Verdict(pydantic.BaseModel):
    """The answer and why."""

    reasoning: str
    answer: float


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_structured_output(chat: Any, method: str) -> None:
    verdict = await chat(1).with_structured_output(Verdict, method=method).ainvoke(QUESTION)
    assert isinstance(verdict, Verdict)
