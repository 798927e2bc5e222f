"""Jobs: reading whatever a server says, listing, waiting, following."""

import pytest

from agentic_rl_tui.core.client.jobs import FollowNote
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.jobs import LogPage


async def test_unknown_fields_and_statuses_are_kept(service, client):
    service.jobs.append(
        {"job_id": "ft-1", "status": "HIBERNATING", "sparkles": [[1, [2]]], "usage": {"tokens": 3}, "creator": 42}
    )
    job = await client.get("ft-1")
    assert job.status == "HIBERNATING"
    assert not job.is_terminal
    assert job.extra["sparkles"] == [[1, [2]]]
    assert (job.usage, job.creator) == ({"tokens": 3}, "42")


@pytest.mark.parametrize(
    "odd",
    [
        {"hyper_parameters": None, "training_file_ids": None},
        {"hyper_parameters": "text", "training_file_ids": "f1", "model": ["m"]},
        {"progress": {"step": "many"}, "create_time": {"object": "time"}},
        {"status": None},
        {"job_name": 7},
    ],
)
async def test_odd_types_never_break_a_job(service, client, odd):
    service.jobs.append({"job_id": "ft-1", **odd})
    service.jobs.append({"job_id": "ft-0", "status": "RUNNING"})
    assert (await client.get("ft-1")).job_id == "ft-1"
    assert [job.job_id for job in (await client.list()).jobs] == ["ft-1", "ft-0"]


@pytest.mark.parametrize("jobs", [None, "none", [None, 3, {"status": "RUNNING"}], []])
async def test_odd_lists_are_empty(service, client, jobs):
    service.fail("GET", status=200, body={"output": {"jobs": jobs, "total": None, "page_no": "1"}})
    page = await client.list()
    assert page.jobs == ()


async def test_missing_job_fields_are_just_missing(service, client):
    service.jobs.append({"job_id": "ft-1"})
    job = await client.get("ft-1")
    assert (job.creator, job.job_name, job.finetuned_output) == (None, None, None)
    assert job.status == "UNKNOWN"


async def test_list_sends_page_size_and_filter(service, client):
    service.jobs = [
        {"job_id": f"ft-{n}", "status": "RUNNING" if n % 2 else "FAILED", "job_name": f"j{n}"} for n in range(30)
    ]
    page = await client.list(2, 10)
    assert service.seen[0].query == {"page_no": "2", "page_size": "10"}
    assert [job.job_id for job in page.jobs] == [f"ft-{n}" for n in range(10, 20)]
    await client.list(model="qwen3.5-9b")
    assert service.seen[1].query["model"] == "qwen3.5-9b"
    assert {job.status for job in (await client.list(page_size=30, status="failed")).jobs} == {"FAILED"}
    assert [job.job_name for job in (await client.list(page_size=30, name="j29")).jobs] == ["j29"]


async def test_iter_gives_each_job_once_although_pages_drift(service, client):
    service.jobs = [{"job_id": f"ft-{n}", "status": "RUNNING"} for n in range(7)]
    seen = []
    async for job in client.jobs.iter(page_size=3):
        seen.append(job.job_id)
        if job.job_id == "ft-1":
            service.jobs.insert(0, {"job_id": "ft-new", "status": "PENDING"})
    assert seen == [f"ft-{n}" for n in range(7)]


async def test_iter_filters(service, client):
    service.jobs = [{"job_id": f"ft-{n}", "status": "RUNNING" if n % 3 else "FAILED"} for n in range(9)]
    assert [job.job_id async for job in client.iter_jobs(status="FAILED")] == ["ft-0", "ft-3", "ft-6"]


async def test_create_accepts_201_and_reads_the_job(service, client):
    service.fail("POST", status=201, body={"output": {"job_id": "ft-9", "status": "PENDING"}})
    assert (await client.jobs.create({"model": "m"})).job_id == "ft-9"


async def test_logs_start_at_the_first_line(service, client):
    service.lines = [f"line {number}" for number in range(5)]
    page = await client.logs("ft-1")
    assert service.seen[0].query == {"offset": "0", "line": "1000"}
    assert (page.lines, page.total) == (tuple(service.lines), 5)
    assert (await client.logs("ft-1", 3, 1)).lines == ("line 3",)
    assert (await client.logs("ft-1", offset=9)).lines == ()


@pytest.mark.parametrize(("offset", "lines"), [(-1, 10), (0, 0), (0, 1001)])
async def test_log_pages_that_do_not_exist_are_not_asked_for(service, client, offset, lines):
    with pytest.raises(errors.InputError):
        await client.logs("ft-1", offset, lines)
    assert not service.seen


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ({"total": 2, "logs": ["a", {"step": 1}]}, ("a", '{"step":1}')),
        ({"logs": "a\nb"}, ("a", "b")),
        ({"logs": None}, ()),
        ("a\nb", ("a", "b")),
    ],
)
async def test_log_answers_in_every_shape(service, client, output, lines):
    service.fail("logs", status=200, body={"output": output})
    assert (await client.logs("ft-1")).lines == lines


async def test_iter_logs_reads_to_the_end(service, client):
    service.lines = [str(number) for number in range(2500)]
    pages = [page async for page in client.jobs.iter_logs("ft-1", offset=100)]
    assert [line for page in pages for line in page.lines] == service.lines[100:]
    assert [page.offset for page in pages] == [100, 1100, 2100]


async def test_cancel_sends_an_empty_body_with_its_length(service, client):
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    await client.cancel("ft-1")
    assert service.seen[0].header("content-length") == "0"
    assert service.seen[0].header("content-type") is None


async def test_cancel_that_the_state_forbids_is_a_conflict(service, client):
    service.fail("cancel", status=400, body={"code": "UnsupportedOperation", "message": "job has ended"})
    with pytest.raises(errors.Conflict, match="job has ended"):
        await client.cancel("ft-1")


async def test_wait_ends_with_the_job(service, client, clock):
    job = {"job_id": "ft-1", "status": "RUNNING"}
    service.jobs.append(job)
    service.fail("ft-1", times=0)
    told = []

    def end(seen):
        if len(service.seen) == 4:
            job["status"] = "FAILED"

    service.on_request = end
    done = await client.wait("ft-1", on_status=lambda found: told.append(found.status))
    assert done.status == "FAILED"
    assert told == ["RUNNING", "RUNNING", "RUNNING", "FAILED"]
    assert clock.waits == [1.0, 1.5, 2.25]


async def test_wait_survives_losses_that_outlast_the_retries(service, client):
    service.jobs.append({"job_id": "ft-1", "status": "SUCCEEDED"})
    service.fail("ft-1", times=7, status=502, body={})
    assert (await client.wait("ft-1")).status == "SUCCEEDED"
    assert len(service.seen) == 8


async def test_wait_has_a_limit_and_the_job_goes_on(service, client):
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    with pytest.raises(errors.TimedOut, match="still RUNNING") as caught:
        await client.wait("ft-1", timeout_s=0.0)
    assert "goes on" in caught.value.advice


async def test_wait_does_not_hide_an_error_that_stays(service, client):
    with pytest.raises(errors.NotFound):
        await client.wait("ft-404")


async def follow(client, **how) -> tuple[list[str], list[FollowNote]]:
    lines, notes = [], []
    async for piece in client.follow("ft-1", **how):
        if isinstance(piece, LogPage):
            assert piece.offset == len(lines) + how.get("offset", 0)
            lines += piece.lines
        else:
            notes.append(piece)
    return lines, notes


@pytest.fixture
def growing(service):
    """A job whose log grows by some lines with every status that is asked for; it ends after `steps` of them."""

    def make(steps: int, per_step: int = 3) -> None:
        job = {"job_id": "ft-1", "status": "RUNNING"}
        service.jobs.append(job)
        state = {"asked": 0}

        def grow(seen):
            if seen.path.endswith("/ft-1"):
                state["asked"] += 1
                if state["asked"] <= steps:
                    service.lines += [f"line {len(service.lines) + n}" for n in range(per_step)]
                if state["asked"] == steps:
                    job["status"] = "SUCCEEDED"

        service.on_request = grow

    return make


async def test_follow_gives_each_line_once_and_ends_after_the_last(service, client, growing):
    growing(steps=5)
    lines, notes = await follow(client)
    assert lines == service.lines
    assert len(lines) == 15
    assert notes == []


async def test_follow_pauses_as_the_caller_sees_fit_and_loses_no_line_by_it(service, client, growing):
    growing(steps=5)
    waited = []

    async def pause(seconds):
        waited.append(seconds)
        if len(waited) < 4:
            service.lines.append("meanwhile")

    lines, _ = await follow(client, pause=pause)
    assert lines == service.lines
    assert len(waited) >= 4
    assert all(seconds > 0 for seconds in waited)


async def test_follow_from_an_offset(service, client, growing):
    growing(steps=3)
    lines, _ = await follow(client, offset=4)
    assert lines == service.lines[4:]


async def test_follow_of_an_ended_job_reads_every_page(service, client):
    service.jobs.append({"job_id": "ft-1", "status": "CANCELED"})
    service.lines = [str(number) for number in range(2345)]
    lines, _ = await follow(client)
    assert lines == service.lines


async def test_lost_connection_is_told_and_no_line_is_lost_or_repeated(service, client, growing):
    growing(steps=6)
    service.fail("logs", times=0)
    faults = iter([True, False, True, True, False, False, True] + [False] * 40)
    reply = service._fault

    def sometimes(seen):
        if "/logs" in seen.path and next(faults):
            service.fail("logs", times=3, drop=True)  # as many as one call tries
        return reply(seen)

    service._fault = sometimes
    lines, notes = await follow(client)
    assert lines == service.lines
    assert (notes[0].kind, notes[-1].kind) == ("reconnecting", "connected")
    assert "lost" in notes[0].text


async def test_follow_resumes_at_the_exact_line_after_half_a_page(service, client):
    service.jobs.append({"job_id": "ft-1", "status": "SUCCEEDED"})
    service.lines = [f"{number}" for number in range(1500)]
    service.fail("logs", times=0)
    cut = {"left": 2}
    answer = service._fault

    def cut_off(seen):
        if seen.query.get("offset") == "1000" and cut["left"]:
            cut["left"] -= 1
            service.fail("logs", raw=b'HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{"output": {"logs": ["1000')
        return answer(seen)

    service._fault = cut_off
    lines, _ = await follow(client)
    assert lines == service.lines


async def test_follow_raises_what_a_repeat_cannot_mend(service, client):
    service.fail("logs", times=9, status=401, body={"code": "InvalidApiKey", "message": "bad key"})
    with pytest.raises(errors.AuthError):
        await follow(client)


async def test_follow_gives_up_when_told_to(service, client):
    service.fail(".", times=999, status=503, body={})
    with pytest.raises(errors.ServerError):
        await follow(client, patience_s=0.0)


async def test_follow_slows_down_while_nothing_comes(service, client, growing, clock):
    growing(steps=8, per_step=0)
    await follow(client, interval_s=0.5, slowest_s=2.0)
    assert clock.waits[:5] == [0.5, 0.75, 1.125, 1.6875, 2.0]
