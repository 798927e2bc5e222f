"""Somebody sets the system's clock while jobs run: real store, logs, scheduler and engine below clocks of ours."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.clock import ClockWatch
from agentic_rl_tui.core.platform.engine import END_MARKER, Engine, EngineOptions, Scheduler
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.jobs import Jobs
from agentic_rl_tui.core.platform.store.logs import InstanceLogs, JobLogs

HOUR = 3600.0
JUMPS = (5 * HOUR, -9 * HOUR, 3 * HOUR, -2 * HOUR)


class Time:
    """A wall clock that can be set beside one that cannot."""

    def __init__(self) -> None:
        self.wall = 1_796_000_000.0
        self.steady = 50.0

    def go_on(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@dataclass
class Place:
    time: Time
    bell: Bell
    jobs: Jobs
    logs: JobLogs
    engine: Engine
    scheduler: Scheduler
    bench: Any

    async def submit(self, request: Any) -> str:
        stored = await self.jobs.create(request.model_dump(exclude_none=True), training_type="reinforcement")
        self.scheduler.wake()
        return stored.job_id

    async def until(self, job_id: str, *statuses: JobStatus) -> Any:
        async with asyncio.timeout(20):
            while True:
                stored = self.jobs.stored(job_id)
                assert stored is not None
                if stored.status in statuses:
                    return stored
                await self.bell.wait(job_id, 20)


@pytest.fixture
async def place(bench: Any, tmp_path: Path) -> AsyncIterator[Place]:
    time, bell = Time(), Bell()
    database = Database(tmp_path / "platform.db")
    watch = ClockWatch(wall=lambda: time.wall, steady=lambda: time.steady)
    jobs = Jobs(database, bell, clock=lambda: time.wall, clock_set_by=watch.set_by)
    logs = JobLogs(tmp_path / "logs", bell)
    (tmp_path / "logs").mkdir()
    engine = Engine(
        jobs=jobs,
        log=logs,
        functions=bench.functions,
        files=bench.files,
        gateway=bench.gateway,
        artefacts=bench.artefacts,
        options=EngineOptions(now=lambda: time.wall, timer=lambda: time.steady),
    )
    scheduler = Scheduler(jobs=jobs, log=logs, engine=engine)
    await scheduler.start()
    yield Place(time, bell, jobs, logs, engine, scheduler, bench)
    await scheduler.stop()
    logs.close()
    database.close()


async def test_jumps_while_jobs_run_and_wait(place: Place, kit: Any) -> None:
    jumps = iter(JUMPS * 100)
    calls = 0

    def reward(payload: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        place.time.go_on(0.25)
        if calls % 8 == 0:
            place.time.wall += next(jumps)
        return kit.scored(1.0)

    request = place.bench.request(rollout=place.bench.agent(), rewards=[reward], rows=kit.arithmetic(16))
    began = place.time.steady
    ids = [await place.submit(request) for _ in range(3)]
    ended = [await place.until(job_id, JobStatus.SUCCEEDED, JobStatus.FAILED) for job_id in ids]
    passed = place.time.steady - began
    assert calls == 3 * 64
    ran = []
    for job in ended:
        assert job.status == JobStatus.SUCCEEDED, job.message
        assert job.created_at <= job.started_at <= job.ended_at
        ran.append(job.ended_at - job.started_at)
    # What really passed, to within the jump at the very end of a job.
    assert ran == pytest.approx([passed / 3] * 3, abs=3)
    assert ended[2].started_at - ended[2].created_at == pytest.approx(2 * passed / 3, abs=6)
    listed, total = place.jobs.page(1, 10)
    assert ([job.job_id for job in listed], total) == (ids[::-1], 3)
    for job_id in ids:
        lines, count = await place.logs.read(job_id, 0, 1000)
        assert (len(lines), lines[-1], lines.count(END_MARKER)) == (count, END_MARKER, 1)
        steps = [int(found[1]) for line in lines if (found := re.search(r"\{'step': (\d+)", line))]
        assert steps == sorted(steps) != []
        durations = [float(found) for line in lines for found in re.findall(r"'timing/s/step': ([\d.]+)", line)]
        assert durations == pytest.approx([8.0, 8.0], abs=0.1)


@pytest.mark.parametrize("jump", [6 * HOUR, -6 * HOUR])
async def test_cancelling_after_a_jump(place: Place, kit: Any, jump: float) -> None:
    reached = asyncio.Event()

    async def hangs(_payload: dict[str, Any]) -> Any:
        reached.set()
        await asyncio.Event().wait()

    request = place.bench.request(rollout=hangs, rewards=[kit.strict], rows=kit.arithmetic(16))
    running, waiting = await place.submit(request), await place.submit(request)
    async with asyncio.timeout(10):
        await reached.wait()
    place.time.wall += jump
    assert await place.scheduler.cancel(waiting)
    assert await place.scheduler.cancel(running)
    async with asyncio.timeout(10):
        for job_id in (running, waiting):
            job = await place.until(job_id, JobStatus.CANCELED)
            assert job.created_at <= (job.started_at or job.created_at) <= job.ended_at
            assert job.ended_at - job.created_at < 60
            assert (await place.logs.last(job_id)) == END_MARKER


async def test_timeouts_of_functions_are_not_wall_time(place: Place, kit: Any) -> None:
    def reward(_payload: dict[str, Any]) -> dict[str, Any]:
        place.time.wall += 24 * HOUR
        return kit.scored(1.0)

    request = place.bench.request(rollout=place.bench.agent(), rewards=[reward], rows=kit.arithmetic(8))
    job = await place.until(await place.submit(request), JobStatus.SUCCEEDED, JobStatus.FAILED)
    assert job.status == JobStatus.SUCCEEDED
    text = "\n".join((await place.logs.read(job.job_id, 0, 1000))[0])
    assert "timeout" not in re.sub(r"timeout 5 s|timeout_rollouts': 0", "", text)


async def test_an_ended_job_keeps_its_times(place: Place, kit: Any) -> None:
    request = place.bench.request(rollout=place.bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(8))
    first = await place.until(await place.submit(request), JobStatus.SUCCEEDED)
    place.time.wall -= 4 * HOUR
    second = await place.until(await place.submit(request), JobStatus.SUCCEEDED)
    assert place.jobs.stored(first.job_id) == first
    assert second.created_at < first.created_at
    assert [job.job_id for job in place.jobs.page(1, 1)[0]] == [second.job_id]


async def test_logs_of_functions_by_time_range(tmp_path: Path) -> None:
    logs = InstanceLogs(tmp_path)
    for moment in (1000.0, 1001.0, 100.0, 101.0, 5000.0):
        logs.add("i-1", f"at {moment:.0f}", time_s=moment)
    for start, end, expected in ((100, 101, ["at 100", "at 101"]), (1000, 1001, ["at 1000", "at 1001"]), (0, 99, [])):
        found, total = await logs.query("i-1", page=1, size=10, start_s=start, end_s=end)
        assert ([entry.text for entry in found], total) == (expected, len(expected))
    assert [entry.time_s for entry in (await logs.query("i-1", page=1, size=10))[0]][2:] == [100.0, 101.0, 5000.0]
    logs.close()


def test_a_slewed_clock_was_not_set() -> None:
    time = Time()
    watch = ClockWatch(wall=lambda: time.wall, steady=lambda: time.steady)
    time.go_on(7200)
    time.wall += 1.5
    assert watch.set_by() == 0
    time.wall += HOUR
    assert watch.set_by() == pytest.approx(HOUR + 1.5)
    assert watch.set_by() == 0
    time.wall -= 2 * HOUR
    assert watch.set_by() == pytest.approx(-2 * HOUR)


def test_the_real_clocks_go_alike() -> None:
    watch = ClockWatch()
    assert watch.set_by() == 0
