"""Functions that misbehave in every way, in jobs of a real platform process."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from platform_process import PlatformProcess, until

FT = "/api/v1/fine-tunes"

FUNCTIONS = """
import asyncio, sys, time
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)

class Roll(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": "hi"}]))

class SleepyRoll(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        await asyncio.sleep(3600)

def good():
    return RewardOutput(reward=Reward(reward_score=1.0))

class Raises(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        raise ValueError("boom [red] 数")

class WrongType(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return "0.5"

class Prints(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        print("y" * 1_000_000)
        return good()

class Sleeps(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        time.sleep(3600)

class Exits(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        sys.exit(3)

class ExitsAtOnce(AbstractRewardProcessor):
    def setup(self):
        sys.exit("no licence")

    def process(self, input_data: RewardInput) -> RewardOutput:
        return good()

class Dies(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        import os
        os._exit(9)
"""


class Bench(PlatformProcess):
    """A platform process that runs three jobs at once."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "--max-running-jobs", "3")
        self.url_of_package = ""
        self.file_id = ""

    async def prepare(self, package: bytes) -> None:
        await self.ready()
        content = b'{"messages": [{"role": "user", "content": "hi"}]}\n' * 2
        told = await self.ask("POST", "/api/v1/files", files={"files": ("a.jsonl", content)})
        self.file_id = told["data"]["uploaded_files"][0]["file_id"]
        told = await self.ask("POST", f"{FT}/generate/faas/upload/url", json={"unique_key": "k"})
        self.url_of_package = told["output"]["url"]
        await self.ask("PUT", self.url_of_package, content=package)

    async def ask(self, method: str, path: str, **given: Any) -> Any:
        answer = await self.client.request(method, path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.headers.get("content-type", "").startswith("application/json") else None

    async def run(self, rollout: str, reward: str, **limits: float) -> tuple[dict[str, Any], list[str]]:
        """A job of one step with these functions: the job and its log."""
        ids = {}
        for kind, name in (("rollout", rollout), ("reward", reward)):
            key = f"{kind}-{rollout}-{reward}"
            body = {"name": "fns.py", "unique_key": key, "func": name, "code_url": self.url_of_package}
            ids[kind] = (await self.ask("POST", f"{FT}/create/{kind}", json=body))["output"][f"{kind}_id"]
        size = {"concurrency": 2, "capacity": 1}
        told = await self.ask(
            "POST",
            FT,
            json={
                "model": "m",
                "training_datasets": [{"file_id": self.file_id}],
                "rollout": {
                    "rollout_id": ids["rollout"],
                    "name": "agent",
                    "timeout": limits.get("rollout_s", 60),
                    **size,
                },
                "rewards": [
                    {"reward_id": ids["reward"], "name": "judge", "timeout": limits.get("reward_s", 60), **size}
                ],
                "hyper_parameters": {"batch_size": 2, "n_rollouts": 2, "n_epochs": 1},
            },
        )
        job_id = told["output"]["job_id"]
        job = await until(lambda: self._ended_job(job_id))
        return job, (await self.ask("GET", f"{FT}/{job_id}/logs?line=1000"))["output"]["logs"]

    async def _ended_job(self, job_id: str) -> dict[str, Any] | None:
        job: dict[str, Any] = (await self.ask("GET", f"{FT}/{job_id}"))["output"]
        return job if job["status"] in ("SUCCEEDED", "FAILED", "CANCELED") else None


@pytest.fixture
async def bench(tmp_path: Path, make_package: Callable[..., bytes]) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "p")
    try:
        await bench.prepare(make_package({"fns.py": FUNCTIONS}))
        yield bench
    finally:
        await bench.end(signal.SIGKILL)


async def test_each_ends_in_words_and_the_platform_goes_on(bench: Bench) -> None:
    cases: dict[str, tuple[dict[str, float], str, tuple[str, ...]]] = {
        "Raises": ({}, "FAILED", ("reward 'judge'", "ValueError", "boom [red] 数")),
        "WrongType": ({}, "FAILED", ("reward 'judge'", "process returned str, expected RewardOutput")),
        "Prints": ({}, "SUCCEEDED", ()),
        "Sleeps": ({"reward_s": 0.5}, "FAILED", ("reward 'judge'", "0.5 s")),
        "Exits": ({}, "FAILED", ("reward 'judge'", "process called sys.exit(3)")),
        "ExitsAtOnce": ({}, "FAILED", ("sys.exit", "no licence")),
        "Dies": ({}, "FAILED", ("reward 'judge'", "9")),
    }
    ended = await asyncio.gather(*(bench.run("Roll", name, **limits) for name, (limits, _, _) in cases.items()))
    for (name, (_, status, words)), (job, lines) in zip(cases.items(), ended, strict=True):
        text = "\n".join(lines)
        assert job["status"] == status, (name, text)
        for word in words:
            assert word in text, (name, word, text)
        if status == "FAILED":
            assert job["message"], name
        assert lines[-1] == "##FT_COMPLETE##", name
        assert max(map(len, lines)) < 10_000, name
    job, lines = await bench.run("SleepyRoll", "Prints", rollout_s=0.5)
    assert job["status"] == "FAILED"
    assert any("rollout 'agent'" in line and "0.5 s" in line for line in lines)
    job, _ = await bench.run("Roll", "Prints")
    assert job["status"] == "SUCCEEDED"
    assert (await bench.end())[0] == 0
