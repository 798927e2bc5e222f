"""The queue: who runs when, and what a killed platform leaves."""

import asyncio
import json
from typing import Any

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import END_MARKER, PLATFORM_STOPPED, read_report, read_steps
from agentic_rl_tui.core.tracing.collect import Tally


def gated(bench: Any, kit: Any) -> tuple[Any, asyncio.Event]:
    """A job request whose rollouts wait for an event."""
    gate = asyncio.Event()
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> Any:
        await gate.wait()
        return await ask(payload)

    return bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(8)), gate


async def test_one_runs_and_the_others_queue_oldest_first(bench: Any, kit: Any) -> None:
    request, gate = gated(bench, kit)
    first, second, third = (bench.jobs.add(request).job_id for _ in range(3))
    scheduler = bench.scheduler()
    await scheduler.recover()
    await scheduler.start()
    await bench.jobs.until(lambda: bench.jobs.records[third].status is JobStatus.QUEUING)
    assert bench.jobs.records[first].status is JobStatus.RUNNING
    assert bench.jobs.records[second].status is JobStatus.QUEUING
    assert scheduler.running == (first,)
    gate.set()
    await bench.jobs.ended(first, second, third)
    runs = [job_id for job_id, status in bench.jobs.moves if status is JobStatus.RUNNING]
    assert runs == [first, second, third]
    assert {bench.jobs.records[job_id].status for job_id in runs} == {JobStatus.SUCCEEDED}
    await scheduler.stop()


async def test_a_submitted_job_starts_when_the_queue_is_woken(bench: Any, kit: Any) -> None:
    scheduler = bench.scheduler(max_running=2)
    await scheduler.start()
    request, gate = gated(bench, kit)
    jobs = [bench.jobs.add(request).job_id for _ in range(3)]
    scheduler.wake()
    await bench.jobs.until(lambda: len(scheduler.running) == 2)
    assert bench.jobs.records[jobs[2]].status in (JobStatus.PENDING, JobStatus.QUEUING)
    gate.set()
    await bench.jobs.ended(*jobs)
    await scheduler.stop()


async def test_cancel_of_waiting_running_and_unknown_jobs(bench: Any, kit: Any) -> None:
    scheduler = bench.scheduler()
    request, gate = gated(bench, kit)
    first, second = bench.jobs.add(request).job_id, bench.jobs.add(request).job_id
    await scheduler.start()
    await bench.jobs.until(lambda: bench.jobs.records[second].status is JobStatus.QUEUING)
    assert await scheduler.cancel(second)
    assert bench.jobs.records[second].status is JobStatus.CANCELED
    assert bench.log.lines[second][-1] == END_MARKER
    assert not await scheduler.cancel(second)
    assert not await scheduler.cancel("ft-none")
    assert await scheduler.cancel(first)
    assert bench.jobs.records[first].status in (JobStatus.CANCELING, JobStatus.CANCELED)
    async with asyncio.timeout(10):
        await bench.jobs.ended(first)
    assert [status for job_id, status in bench.jobs.moves if job_id == first] == [
        JobStatus.RUNNING,
        JobStatus.CANCELING,
        JobStatus.CANCELED,
    ]
    gate.set()
    await scheduler.stop()


async def test_stop_ends_running_jobs_and_leaves_the_queue(bench: Any, kit: Any) -> None:
    scheduler = bench.scheduler()
    request, _ = gated(bench, kit)
    first, second = bench.jobs.add(request).job_id, bench.jobs.add(request).job_id
    await scheduler.start()
    await bench.jobs.until(lambda: bench.jobs.records[second].status is JobStatus.QUEUING)
    async with asyncio.timeout(10):
        await scheduler.stop()
    assert bench.jobs.records[first].status is JobStatus.FAILED
    assert bench.jobs.records[first].message == PLATFORM_STOPPED
    assert bench.jobs.records[second].status is JobStatus.QUEUING
    assert scheduler.running == ()


async def test_recover_gives_interrupted_jobs_a_true_state(bench: Any, kit: Any) -> None:
    request, gate = gated(bench, kit)
    gate.set()
    whole = await bench.run(request)
    folder = bench.artefacts / whole.job_id
    (folder / "report.json").unlink()
    bench.jobs.add(request, status=JobStatus.RUNNING, job_id=whole.job_id)
    leaving = bench.jobs.add(request, status=JobStatus.CANCELING).job_id
    waiting = bench.jobs.add(request, status=JobStatus.QUEUING).job_id
    scheduler = bench.scheduler()
    await scheduler.recover()
    failed = bench.jobs.records[whole.job_id]
    assert (failed.status, failed.code, failed.message) == (JobStatus.FAILED, "PlatformStopped", PLATFORM_STOPPED)
    assert bench.jobs.records[leaving].status is JobStatus.CANCELED
    assert bench.jobs.records[waiting].status is JobStatus.QUEUING
    report = read_report(folder)
    assert report is not None
    assert (report["status"], report["steps_done"]) == ("FAILED", 1)
    assert len(report["checkpoints"]) == 1
    await scheduler.start()
    await bench.jobs.ended(waiting)
    assert bench.jobs.records[waiting].status is JobStatus.SUCCEEDED
    await scheduler.stop()


async def test_a_store_that_fails_once_does_not_stop_the_queue(bench: Any, kit: Any) -> None:
    request, gate = gated(bench, kit)
    gate.set()
    job_id = bench.jobs.add(request).job_id
    read, failures = bench.jobs.jobs_in, [OSError("disk full")]

    async def shaky(*statuses: JobStatus) -> Any:
        if failures:
            raise failures.pop()
        return await read(*statuses)

    bench.jobs.jobs_in = shaky
    scheduler = bench.scheduler()
    await scheduler.start()
    scheduler.wake()
    await bench.jobs.ended(job_id)
    await scheduler.stop()


async def test_a_job_stopped_before_its_first_step_is_no_orphan(bench: Any, kit: Any) -> None:
    request, _ = gated(bench, kit)
    job_id = bench.jobs.add(request).job_id
    scheduler = bench.scheduler()
    await scheduler.start()
    await bench.jobs.until(lambda: bench.jobs.records[job_id].status is JobStatus.RUNNING)
    await scheduler.stop()
    assert bench.jobs.records[job_id].status is JobStatus.FAILED
    assert bench.jobs.records[job_id].message == PLATFORM_STOPPED
    assert bench.log.lines[job_id][-1] == END_MARKER


async def test_a_cancel_just_before_a_job_runs(bench: Any, kit: Any) -> None:
    request, _ = gated(bench, kit)
    job_id = bench.jobs.add(request).job_id
    scheduler, move = bench.scheduler(), bench.jobs.move

    async def overtaken(moved: str, target: JobStatus, **facts: Any) -> bool:
        if target is JobStatus.RUNNING:
            assert await scheduler.cancel(job_id)
        return await move(moved, target, **facts)

    bench.jobs.move = overtaken
    await scheduler.start()
    await bench.jobs.ended(job_id)
    assert [status for _, status in bench.jobs.moves] == [JobStatus.CANCELING, JobStatus.CANCELED]
    assert bench.log.lines[job_id][-1] == END_MARKER
    assert bench.functions.opened == []
    await scheduler.stop()


async def test_a_job_counts_as_running_before_the_store_says_so(bench: Any, kit: Any) -> None:
    """Whoever looks for jobs that the store calls running and nobody runs must never find one that just starts."""
    request, _ = gated(bench, kit)
    job_id = bench.jobs.add(request).job_id
    scheduler, move, seen = bench.scheduler(), bench.jobs.move, []

    async def watched(moved: str, target: JobStatus, **facts: Any) -> bool:
        done = await move(moved, target, **facts)
        seen.append((target, scheduler.running))
        return bool(done)

    bench.jobs.move = watched
    await scheduler.start()
    while not seen:  # noqa: ASYNC110 - the moves are watched
        await asyncio.sleep(0)
    assert seen[0] == (JobStatus.RUNNING, (job_id,))
    await scheduler.stop()


async def test_a_cancel_just_after_a_job_runs(bench: Any, kit: Any) -> None:
    request, _ = gated(bench, kit)
    job_id = bench.jobs.add(request).job_id
    scheduler, move = bench.scheduler(), bench.jobs.move

    async def followed(moved: str, target: JobStatus, **facts: Any) -> bool:
        done = await move(moved, target, **facts)
        if target is JobStatus.RUNNING:
            assert await scheduler.cancel(job_id)
        return done

    bench.jobs.move = followed
    await scheduler.start()
    async with asyncio.timeout(10):
        await bench.jobs.ended(job_id)
    assert [status for _, status in bench.jobs.moves] == [JobStatus.RUNNING, JobStatus.CANCELING, JobStatus.CANCELED]
    await scheduler.stop()


async def test_a_stop_just_after_a_job_runs(bench: Any, kit: Any) -> None:
    request, _ = gated(bench, kit)
    job_id = bench.jobs.add(request).job_id
    scheduler, move, moved_on = bench.scheduler(), bench.jobs.move, asyncio.Event()

    async def slow(moved: str, target: JobStatus, **facts: Any) -> bool:
        done = await move(moved, target, **facts)
        if target is JobStatus.RUNNING:
            moved_on.set()
            await asyncio.Event().wait()
        return done

    bench.jobs.move = slow
    await scheduler.start()
    await moved_on.wait()
    await scheduler.stop()
    assert bench.jobs.records[job_id].status is JobStatus.FAILED
    assert bench.jobs.records[job_id].message == PLATFORM_STOPPED


async def test_a_waiting_job_that_is_being_cancelled_does_not_start(bench: Any, kit: Any) -> None:
    request, gate = gated(bench, kit)
    gate.set()
    job_id = bench.jobs.add(request, status=JobStatus.QUEUING).job_id
    scheduler, append = bench.scheduler(), bench.log.append

    async def slow(logged: str, lines: Any) -> None:
        await scheduler.start()
        scheduler.wake()
        for _ in range(20):
            await asyncio.sleep(0)
        await append(logged, lines)

    bench.log.append = slow
    assert await scheduler.cancel(job_id)
    assert [status for _, status in bench.jobs.moves] == [JobStatus.CANCELED]
    await scheduler.stop()


async def test_a_job_killed_as_it_ended_keeps_its_end(bench: Any, kit: Any) -> None:
    """What the report says holds; what was to follow the report is done once, whatever of it was done before."""
    reports = {
        "SUCCEEDED": {"reason": None, "code": None, "output": "practice-m"},
        "FAILED": {"reason": "all rollouts failed", "code": "RolloutFailed", "output": None},
    }
    for status, facts in reports.items():
        for said in ([], ["the last words"], ["the last words", END_MARKER]):
            job_id = bench.jobs.add(bench.request(rollout=bench.agent(), rewards=[kit.strict])).job_id
            await bench.jobs.move(job_id, JobStatus.RUNNING)
            (bench.artefacts / job_id).mkdir(parents=True)
            (bench.artefacts / job_id / "report.json").write_text(json.dumps({"status": status, **facts}))
            await bench.log.append(job_id, said)
            await bench.scheduler().recover()
            job = bench.jobs.records[job_id]
            assert (job.status, job.message, job.code) == (status, facts["reason"], facts["code"])
            assert job.finetuned_output == facts["output"]
            lines = bench.log.lines[job_id]
            assert lines[: len(said)] == said
            assert (lines.count(END_MARKER), lines[-1]) == (1, END_MARKER)


async def test_a_waiting_job_whose_log_has_ended_was_canceled(bench: Any, kit: Any) -> None:
    ended, waiting = (
        bench.jobs.add(bench.request(rollout=bench.agent(), rewards=[kit.strict])).job_id for _ in range(2)
    )
    await bench.log.append(ended, ["job canceled before it started", END_MARKER])
    await bench.scheduler().recover()
    assert bench.jobs.records[ended].status is JobStatus.CANCELED
    assert bench.jobs.records[waiting].status is JobStatus.PENDING


async def test_a_kill_does_not_lose_how_complete_the_traces_were(bench: Any, kit: Any) -> None:
    tally = Tally()

    def reward(_payload: dict[str, Any]) -> dict[str, Any]:
        tally.calls += 1
        tally.traced[0] += 1
        tally.total[0] += 2
        tally.reasons["a client that is not traced"] += 1
        return kit.scored(1.0)

    bench.engine.tally = lambda _job_id: tally
    request = bench.request(rollout=bench.agent(), rewards=[reward], rows=kit.arithmetic(16))
    job_id = (await bench.run(request)).job_id
    folder = bench.artefacts / job_id
    whole = read_report(folder)
    (folder / "report.json").unlink()
    bench.log.lines[job_id] = bench.log.lines[job_id][:-3]
    bench.jobs.add(request, status=JobStatus.RUNNING, job_id=job_id)
    bench.engine.tally = lambda _job_id: None
    await bench.scheduler().recover()
    report = read_report(folder)
    assert whole is not None
    assert report is not None
    assert report["status"] == "FAILED"
    assert report["tracing"] == whole["tracing"] == tally.record()
    assert bench.lines(bench.jobs.records[job_id])[-3].endswith("traces: LLM 64/128, tools 0/0")
    assert all("tracing" not in step for step in read_steps(folder))
