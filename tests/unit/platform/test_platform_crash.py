"""The platform killed at named points of its work, and what the next one finds."""

import asyncio
import hashlib
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from platform_process import LIMIT_S, PlatformProcess, processes_below, until

from agentic_rl_tui.core.platform import crash
from agentic_rl_tui.core.platform.crash import VARIABLE

FT = "/api/v1/fine-tunes"
END = "##FT_COMPLETE##"
ENDED = ("SUCCEEDED", "FAILED", "CANCELED")

FUNCTIONS = """
from dashscope.finetune.reinforcement import (
    AbstractRewardProcessor, AbstractRolloutProcessor, AgentOutput, Reward, RewardInput, RewardOutput,
    RolloutInput, RolloutOutput,
)

class Roll(AbstractRolloutProcessor):
    async def process(self, input_data: RolloutInput) -> RolloutOutput:
        return RolloutOutput(agent_output=AgentOutput(messages=[{"role": "assistant", "content": "hi"}]))

class One(AbstractRewardProcessor):
    def process(self, input_data: RewardInput) -> RewardOutput:
        return RewardOutput(reward=Reward(reward_score=1.0))
"""

# Each lane keeps its state directory through all its kills, so that what one kill leaves is there at the next.
LANES = (
    (
        "file.received",
        "package.received",
        "submit.checked",
        "submit.body",
        "start.begun",
        "start.folder",
        "log.begun",
        "log.torn:4",
        "log.written:6",
        "step.rolled",
        "step.trajectory:2",
        "step.learned",
        "step.torn:2",
        "checkpoint.begun",
        "checkpoint.draft:2",
        "checkpoint.state",
        "cancel.asked",
        "cancel.taken",
        "delete.row",
        "delete.functions",
        "delete.folder",
        "end.begun",
        "end.said",
    ),
    (
        "file.moved",
        "package.unpacked",
        "submit.row",
        "submit.stored",
        "start.moved",
        "start.functions",
        "log.indexed:5",
        "log.read",
        "log.written",
        "step.index",
        "step.logged",
        "step.noted",
        "checkpoint.torn",
        "checkpoint.draft:4",
        "checkpoint.saved",
        "cancel.moved",
        "cancel.waiting",
        "delete.stored",
        "delete.log",
        "end.report",
        "end.output",
    ),
)


@dataclass
class Seen:
    """What clients were told, which no kill may take back."""

    files: dict[str, bytes] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    """Those whose deletion was asked for; it may or may not have come about."""
    lines: dict[str, list[str]] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)


class Killed(Exception):
    """The platform is gone."""


class Running(PlatformProcess):
    """A platform that can be told where to kill itself."""

    def __init__(self, root: Path) -> None:
        self.order = root.with_suffix(".crash")
        self.order.unlink(missing_ok=True)
        super().__init__(root, env={VARIABLE: str(self.order)})

    async def ask(self, method: str, path: str, **given: Any) -> Any:
        """The answer's body. Raises Killed."""
        try:
            answer = await self.client.request(method, path, **given)
        except httpx.TransportError:
            raise Killed from None
        assert answer.status_code == 200, (path, answer.text)
        return answer.json() if answer.headers.get("content-type", "").startswith("application/json") else None


class Lane:
    """A state directory that is worked with and killed, again and again."""

    def __init__(self, root: Path, package: bytes) -> None:
        self.root = root
        self.package = package
        self.seen = Seen()
        self.run = Running(root)

    async def kill_at(self, point: str) -> None:
        await self.run.ready()
        await self.check(point)
        self.run.order.write_text(point)
        try:
            await self.work(with_functions=point in ("start.functions", "step.rolled", "cancel.taken", "end.begun"))
            raise AssertionError(f"{point} was never passed")
        except Killed:
            pass
        code, _, _ = await self.run.end(signal.SIGCONT)
        assert code == -signal.SIGKILL, (point, code)

        async def is_empty() -> bool:
            return not processes_below(self.root)

        await until(is_empty)
        self.run = Running(self.root)

    async def work(self, *, with_functions: bool) -> None:
        """Something of everything: upload, package, submit, follow, cancel waiting, cancel running, delete."""
        content = f'{{"messages": [{{"role": "user", "content": "{time.time_ns()}?"}}]}}\n'.encode() * 3
        told = await self.run.ask("POST", "/api/v1/files", files={"files": ("a.jsonl", content)})
        file_id = told["data"]["uploaded_files"][0]["file_id"]
        self.seen.files[file_id] = content
        functions = await self.register()
        body: dict[str, Any] = {
            "model": "m",
            "training_datasets": [{"file_id": file_id}],
            "hyper_parameters": {
                "batch_size": 1,
                "n_rollouts": 2,
                "n_epochs": 1,
                "save_strategy": "steps",
                "save_steps": 1,
            },
        }
        size = {"concurrency": 1, "capacity": 1}
        body |= (
            {"rollout": {"rollout_id": functions[0], **size}, "rewards": [{"reward_id": functions[1], **size}]}
            if with_functions
            else {"teacher_model": "t"}
        )
        first = await self.submit(body)
        long = body | {"hyper_parameters": body["hyper_parameters"] | {"n_epochs": 200}}
        second, third = await self.submit(long), await self.submit(long)
        await self.run.ask("POST", f"{FT}/{third}/cancel")
        await self.follow(first, lambda status: status in ENDED)
        await self.follow(second, lambda status: status == "RUNNING")
        await self.run.ask("POST", f"{FT}/{second}/cancel")
        await self.follow(second, lambda status: status in ENDED)
        for job_id in (first, second):
            self.seen.deleted.add(job_id)
            await self.run.ask("DELETE", f"{FT}/{job_id}")

    async def register(self) -> tuple[str, str]:
        key = f"k{time.time_ns()}"
        told = await self.run.ask("POST", f"{FT}/generate/faas/upload/url", json={"unique_key": key})
        url = told["output"]["url"]
        await self.run.ask("PUT", url, content=self.package)
        ids = []
        for kind, name in (("rollout", "Roll"), ("reward", "One")):
            body = {"name": "fns.py", "unique_key": f"{kind}-{key}", "func": name, "code_url": url}
            ids.append((await self.run.ask("POST", f"{FT}/create/{kind}", json=body))["output"][f"{kind}_id"])
        return ids[0], ids[1]

    async def submit(self, body: dict[str, Any]) -> str:
        job_id = str((await self.run.ask("POST", FT, json=body))["output"]["job_id"])
        self.seen.jobs.add(job_id)
        return job_id

    async def status(self, job_id: str) -> dict[str, Any]:
        return dict((await self.run.ask("GET", f"{FT}/{job_id}"))["output"])

    async def follow(self, job_id: str, is_enough: Callable[[str], bool]) -> None:
        """Read the log's new lines until the job's state is enough."""
        held = self.seen.lines.setdefault(job_id, [])
        async with asyncio.timeout(LIMIT_S):
            while True:
                status = (await self.status(job_id))["status"]
                path = f"{FT}/{job_id}/logs?line=1000&offset={len(held)}"
                held += (await self.run.ask("GET", path))["output"]["logs"]
                if is_enough(status):
                    return

    async def check(self, point: str) -> None:
        """All that was told still holds, and nothing is left over."""
        with sqlite3.connect(self.root / "platform.db") as store:
            assert store.execute("pragma integrity_check").fetchall() == [("ok",)]
        store.close()
        listed = (await self.run.ask("GET", f"{FT}?page_size=100"))["output"]["jobs"]
        ids = {job["job_id"] for job in listed}
        assert self.seen.jobs - self.seen.deleted <= ids
        for job_id in ids - self.seen.checked:
            # Jobs that waited run again; what they do is not waited for.
            await self.run.client.post(f"{FT}/{job_id}/cancel")
            await self.follow(job_id, lambda status: status in ENDED)
            await self.check_job(job_id, point)
        self.seen.checked |= ids
        self.seen.jobs &= ids
        for place in (self.root / "jobs", self.root / "logs" / "jobs"):
            left = {path.name.split(".")[0] for path in place.iterdir()} if place.is_dir() else set()
            assert left <= ids
        stored = (await self.run.ask("GET", "/api/v1/files?page_size=100"))["data"]["files"]
        assert self.seen.files.keys() <= {entry["file_id"] for entry in stored}
        for entry in stored:
            assert hashlib.md5((self.root / "files" / entry["file_id"]).read_bytes()).hexdigest() == entry["md5"]
        assert {path.name for path in (self.root / "files").glob("*")} == {entry["file_id"] for entry in stored}

        async def is_alone() -> bool:
            return processes_below(self.root) == {self.run.process.pid}

        await until(is_alone)

    async def check_job(self, job_id: str, point: str) -> None:
        job = await self.status(job_id)
        where = f"{job_id} {job['status']} before {point}"
        lines: list[str] = []
        while more := (await self.run.ask("GET", f"{FT}/{job_id}/logs?line=1000&offset={len(lines)}"))["output"][
            "logs"
        ]:
            lines += more
        assert lines[: len(self.seen.lines[job_id])] == self.seen.lines[job_id], where
        assert [number for number, line in enumerate(lines) if line == END] == [len(lines) - 1], (where, lines)
        begun = [line.partition(" - ")[2] for line in lines if "'step': " in line and "critic" in line]
        assert len(begun) == len(set(begun)), where
        if job["status"] == "FAILED":
            assert job["message"] == "platform stopped", where
        if "start_time" not in job:
            assert job["status"] == "CANCELED", where
            return
        report = await self.run.ask("GET", f"/local/v1/jobs/{job_id}/report")
        assert report["status"] == job["status"], where
        assert (job["status"] == "SUCCEEDED") == ("finetuned_output" in job), where
        steps = (await self.run.ask("GET", f"/local/v1/jobs/{job_id}/steps"))["steps"]
        assert [step["step"] for step in steps] == list(range(1, len(steps) + 1)), where
        await self.run.ask("GET", f"/local/v1/jobs/{job_id}/checkpoints")
        for step in steps:
            await self.run.ask("GET", f"/local/v1/jobs/{job_id}/trajectories?step={step['step']}")


async def test_no_kill_loses_what_was_told(tmp_path: Path, make_package: Callable[..., bytes]) -> None:
    package = make_package({"fns.py": FUNCTIONS})

    async def run(name: str, points: tuple[str, ...]) -> None:
        lane = Lane(tmp_path / name, package)
        try:
            for point in points:
                await lane.kill_at(point)
            await lane.run.ready()
            await lane.check("the end")
            assert (await lane.run.end())[0] == 0
            assert processes_below(lane.root) == set()
        finally:
            await lane.run.end(signal.SIGKILL)

    async with asyncio.TaskGroup() as lanes:
        for number, points in enumerate(LANES):
            lanes.create_task(run(f"lane-{number}", points))


def test_every_point_is_killed_at() -> None:
    """A point in the code that no lane names would test nothing."""
    folder = Path(crash.__file__).parent
    pattern = re.compile(r'crash\.(?:point|torn)\("([a-z.]+)"')
    found = {name for path in folder.rglob("*.py") for name in pattern.findall(path.read_text())}
    assert found == {point.partition(":")[0] for lane in LANES for point in lane}
    assert len(found) >= 30
