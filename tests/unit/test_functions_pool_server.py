"""The HTTP server for one function: the vendor's answers, code by code."""

import asyncio
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.functions.server import FunctionApp, serve
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

CODE = """
import asyncio, sys
from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardOutput, TaskStatus

class Multi(AbstractRewardProcessor):
    async def process(self, input_data):
        match input_data.agent_output.messages[-1]["content"]:
            case "ok":
                return RewardOutput(reward=Reward(reward_score=1, reward_metrics={"t": 1}))
            case "failed":
                return RewardOutput(reward=Reward(reward_score=0), status=TaskStatus.FAILED, error="why")
            case "raise":
                raise ValueError("boom [x] 数")
            case "nan":
                return RewardOutput(reward=Reward(reward_score=float("nan")))
            case "str":
                return "hello"
            case "exit":
                sys.exit(1)
            case "cancel":
                raise asyncio.CancelledError
            case "wait":
                print("begun")
                try:
                    await asyncio.sleep(600)
                finally:
                    print("ended")
"""


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
async def pool(tmp_path: Path, printed: list[str]) -> AsyncIterator[FunctionPool]:
    (tmp_path / "multi.py").write_text(textwrap.dedent(CODE))
    spec = WorkerSpec(tmp_path, FunctionKind.REWARD, ClassPath.parse("multi.py:Multi"))
    async with FunctionPool(spec, on_output=lambda line: printed.append(line.text)) as running:
        yield running


@pytest.fixture
async def client(pool: FunctionPool) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(FunctionApp(pool, queue_limit=1))
    async with httpx.AsyncClient(transport=transport, base_url="http://function.local") as running:
        yield running


def saying(word: str) -> dict[str, Any]:
    return {"agent_output": {"messages": [{"role": "assistant", "content": word}]}}


async def until(printed: list[str], word: str) -> None:
    async with asyncio.timeout(20):
        while word not in printed:  # noqa: ASYNC110 - it is said by another process
            await asyncio.sleep(0.005)


async def test_health_and_answers(client: httpx.AsyncClient) -> None:
    health = await client.get("/health")
    assert health.json() == {
        "status": "healthy",
        "func_type": "reward",
        "processor": "Multi",
        "parser": "RewardRequestParser",
    }
    answer = await client.post("/api/v1", json=saying("ok"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {
        "reward": {"reward_score": 1.0, "reward_metrics": {"t": 1.0}},
        "status": "success",
        "error": None,
        "error_code": None,
    }
    assert (await client.post("/api/v1", json=saying("failed"))).json()["error"] == "why"
    assert (await client.post("/api/v1", json=saying("str"))).json() == {"result": "hello"}


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (
            b"{bad",
            400,
            "Invalid JSON body: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (b"{}", 422, "Request parsing error: agent_output: Field required"),
        (b"[1]", 422, "Request parsing error: expected a JSON object, got list"),
    ],
)
async def test_mistakes_of_the_client(client: httpx.AsyncClient, body: bytes, status: int, expected: str) -> None:
    answer = await client.post("/api/v1", content=body)
    assert (answer.status_code, answer.json()) == (status, {"detail": expected})


async def test_a_body_nested_without_end_is_a_mistake_too(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1", content=b"[" * 100_000)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("Invalid JSON body: ")


async def test_faults_of_the_function(client: httpx.AsyncClient) -> None:
    raised = await client.post("/api/v1", json=saying("raise"))
    assert raised.status_code == 500
    assert raised.json()["message"] == "boom [x] 数"
    assert raised.json()["type"] == "ValueError"
    assert "in process" in raised.json()["traceback"]
    nan = await client.post("/api/v1", json=saying("nan"))
    assert nan.status_code == 500
    assert "nan is no number" in nan.json()["message"]
    for word in ("exit", "cancel"):
        left = await client.post("/api/v1", json=saying(word))
        assert (left.status_code, left.json()) == (499, {"message": "Request cancelled."})


async def test_routes(client: httpx.AsyncClient) -> None:
    wrong = await client.get("/api/v1")
    assert (wrong.status_code, wrong.json(), wrong.headers["allow"]) == (405, {"detail": "Method Not Allowed"}, "POST")
    assert (await client.post("/api/v1/", json={})).headers["location"] == "/api/v1"
    unknown = await client.get("/x")
    assert (unknown.status_code, unknown.json()) == (404, {"detail": "Not Found"})


async def test_more_than_may_wait_are_refused(
    client: httpx.AsyncClient, pool: FunctionPool, printed: list[str]
) -> None:
    first, second = (asyncio.create_task(client.post("/api/v1", json=saying("wait"))) for _ in range(2))
    await until(printed, "begun")
    async with asyncio.timeout(20):
        while not pool.waiting:  # noqa: ASYNC110 - the pool has no event for it
            await asyncio.sleep(0)
    refused = await client.post("/api/v1", json=saying("ok"))
    assert (refused.status_code, refused.json()) == (503, {"detail": "Server is busy, please try again later."})
    for task in (first, second):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_a_client_that_hangs_up_cancels_its_call(pool: FunctionPool, printed: list[str]) -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(pool, port=0, on_ready=ready.set_result))
    async with httpx.AsyncClient(base_url=await ready) as client:
        assert (await client.post("/api/v1", json=saying("ok"))).status_code == 200
        request = asyncio.create_task(client.post("/api/v1", json=saying("wait")))
        await until(printed, "begun")
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        await until(printed, "ended")
        assert pool.restarts == 0
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)
