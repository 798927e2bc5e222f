import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.app import build_app, running_app
from agentic_rl_tui.core.platform.service import Platform

FT = "/api/v1/fine-tunes"

FUNCTIONS = """
import sys
import dashscope
from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardInput, RewardOutput

class Fn(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        wish = input_data.ground_truth
        print("asked to", wish)
        if wish == "raise":
            raise ValueError("boom [x] 数")
        if wish == "exit":
            sys.exit(3)
        if wish == "print":
            print("y" * 1_000_000)
        if wish == "text":
            return "hello"
        if wish == "write":
            open("left.txt", "w").write("x")
        return RewardOutput(reward=Reward(reward_score=0.5))
"""


def everything_below(path: Path) -> list[str]:
    return sorted(str(item.relative_to(path)) for item in path.rglob("*"))


async def test_a_start_removes_what_no_row_speaks_of(bench: Any) -> None:
    platform = bench.platform
    kept = await bench.create_job()
    await platform.job_logs.append(kept, ["kept"])
    instance = await bench.load(await bench.register(key="kept"))
    platform.instance_logs.add(instance["instanceId"], "kept")
    platform.instance_logs.flush()
    (platform.paths.jobs / kept).mkdir(parents=True)
    await bench.put_package({"other.py": ""}, key="uploaded")
    await platform.functions.load(
        platform.functions.entity(bench.platform.jobs.stored(kept).request["rollout"]["rollout_id"]),
        runtime={},
        job_id="ft-000000000000-gone",
    )
    folders = (platform.paths.files, platform.paths.packages, platform.paths.logs, platform.paths.jobs)
    await platform.stop()
    before = [everything_below(folder) for folder in folders]

    await_strays = {
        platform.paths.files / "stray": "file",
        platform.paths.packages / ".incoming-1": "file",
        platform.paths.packages / ("0" * 64): "directory",
        platform.paths.packages / ".x.partial": "directory",
        platform.paths.logs / "jobs" / "ft-000000000000-gone.log": "file",
        platform.paths.logs / "instances" / "rw-ins-gone.log": "file",
        platform.paths.jobs / "ft-000000000000-gone": "directory",
        platform.paths.root / "run" / "rw-ins-gone.1": "directory",
    }
    for path, kind in await_strays.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            path.write_text("x")
        else:
            path.mkdir()
            (path / "inner").write_text("x")

    again = Platform(platform.paths.root, make_scheduler=type(platform.scheduler))
    await again.start()
    assert [everything_below(folder) for folder in folders] == before
    assert not (platform.paths.root / "run").exists()
    assert again.functions.instances_of_job("ft-000000000000-gone") == []
    assert again.functions.instance(instance["instanceId"]) is not None
    await again.stop()


async def test_all_functions_stop_with_the_platform(bench: Any) -> None:
    for job in ("1", "2"):
        loaded = await bench.load(await bench.register(), job=job)
        await bench.platform.instances.start(bench.platform.functions.instance(loaded["instanceId"]))
    await bench.platform.stop()
    assert [pool.is_running for pool in bench.pools] == [False, False]
    assert bench.platform.scheduler.events[-1] == "stop"


def test_the_application_runs_its_platform_by_itself(tmp_path: Path) -> None:
    with TestClient(build_app(tmp_path / "p", token="right"), headers={"authorization": "Bearer right"}) as client:
        assert client.get(FT).json()["output"]["total"] == 0
        client.headers["authorization"] = "Bearer wrong"
        assert client.get(FT).status_code == 401


@pytest.fixture
async def real(tmp_path: Path) -> Any:
    """A client of a platform with real workers and the real engine."""
    async with running_app(tmp_path / "p") as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://platform.local", timeout=60) as client:
            yield client


async def loaded(client: httpx.AsyncClient, package: bytes) -> tuple[str, str, dict[str, str]]:
    answer = await client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": "k"})
    url = answer.json()["output"]["url"]
    assert (await client.put(url, content=package)).status_code == 200
    body = {"name": "fns.py", "unique_key": "k", "func": "Fn", "code_url": url}
    entity_id = (await client.post(f"{FT}/create/reward", json=body)).json()["output"]["reward_id"]
    runtime = {"concurrency": 2, "capacity": 1}
    output = (await client.post(f"{FT}/online/faas/jobId-1/{entity_id}", json=runtime)).json()["output"]
    path = f"/functions/{output['instanceId']}"
    return output["instanceId"], path, {"authorization": f"Bearer {output['trigger_token']}"}


async def test_user_code_of_every_kind_leaves_the_platform_running(real: httpx.AsyncClient, make_package: Any) -> None:
    instance_id, path, headers = await loaded(real, make_package({"fns.py": FUNCTIONS}))

    async def call(wish: str) -> httpx.Response:
        body = {"agent_output": {"messages": []}, "ground_truth": wish}
        return await real.post(f"{path}/api/v1", json=body, headers=headers)

    health = await real.get(f"{path}/health", headers=headers)
    assert (health.json()["status"], health.json()["processor"]) == ("healthy", "Fn")
    good = await call("score")
    assert (good.status_code, good.json()["reward"]["reward_score"]) == (200, 0.5)
    raised = await call("raise")
    assert (raised.status_code, raised.json()) == (500, {"message": "boom [x] 数"})
    wrong_type = await call("text")
    assert (wrong_type.status_code, wrong_type.json()) == (200, {"result": "hello"})
    refused = (await real.post(f"{FT}/query/faas/log/{instance_id}", json={"keywords": ["a job would"]})).json()
    assert "expected RewardOutput" in refused["output"]["log_entries"][0]["message"]
    ended = await call("exit")
    assert ended.status_code == 500
    assert ended.json()["message"]
    for wish in ("print", "write", "score"):
        assert (await call(wish)).status_code == 200
    wrong = await real.post(f"{path}/api/v1", json={}, headers=headers)
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("Request parsing error: ")
    assert "agent_output" in wrong.json()["detail"]
    logs = (await real.post(f"{FT}/query/faas/log/{instance_id}", json={"keywords": ["asked to"]})).json()["output"]
    assert [entry["message"] for entry in logs["log_entries"]][:2] == ["asked to score", "asked to raise"]
    assert all(len(entry["message"]) < 70_000 for entry in logs["log_entries"])


async def test_a_class_that_cannot_be_imported_is_told(real: httpx.AsyncClient, make_package: Any) -> None:
    instance_id, path, headers = await loaded(real, make_package({"fns.py": "import no_such_module\n"}))
    answer = await real.post(f"{path}/api/v1", json={}, headers=headers)
    assert answer.status_code == 500
    assert "no_such_module" in answer.json()["message"]
    state = (await real.post(f"{FT}/query/faas/{instance_id}", json={})).json()["output"]
    assert state["status"] == -1
    assert "no_such_module" in state["message"]


async def test_a_distillation_runs_to_its_end(real: httpx.AsyncClient) -> None:
    rows = b'{"messages": [{"role": "user", "content": "hi"}], "rollout_extra": {"solution": "4"}}\n' * 8
    uploaded = await real.post("/api/v1/files", files={"files": ("a.jsonl", rows)})
    file_id = uploaded.json()["data"]["uploaded_files"][0]["file_id"]
    body = {
        "model": "m",
        "teacher_model": "t",
        "training_datasets": [{"file_id": file_id}],
        "hyper_parameters": {"batch_size": 4, "n_rollouts": 2},
    }
    job_id = (await real.post(FT, json=body)).json()["output"]["job_id"]
    events = (await real.get(f"{FT}/{job_id}/stream")).text
    assert "##FT_COMPLETE##" in events
    job = (await real.get(f"{FT}/{job_id}")).json()["output"]
    assert (job["status"], job["progress"]["step"]) == (JobStatus.SUCCEEDED, 2)
    own = f"/local/v1/jobs/{job_id}"
    report = (await real.get(f"{own}/report")).json()
    assert (report["job_id"], report["status"], report["steps_done"]) == (job_id, "SUCCEEDED", 2)
    assert len((await real.get(f"{own}/steps")).json()["steps"]) == 2
    assert len((await real.get(f"{own}/steps?first=2&limit=5")).json()["steps"]) == 1
    assert (await real.get(f"{own}/steps?limit=0")).status_code == 400
    saved = (await real.get(f"{own}/checkpoints")).json()["checkpoints"]
    assert saved[-1]["is_final"]
    steps = (await real.get(f"{own}/trajectories")).json()["steps"]
    assert [step["step"] for step in steps if step["phase"] == "train"] == [1, 2]
    samples = (await real.get(f"{own}/trajectories?step=1")).json()
    assert (samples["step"], samples["phase"], len(samples["samples"])) == (1, "train", 4)
    sample = samples["samples"][0]["sample"]
    group = (await real.get(f"{own}/trajectories?step=1&sample={sample}")).json()["rollouts"]
    assert [rollout["rollout"] for rollout in group] == [0, 1]
    one = (await real.get(f"{own}/trajectories?step=1&sample={sample}&rollout=1")).json()["rollouts"]
    assert one == group[1:]
    again = await real.post(FT, json={**body, "model": job["finetuned_output"]})
    assert again.json()["output"]["base_model"] == "m"
    await real.post(f"{FT}/{again.json()['output']['job_id']}/cancel")


async def test_a_job_without_a_report_is_told(bench: Any) -> None:
    job_id = await bench.create_job()
    answer = await bench.client.get(f"/local/v1/jobs/{job_id}/report")
    assert (answer.status_code, answer.json()["code"]) == (404, "NotFound")
    assert "PENDING" in answer.json()["message"]
    assert (await bench.client.get(f"/local/v1/jobs/{job_id}/trajectories")).json()["steps"] == []
    assert (await bench.client.get(f"/local/v1/jobs/{job_id}/checkpoints")).json()["checkpoints"] == []
    assert (await bench.client.get("/local/v1/jobs/ft-000000000000-0000/report")).status_code == 404


async def test_many_jobs_can_be_created_at_once(bench: Any) -> None:
    body = await bench.request_body()
    answers = await asyncio.gather(*(bench.client.post(FT, json=body) for _ in range(50)))
    assert len({answer.json()["output"]["job_id"] for answer in answers}) == 50
    assert (await bench.client.get(f"{FT}?page_size=100")).json()["output"]["total"] == 50
