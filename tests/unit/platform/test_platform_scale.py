"""Small versions of what the benches measure: the work of each request is counted, not its time."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.models.functions import Runtime
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.app import running_app
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.instances import workers
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.jobs import Jobs
from agentic_rl_tui.core.platform.store.lines import LineFile

FT = "/api/v1/fine-tunes"
BLOCK = 1 << 18

# Each call shows itself in a folder and ends when all are there: nobody but a hundred at once gets through.
TOGETHER = """
import asyncio, os, uuid
from pathlib import Path
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)

class Meets(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        place = Path(os.environ["MEETING"])
        (place / uuid.uuid4().hex).touch()
        while len(os.listdir(place)) < 100:
            await asyncio.sleep(0.05)
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": "here"}]))

class One(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return RewardOutput(reward=Reward(reward_score=1.0))
"""


@pytest.mark.parametrize(
    ("runtime", "cpus", "wanted"),
    [
        ({}, 2, (2, 10)),
        ({"concurrency": 1, "capacity": 1}, 8, (1, 1)),
        ({"concurrency": 10, "capacity": 10}, 2, (2, 50)),
        ({"concurrency": 3, "capacity": 3}, 2, (2, 5)),
        ({"concurrency": 50, "capacity": 1}, 8, (1, 50)),
        ({"concurrency": 1, "capacity": 64}, 4, (4, 16)),
        ({"concurrency": 1000, "capacity": 1000}, 2, (2, 128)),
        ({"concurrency": 1, "capacity": 2}, 64, (2, 1)),
    ],
)
def test_slots_are_concurrency_times_capacity_on_the_machines_processors(
    monkeypatch: pytest.MonkeyPatch, runtime: dict[str, int], cpus: int, wanted: tuple[int, int]
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    assert workers(Runtime.model_validate(runtime)) == wanted


async def test_a_hundred_slow_rollouts_run_at_once(
    tmp_path: Path, folder: Path, make_package: Callable[..., bytes]
) -> None:
    async with running_app(tmp_path / "p") as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://platform.local") as client:
            content = b'{"messages": [{"role": "user", "content": "hi"}]}\n' * 25
            told = (await client.post("/api/v1/files", files={"files": ("a.jsonl", content)})).json()
            url = (await client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": "k"})).json()["output"][
                "url"
            ]
            assert (await client.put(url, content=make_package({"fns.py": TOGETHER}))).status_code == 200
            ids = {}
            for kind, name in (("rollout", "Meets"), ("reward", "One")):
                body = {"name": "fns.py", "unique_key": kind, "func": name, "code_url": url}
                ids[kind] = (await client.post(f"{FT}/create/{kind}", json=body)).json()["output"][f"{kind}_id"]
            request = {
                "model": "m",
                "training_datasets": [{"file_id": told["data"]["uploaded_files"][0]["file_id"]}],
                "rollout": {
                    "rollout_id": ids["rollout"],
                    "concurrency": 10,
                    "capacity": 10,
                    "env": {"MEETING": str(folder)},
                    "timeout": 60,
                },
                "rewards": [{"reward_id": ids["reward"], "concurrency": 10, "capacity": 1}],
                "hyper_parameters": {"batch_size": 25, "n_rollouts": 4, "n_epochs": 1},
            }
            job_id = (await client.post(FT, json=request)).json()["output"]["job_id"]
            status = ""
            async with asyncio.timeout(90):
                while status not in ("SUCCEEDED", "FAILED"):
                    status = (await client.get(f"{FT}/{job_id}")).json()["output"]["status"]
                    await asyncio.sleep(0.05)
            lines = (await client.get(f"{FT}/{job_id}/logs?line=1000")).json()["output"]["logs"]
            assert status == "SUCCEEDED", lines
            assert "'trajectory/retried_rollouts': 0" in "\n".join(lines)
            assert len(os.listdir(folder)) == 100


def test_a_page_anywhere_in_a_log_reads_little_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LineFile(tmp_path / "log")
    for first in range(0, 200_000, 10_000):
        file.append([b"line %012d" % number for number in range(first, first + 10_000)])
    taken: list[int] = []
    pread = os.pread

    def counted(descriptor: int, count: int, offset: int) -> bytes:
        raw = pread(descriptor, count, offset)
        taken.append(len(raw))
        return raw

    monkeypatch.setattr(os, "pread", counted)
    for start in (0, 99_999, 123_457, 199_000):
        taken.clear()
        assert file.read(start, 1000)[0] == b"line %012d" % start
        assert sum(taken) <= 2 * BLOCK, start
    file.close()


async def test_a_page_of_jobs_costs_the_same_among_many(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")

    def many(connection: sqlite3.Connection) -> None:
        connection.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
            " insert into jobs (job_id, name, status, model, base_model, training_type, created_at)"
            " select 'ft-' || i, 'name-' || i, 'SUCCEEDED', 'm', 'm', 'reinforcement', i from n"
        )
        connection.execute("insert into job_bodies (seq, request) select seq, '{}' from jobs")

    await database.write(many)
    jobs = Jobs(database, Bell())
    jobs.page(2000, 10)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    database._reader.set_progress_handler(count, 100)
    for page in (1, 1000, 1500, 2000):
        steps = 0
        found, total = jobs.page(page, 10)
        assert (len(found), total) == (10, 20_000)
        assert steps * 100 < 60_000, page
    steps = 0
    assert jobs.stored("ft-777") is not None
    assert jobs.page(1, 10, name="name-4")[1] == 1
    assert await jobs.jobs_in(JobStatus.RUNNING, JobStatus.CANCELING) == []
    assert steps * 100 < 2_000
    database._reader.set_progress_handler(None, 0)
    database.close()


async def test_polls_of_two_hundred_clients_are_one_look_each(bench: Any) -> None:
    job_id = await bench.create_job()
    await bench.platform.jobs.move(job_id, JobStatus.RUNNING)
    await bench.platform.job_logs.append(job_id, [f"line {number}" for number in range(2000)])
    statements: list[str] = []
    bench.platform.database._reader.set_trace_callback(statements.append)
    paths = [f"{FT}/{job_id}", f"{FT}/{job_id}/logs?offset=1000&line=1000"] * 100
    opened = len(os.listdir("/proc/self/fd"))
    answers = await asyncio.gather(*(bench.client.get(path) for path in paths))
    bench.platform.database._reader.set_trace_callback(None)
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["output"]["total"] for answer in answers[1::2]} == {2000}
    assert len(statements) == len(paths)
    assert len(os.listdir("/proc/self/fd")) <= opened + 2
