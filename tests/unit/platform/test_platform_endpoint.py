"""`[local] policy = "endpoint"`: a real platform process whose rollouts are answered by another server."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from platform_process import LIMIT_S, PlatformProcess
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agentic_rl_tui.core.platform.lock import bind_tcp

FT = "/api/v1/fine-tunes"

FUNCTIONS = """
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)
from openai import AsyncOpenAI

class Agent(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        place = input_data.model_resource
        async with AsyncOpenAI(base_url=place.base_url, api_key=place.api_key.get_secret_value()) as client:
            answer = await client.chat.completions.create(
                model=place.model_name, messages=[{"role": "user", "content": "2 + 2?"}]
            )
        text = answer.choices[0].message.content
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": text}]))

class Four(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return RewardOutput(reward=Reward(reward_score=float("4" in input_data.agent_output.messages[-1]["content"])))
"""


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """The base URL of an OpenAI-compatible server, and the key and body of each call. Its first answer is a 503."""
    calls: list[tuple[str, dict[str, Any]]] = []

    async def chat(request: Request) -> JSONResponse:
        calls.append((request.headers["authorization"], await request.json()))
        if len(calls) == 1:
            return JSONResponse({"error": {"message": "warming up"}}, 503, headers={"retry-after": "3600"})
        message = {"role": "assistant", "content": "It is 4."}
        return JSONResponse(
            {
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 4},
            }
        )

    listener = bind_tcp("127.0.0.1", 0)
    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", calls
    server.should_exit = True
    await task
    listener.close()


@pytest.fixture
async def client(tmp_path: Path, upstream: Any) -> AsyncIterator[httpx.AsyncClient]:
    workspace, root = tmp_path / "workspace", tmp_path / "p"
    workspace.mkdir()
    root.mkdir()
    (workspace / "agentic-rl.toml").write_text(
        '[local]\npolicy = "endpoint"\nclock_factor = 100000.0\n'
        f'[local.endpoint]\nbase_url = "{upstream[0]}"\nmodel = "qwen-plus"\napi_key_env = "UPSTREAM_KEY"\n'
    )
    process = PlatformProcess(root, cwd=workspace, env={"UPSTREAM_KEY": "sk-upstream-0123456789"})
    try:
        await process.ready()
        yield process.client
    finally:
        _, _, err = await process.end(signal.SIGKILL)
    assert "sk-upstream-0123456789" not in process.paths.own_log.read_text() + err


async def test_a_job_is_an_evaluation_and_says_so(
    client: httpx.AsyncClient, upstream: Any, make_package: Callable[..., bytes]
) -> None:
    content = b'{"messages": [{"role": "user", "content": "2 + 2?"}]}\n' * 2
    told = (await client.post("/api/v1/files", files={"files": ("a.jsonl", content)})).json()
    file_id = told["data"]["uploaded_files"][0]["file_id"]
    url = (await client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": "k"})).json()["output"]["url"]
    assert (await client.put(url, content=make_package({"fns.py": FUNCTIONS}))).status_code == 200
    ids = {}
    for kind, name in (("rollout", "Agent"), ("reward", "Four")):
        body = {"name": "fns.py", "unique_key": kind, "func": name, "code_url": url}
        ids[kind] = (await client.post(f"{FT}/create/{kind}", json=body)).json()["output"][f"{kind}_id"]
    size = {"concurrency": 2, "capacity": 1}
    request = {
        "model": "qwen3.5-9b",
        "training_datasets": [{"file_id": file_id}],
        "rollout": {"rollout_id": ids["rollout"], **size},
        "rewards": [{"reward_id": ids["reward"], **size}],
        "hyper_parameters": {"batch_size": 1, "n_rollouts": 2, "n_epochs": 1},
    }
    job_id = (await client.post(FT, json=request)).json()["output"]["job_id"]
    job: dict[str, Any] = {"status": ""}
    phases = set()
    async with asyncio.timeout(LIMIT_S):
        while job["status"] not in ("SUCCEEDED", "FAILED"):
            job = (await client.get(f"{FT}/{job_id}")).json()["output"]
            phases.add(job.get("progress", {}).get("phase"))
            await asyncio.sleep(0.02)
    lines = (await client.get(f"{FT}/{job_id}/logs?line=1000")).json()["output"]["logs"]
    text = "\n".join(lines)
    assert job["status"] == "SUCCEEDED", text
    assert job["progress"]["policy"] == "endpoint"
    assert "training" not in phases
    assert "finetuned_output" not in job
    assert "This job is an evaluation" in text
    assert "evaluation finished; there is no model to publish" in text
    assert "'critic/rewards/mean': 1.0" in text
    report = (await client.get(f"/local/v1/jobs/{job_id}/report")).json()
    assert (report["policy"], report["is_evaluation"], report["output"]) == ("endpoint", True, None)
    calls = upstream[1]
    assert len(calls) == 5
    assert {key for key, _ in calls} == {"Bearer sk-upstream-0123456789"}
    assert {body["model"] for _, body in calls} == {"qwen-plus"}
    assert "sk-upstream" not in text + json.dumps(report)
