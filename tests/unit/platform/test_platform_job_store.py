import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.status import MOVES, TERMINAL, JobStatus
from agentic_rl_tui.core.platform import ids
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.store import jobs as jobs_module
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.jobs import Jobs

REQUEST = {"model": "qwen3.5-9b", "job_name": "a", "hyper_parameters": {"batch_size": "4"}}


class Clock:
    def __init__(self) -> None:
        self.now = 1_796_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Jobs]:
    database = Database(tmp_path / "platform.db")
    yield Jobs(database, Bell(), clock=Clock())
    database.close()


async def ended(store: Jobs, **changes: object) -> str:
    job = await store.create({**REQUEST, **changes}, training_type="reinforcement")
    assert await store.move(job.job_id, JobStatus.CANCELED)
    return job.job_id


async def place(store: Jobs, status: JobStatus) -> str:
    """A new job brought to a status by legal moves."""
    job = await store.create(REQUEST, training_type="reinforcement")
    paths = {
        JobStatus.PENDING: (),
        JobStatus.QUEUING: (JobStatus.QUEUING,),
        JobStatus.RUNNING: (JobStatus.RUNNING,),
        JobStatus.CANCELING: (JobStatus.RUNNING, JobStatus.CANCELING),
        JobStatus.SUCCEEDED: (JobStatus.RUNNING, JobStatus.SUCCEEDED),
        JobStatus.FAILED: (JobStatus.RUNNING, JobStatus.FAILED),
        JobStatus.CANCELED: (JobStatus.CANCELED,),
    }
    for step in paths[status]:
        assert await store.move(job.job_id, step)
    return job.job_id


REACHED = [status for status in JobStatus if status not in (JobStatus.SUSPENDED, JobStatus.UNKNOWN)]


@pytest.mark.parametrize("source", REACHED)
async def test_a_job_moves_only_where_the_table_allows(store: Jobs, source: JobStatus) -> None:
    for target in JobStatus:
        job_id = await place(store, source)
        moved = await store.move(job_id, target, code="C", message="m")
        assert moved == (target in MOVES.get(source, ())), (source, target)
        job = await store.job(job_id)
        assert job is not None
        assert job.status == (target if moved else source)
        assert (job.code, job.message) == (("C", "m") if moved else (None, None))


async def test_of_two_writers_one_wins(store: Jobs) -> None:
    job_id = await place(store, JobStatus.RUNNING)
    moves = [store.move(job_id, target) for target in (JobStatus.SUCCEEDED, JobStatus.FAILED)] * 1
    assert sorted(await asyncio.gather(*moves)) == [False, True]


async def test_a_job_knows_its_times(store: Jobs) -> None:
    job = await store.create(REQUEST, training_type="reinforcement")
    await store.move(job.job_id, JobStatus.RUNNING)
    await store.move(job.job_id, JobStatus.SUCCEEDED)
    found = await store.job(job.job_id)
    assert found is not None
    assert found.started_at is not None
    assert found.ended_at is not None
    assert found.created_at < found.started_at < found.ended_at
    assert found.request.hyper_parameters == {"batch_size": "4"}


async def test_progress_and_output_are_kept(store: Jobs) -> None:
    job_id = await place(store, JobStatus.RUNNING)
    progress = JobProgress(phase="train", step=3, total_steps=9, rewards=(0.1, 0.2), validation=0.5)
    await store.set_progress(job_id, progress)
    await store.set_output(job_id, "qwen3.5-9b-ft-1")
    found = await store.job(job_id)
    assert found is not None
    assert found.progress == progress
    assert found.finetuned_output == "qwen3.5-9b-ft-1"
    assert store.base_model("qwen3.5-9b-ft-1") == "qwen3.5-9b"
    assert store.base_model("other") == "other"


async def test_moves_and_progress_ring_the_bell(tmp_path: Path) -> None:
    database, bell = Database(tmp_path / "platform.db"), Bell()
    store = Jobs(database, bell)
    job = await store.create(REQUEST, training_type="reinforcement")
    for change in (
        store.move(job.job_id, JobStatus.RUNNING),
        store.set_progress(job.job_id, JobProgress(step=1)),
        store.set_output(job.job_id, "x"),
    ):
        waiting = asyncio.create_task(bell.wait(job.job_id, 5))
        await asyncio.sleep(0)
        await change
        assert await waiting
    assert not await bell.wait(job.job_id, 0)
    database.close()


async def test_ids_differ_even_when_chance_repeats(store: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr(ids.secrets, "token_hex", lambda size: next(draws))
    monkeypatch.setattr(store, "_clock", lambda: 1_796_000_000.0)
    first, second = [await store.create(REQUEST, training_type="reinforcement") for _ in range(2)]
    assert (first.job_id[-4:], second.job_id[-4:]) == ("aaaa", "bbbb")
    assert first.job_id[:-4] == second.job_id[:-4]


async def test_filters_and_counts(store: Jobs) -> None:
    first = await ended(store, model="m1", job_name="x")
    second = await ended(store, model="m2", job_name="x")
    third = (await store.create({**REQUEST, "model": "m1"}, training_type="pg_opd")).job_id
    for filters, expected in (
        ({"model": "m1"}, [third, first]),
        ({"name": "x"}, [second, first]),
        ({"status": "CANCELED"}, [second, first]),
        ({"status": "CANCELED", "model": "m2"}, [second]),
        ({"name": "nobody"}, []),
    ):
        found, total = store.page(1, 10, **filters)  # type: ignore[arg-type]
        assert ([job.job_id for job in found], total) == (expected, len(expected))
    found, total = store.page(2, 1, name="x")
    assert ([job.job_id for job in found], total) == ([first], 2)


async def test_a_job_is_deleted_only_when_it_has_ended(store: Jobs) -> None:
    for status in REACHED:
        job_id = await place(store, status)
        assert await store.delete(job_id) == (status in TERMINAL)
        assert (store.stored(job_id) is None) == (status in TERMINAL)
    assert not await store.delete("ft-000000000000-0000")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(
    steps=st.lists(st.one_of(st.just("add"), st.integers(0, 200)), min_size=1, max_size=40),
    pages=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=5),
)
def test_pages_are_the_same_as_of_a_list(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | int], pages: list[tuple[int, int]]
) -> None:
    async def run() -> None:
        database = Database(tmp_path_factory.mktemp("jobs") / "platform.db")
        store = Jobs(database, Bell())
        alive: list[str] = []
        for step in steps:
            if step == "add":
                alive.append(await ended(store))
            elif alive:
                gone = alive.pop(int(step) % len(alive))
                assert await store.delete(gone)
            for page_no, size in pages:
                found, total = store.page(page_no, size)
                newest_first = alive[::-1]
                assert [job.job_id for job in found] == newest_first[(page_no - 1) * size : page_no * size]
                assert total == len(alive)
        database.close()

    stride = jobs_module._Places.STRIDE
    jobs_module._Places.STRIDE = 3
    try:
        asyncio.run(run())
    finally:
        jobs_module._Places.STRIDE = stride


async def test_files_in_use_are_found(store: Jobs) -> None:
    body = {**REQUEST, "training_datasets": [{"file_id": "f-1"}]}
    job = await store.create(body, training_type="reinforcement")
    active = frozenset({JobStatus.PENDING})
    assert store.uses_file("f-1", active) == job.job_id
    assert store.uses_file("f-2", active) is None
    await store.move(job.job_id, JobStatus.CANCELED)
    assert store.uses_file("f-1", active) is None


async def test_waiting_jobs_come_oldest_first(store: Jobs) -> None:
    made = [(await store.create(REQUEST, training_type="reinforcement")).job_id for _ in range(3)]
    await store.move(made[1], JobStatus.QUEUING)
    found = await store.jobs_in(JobStatus.PENDING, JobStatus.QUEUING)
    assert [job.job_id for job in found] == made
    assert [job.job_id for job in await store.jobs_in(JobStatus.QUEUING)] == [made[1]]
