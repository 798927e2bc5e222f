"""Exactly one job, whatever happens to the answer of its creation."""

import asyncio
import os
import signal
import sys
import time

import pytest

from agentic_rl_tui.core.client.transport import Transport
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.paths import state_dir
from agentic_rl_tui.core.sdk import JobSubmitted
from agentic_rl_tui.core.sdk.journal import KEEP_S, Journal

CREATE = "POST /api/v1/fine-tunes$"


def intents() -> list[str]:
    folder = state_dir() / "submissions"
    return sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []


def names(service) -> set[str]:
    return {seen.json["job_name"] for seen in service.requests(CREATE)}


async def test_intent_is_on_disk_before_the_request_and_gone_after(service, client, workspace):
    during = []
    service.on_request = lambda seen: during.append(intents()) if service.requests(CREATE) == [seen] else None
    job = await client.init(workspace / "job.yaml").run()
    assert next(entry for entry in during if entry)[0].startswith(job.job_name)
    assert intents() == []
    assert oct((state_dir() / "submissions").stat().st_mode & 0o777) == "0o700"


@pytest.mark.parametrize(
    "how",
    [
        {"drop": True},
        {"raw": b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"},
        {"status": 200, "body": b"<html>gateway</html>"},
        {"status": 500, "body": {"code": "InternalError", "message": "late"}},
        {"status": 502, "body": "<html><title>502</title></html>"},
        {"status": 504, "body": {}},
        {"status": 200, "body": {"request_id": "r", "output": None}},
    ],
)
async def test_answer_lost_after_the_job_was_made(service, client, workspace, how):
    service.fail(CREATE, after=True, **how)
    told = []
    job = await client.init(workspace / "job.yaml").run(on_event=told.append)
    assert [made["job_id"] for made in service.jobs] == [job.job_id]
    assert len(service.requests(CREATE)) == 1
    assert [event.adopted for event in told if isinstance(event, JobSubmitted)] == [True]
    assert intents() == []


@pytest.mark.parametrize("how", [{"drop": True}, {"status": 500, "body": {}}, {"status": 503, "body": {}}])
async def test_request_lost_before_the_job_was_made(service, client, workspace, how):
    service.fail(CREATE, **how)
    job = await client.init(workspace / "job.yaml").run()
    assert [made["job_id"] for made in service.jobs] == [job.job_id]
    assert len(service.requests(CREATE)) == 2
    assert len(names(service)) == 1
    assert intents() == []


async def test_job_that_reaches_the_list_late_is_waited_for(service, client, workspace, clock):
    service.fail(CREATE, after=True, drop=True)
    listed = service._list
    looks = []

    def late(seen):
        looks.append(seen)
        return listed(seen) if len(looks) > 2 else (200, {"output": {"jobs": [], "total": 0}})

    service._list = late
    await client.init(workspace / "job.yaml").run()
    assert len(service.jobs) == 1
    assert len(service.requests(CREATE)) == 1
    assert len(looks) == 3


@pytest.mark.parametrize("status", [400, 401, 409, 422])
async def test_refusal_is_final_and_leaves_no_intent(service, client, workspace, status):
    service.fail(CREATE, status=status, body={"code": "InvalidParameter", "message": "no such model"})
    with pytest.raises(errors.ArlError, match="no such model"):
        await client.init(workspace / "job.yaml").run()
    assert service.jobs == []
    assert intents() == []


async def test_timeout_is_not_followed_by_a_second_request(service, make_client, workspace, monkeypatch):
    """The service may still be working on it; the next submission of the same job finds out."""
    slow = make_client().init(workspace / "job.yaml")
    service.fail(CREATE, stall=True)
    limits = {("POST", "/fine-tunes"): 0.2}
    with monkeypatch.context() as patch:
        patch.setattr(Transport, "limit", lambda self, request: limits.get((request.method, request.target), 60.0))
        with pytest.raises(errors.TimedOut) as caught:
            await slow.run()
    assert len(service.requests(CREATE)) == 1
    assert "Submit the same job again" in caught.value.advice
    (intent,) = slow.unfinished_submissions()
    service.jobs.insert(0, {"job_id": "ft-late", "job_name": intent.job_name, "status": "PENDING"})
    job = await make_client().init(workspace / "job.yaml").run()
    assert job.job_id == "ft-late"
    assert len(service.jobs) == 1
    assert intents() == []


async def test_network_that_stays_down_leaves_the_intent_and_the_next_run_sends_the_same_name(
    service, client, workspace
):
    service.fail(CREATE, drop=True)
    service.fail("GET /api/v1/fine-tunes$", times=3, drop=True)
    with pytest.raises(errors.Unreachable) as caught:
        await client.init(workspace / "job.yaml").run()
    assert caught.value.outcome_unknown
    (intent,) = client.unfinished_submissions()
    job = await client.init(workspace / "job.yaml").run()
    assert job.job_name == intent.job_name
    assert len(names(service)) == 1
    assert len(service.jobs) == 1


SCRIPT = """
import asyncio, sys
from agentic_rl_tui.core import AgenticRL
asyncio.run(AgenticRL("sk-0123456789abcdef", base_url=sys.argv[1]).init(sys.argv[2]).run())
"""


@pytest.mark.parametrize("was_made", [True, False])
async def test_process_killed_between_sending_and_the_answer(service, make_client, workspace, was_made):
    arrived = asyncio.Event()
    service.fail(CREATE, after=was_made, stall=True)
    service.on_request = lambda seen: arrived.set() if service.requests(CREATE) else None
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, service.url, str(workspace / "job.yaml"), env={**os.environ}
    )
    await asyncio.wait_for(arrived.wait(), 30)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert len(intents()) == 1
    service.on_request = None
    job = await make_client().init(workspace / "job.yaml").run()
    assert [made["job_id"] for made in service.jobs] == [job.job_id]
    assert len(names(service)) == 1
    assert intents() == []


async def test_canceled_submission_is_taken_up_by_the_next_one(service, client, workspace):
    arrived = asyncio.Event()
    service.fail(CREATE, after=True, stall=True)
    service.on_request = lambda seen: arrived.set() if service.requests(CREATE) else None
    task = asyncio.create_task(client.init(workspace / "job.yaml").run())
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    before = len(service.seen)
    job = await client.init(workspace / "job.yaml").run()
    assert job.job_id == "ft-1"
    assert len(service.jobs) == 1
    assert [seen.method for seen in service.seen[before:]] == ["GET"], "nothing is registered or uploaded again"


async def test_wanted_second_submission_makes_a_second_job(service, client, workspace):
    first = await client.init(workspace / "job.yaml").run()
    second = await client.init(workspace / "job.yaml").run()
    assert first.job_id != second.job_id
    assert first.job_name != second.job_name


@pytest.mark.parametrize("change", ["data", "code", "setting", "profile"])
async def test_changed_job_is_another_submission(service, make_client, workspace, change):
    journal = Journal(state_dir() / "submissions")
    client = make_client()
    service.fail(CREATE, drop=True)
    service.fail("GET /api/v1/fine-tunes$", times=3, drop=True)
    with pytest.raises(errors.Unreachable):
        await client.init(workspace / "job.yaml").run()
    (old,) = journal.abandoned()
    if change == "data":
        with (workspace / "data/train.jsonl").open("a") as stream:
            stream.write('{"messages": [{"role": "user", "content": "Why?"}], "rollout_extra": {"solution": "1"}}\n')
    elif change == "code":
        with (workspace / "functions/reward/answer.py").open("a") as stream:
            stream.write("X = 1\n")
    other = make_client("sk-another-account-1") if change == "profile" else client
    model = "qwen3.5-4b" if change == "setting" else None
    job = await other.init(workspace / "job.yaml", model=model).run()
    assert job.job_name != old.job_name


async def test_submission_of_a_living_process_is_left_alone(service, client, workspace):
    arrived, go_on = asyncio.Event(), asyncio.Event()
    service.on_request = lambda seen: arrived.set() if service.requests(CREATE) else None
    reply = service._reply

    async def held(seen, writer):
        if service.requests(CREATE)[:1] == [seen]:
            await go_on.wait()
        return await reply(seen, writer)

    service._reply = held
    first = asyncio.create_task(client.init(workspace / "job.yaml").run())
    await arrived.wait()
    second = await client.init(workspace / "job.yaml").run()
    go_on.set()
    assert (await first).job_id != second.job_id
    assert len(service.jobs) == 2


async def test_exact_name_is_sent_as_it_is_and_refused_the_second_time(service, client, workspace):
    job = await client.init(workspace / "job.yaml", job_name="just-so").run(exact_name=True)
    assert job.job_name == "just-so"
    with pytest.raises(errors.Conflict, match="just-so"):
        await client.run(exact_name=True)
    assert len(service.jobs) == 1


async def test_exact_name_is_adopted_too_when_the_answer_is_lost(service, client, workspace):
    service.fail(CREATE, after=True, drop=True)
    job = await client.init(workspace / "job.yaml", job_name="just-so").run(exact_name=True)
    assert [made["job_id"] for made in service.jobs] == [job.job_id]


def test_journal_forgets_old_intents_and_skips_broken_files(tmp_path):
    journal = Journal(tmp_path / "j")
    fresh = journal.begin("fresh", scope="s", fingerprint="f")
    old = journal.begin("old", scope="s", fingerprint="f")
    old.path.write_text(old.path.read_text().replace(str(old.created_at), str(time.time() - KEEP_S - 1)))
    (tmp_path / "j" / "broken.json").write_text('{"job_na')
    assert journal.abandoned() == []
    fresh.release()
    old.release()
    assert [intent.job_name for intent in journal.abandoned()] == ["fresh"]
    assert not old.path.exists()
    assert journal.claim(scope="other", fingerprint="f") is None
    assert journal.claim(scope="s", fingerprint="other") is None
    claimed = journal.claim(scope="s", fingerprint="f")
    assert claimed is not None
    assert journal.claim(scope="s", fingerprint="f") is None
    claimed.settle()
    assert journal.abandoned() == []


def test_journal_that_cannot_be_written_stops_the_submission(tmp_path):
    (tmp_path / "j").write_text("a file where the folder should be")
    with pytest.raises(errors.ArlError, match="cannot be written"):
        Journal(tmp_path / "j").begin("x", scope="s", fingerprint="f")


def test_names_of_intents_cannot_leave_the_folder(tmp_path):
    intent = Journal(tmp_path / "j").begin("../../etc/x y", scope="s", fingerprint="f")
    assert intent.path.parent == tmp_path / "j"
    intent.settle()
