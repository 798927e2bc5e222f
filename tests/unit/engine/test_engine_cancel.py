"""Cancelling takes effect in every phase within two seconds and leaves a partial report."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import END_MARKER, PLATFORM_STOPPED, read_report
from agentic_rl_tui.core.platform.engine.engine import STOP_LIMIT_S
from agentic_rl_tui.core.platform.engine.functions import CLOSE_LIMIT_S


async def forever() -> None:
    await asyncio.Event().wait()


def hold(where: str, reached: asyncio.Event, ask: Callable[..., Awaitable[Any]], kit: Any) -> dict[str, Callable]:
    """Bodies of which the one named by `where` never comes back."""

    async def rollout(payload: dict[str, Any]) -> Any:
        phase = payload["request_metadata"]["rollout_id"].split("-")[0]
        if where == phase:
            reached.set()
            await forever()
        return await ask(payload)

    async def reward(payload: dict[str, Any]) -> Any:
        if where == "reward":
            reached.set()
            await forever()
        return kit.scored(1.0)

    async def group(payload: dict[str, Any]) -> Any:
        if where == "group reward":
            reached.set()
            await forever()
        return {"reward": {"rewards": [{"reward_score": 0.0} for _ in payload["agent_outputs"]]}}

    return {"rollout": rollout, "reward": reward, "group": group}


PHASES = ["validating", "starting functions", "validation", "train", "reward", "group reward"]


async def started(bench: Any, kit: Any, where: str) -> tuple[Any, asyncio.Task[Any], asyncio.Event]:
    """A job that hangs in a phase, the task that runs it and its cancel event."""
    reached, cancel = asyncio.Event(), asyncio.Event()
    bodies = hold(where, reached, bench.agent(), kit)
    request = bench.request(
        rollout=bodies["rollout"],
        rewards=[bodies["reward"]],
        group_rewards=[bodies["group"]],
        rows=kit.arithmetic(16),
        validation=kit.arithmetic(2, seed=3) if where == "validation" else None,
    )
    if where == "starting functions":
        bench.functions.open_delay = asyncio.Event()
        reached.set()
    if where == "validating":
        path = bench.files.path

        async def slow_path(file_id: str) -> Any:
            reached.set()
            await forever()
            return await path(file_id)

        bench.files.path = slow_path
    record = bench.jobs.add(request)
    await bench.jobs.move(record.job_id, JobStatus.RUNNING)
    task = asyncio.create_task(bench.engine.run(bench.jobs.records[record.job_id], cancel))
    async with asyncio.timeout(5):
        await reached.wait()
        if where == "starting functions":
            await bench.jobs.until(lambda: any(progress.phase == where for progress in bench.jobs.progress))
    return record, task, cancel


@pytest.mark.parametrize("where", PHASES)
async def test_cancel_in_every_phase(bench: Any, kit: Any, where: str) -> None:
    record, task, cancel = await started(bench, kit, where)
    await bench.jobs.move(record.job_id, JobStatus.CANCELING)
    cancel.set()
    async with asyncio.timeout(10):
        await task
    job = bench.jobs.records[record.job_id]
    assert job.status is JobStatus.CANCELED
    lines = bench.lines(job)
    assert lines[-1] == END_MARKER
    assert "job canceled by its user after 0 steps" in lines[-2]
    report = read_report(bench.artefacts / job.job_id)
    assert report is not None
    assert (report["status"], report["is_partial"]) == ("CANCELED", True)
    assert all(function.closed for function in bench.functions.opened)
    assert bench.gateway.open_sessions == 0
    assert job.finetuned_output is None


@pytest.mark.parametrize("where", ["starting functions", "train"])
async def test_a_stopping_platform_fails_its_jobs_with_the_reason(bench: Any, kit: Any, where: str) -> None:
    record, task, _ = await started(bench, kit, where)
    task.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await task
    job = bench.jobs.records[record.job_id]
    assert (job.status, job.code, job.message) == (JobStatus.FAILED, "PlatformStopped", PLATFORM_STOPPED)
    assert bench.lines(job)[-1] == END_MARKER
    assert all(function.closed for function in bench.functions.opened)


async def test_functions_that_will_not_close_hold_nobody_up(bench: Any, kit: Any) -> None:
    record, task, cancel = await started(bench, kit, "train")
    for function in bench.functions.opened:
        function.close = forever
    cancel.set()
    await bench.jobs.move(record.job_id, JobStatus.CANCELING)
    async with asyncio.timeout(10):
        await task
    assert bench.jobs.records[record.job_id].status is JobStatus.CANCELED


async def test_rollouts_that_ignore_cancelling_hold_nobody_up(bench: Any, kit: Any) -> None:
    reached, cancel, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(payload: dict[str, Any]) -> Any:
        reached.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return kit.done(payload["messages"], payload)

    record = bench.jobs.add(
        bench.request(rollout=stubborn, rewards=[kit.strict], rows=kit.arithmetic(2), batch_size=1, n_rollouts=1)
    )
    await bench.jobs.move(record.job_id, JobStatus.RUNNING)
    task = asyncio.create_task(bench.engine.run(bench.jobs.records[record.job_id], cancel))
    await reached.wait()
    await bench.jobs.move(record.job_id, JobStatus.CANCELING)
    cancel.set()
    async with asyncio.timeout(10):
        await task
    assert bench.jobs.records[record.job_id].status is JobStatus.CANCELED
    release.set()


def test_the_limits_of_waiting_leave_room_within_two_seconds() -> None:
    assert STOP_LIMIT_S + CLOSE_LIMIT_S <= 1.5


async def test_a_cancel_after_steps_reports_them(bench: Any, kit: Any) -> None:
    cancel = asyncio.Event()
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> Any:
        if payload["request_metadata"]["rollout_id"].startswith("train-3-"):
            await bench.jobs.move(record.job_id, JobStatus.CANCELING)
            cancel.set()
            await forever()
        return await ask(payload)

    record = bench.jobs.add(bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(64)))
    await bench.jobs.move(record.job_id, JobStatus.RUNNING)
    await bench.engine.run(bench.jobs.records[record.job_id], cancel)
    report = read_report(bench.artefacts / record.job_id)
    assert report is not None
    assert (report["status"], report["steps_done"]) == ("CANCELED", 2)
    assert "after 2 steps" in bench.text(record)


async def test_a_function_that_opens_too_late_is_closed(bench: Any, kit: Any) -> None:
    cancel, release, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
    open_it = bench.functions.open

    async def stubborn(entity_id: str, **facts: Any) -> Any:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        opened = await open_it(entity_id, **facts)

        async def close() -> None:
            closed.set()

        opened.close = close
        return opened

    bench.functions.open = stubborn
    record = bench.jobs.add(bench.request(rollout=bench.agent(), rows=kit.arithmetic(8)))
    await bench.jobs.move(record.job_id, JobStatus.RUNNING)
    task = asyncio.create_task(bench.engine.run(bench.jobs.records[record.job_id], cancel))
    await bench.jobs.until(lambda: any(progress.phase == "starting functions" for progress in bench.jobs.progress))
    cancel.set()
    async with asyncio.timeout(10):
        await task
    assert bench.jobs.records[record.job_id].status is JobStatus.CANCELED
    release.set()
    async with asyncio.timeout(10):
        await closed.wait()
