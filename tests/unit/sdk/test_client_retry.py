"""Which calls are sent again, when, and how often."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl_tui.core.client.retry import RetryPolicy, parse_retry_after
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.functions import FunctionKind

OK = {"output": {"job_id": "ft-1", "status": "RUNNING"}}


async def test_get_is_repeated_until_it_succeeds(service, client, clock):
    service.fail("GET .*/ft-1", status=503, body={"code": "Busy"})
    service.fail("GET .*/ft-1", drop=True)
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    assert (await client.get("ft-1")).status == "RUNNING"
    assert len(service.seen) == 3
    assert clock.waits == [0.4, 0.8]


async def test_attempts_end_and_the_last_error_is_raised(service, client):
    service.fail("GET", times=9, status=500, body={"message": "down"})
    with pytest.raises(errors.ServerError, match="down"):
        await client.get("ft-1")
    assert len(service.seen) == 3


async def test_retry_after_of_429_is_honoured(service, client, clock):
    service.fail("GET", status=429, body={"code": "Throttling"}, headers={"Retry-After": "7"})
    service.jobs.append({"job_id": "ft-1"})
    await client.get("ft-1")
    assert clock.waits == [7.0]


async def test_retry_after_in_milliseconds(service, client, clock):
    service.fail("GET", status=503, body={}, headers={"retry-after-ms": "250"})
    service.jobs.append({"job_id": "ft-1"})
    await client.get("ft-1")
    assert clock.waits == [0.25]


async def test_too_long_a_retry_after_is_told_instead_of_waited(service, client, clock):
    service.fail("GET", status=429, body={"message": "busy"}, headers={"Retry-After": "3600"})
    with pytest.raises(errors.RateLimited) as caught:
        await client.get("ft-1")
    assert caught.value.retry_after_s == 3600
    assert clock.waits == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
async def test_what_a_repeat_cannot_mend_is_not_repeated(service, client, status):
    service.fail("GET", times=9, status=status, body={"message": "no"})
    with pytest.raises(errors.ArlError):
        await client.get("ft-1")
    assert len(service.seen) == 1


@pytest.mark.parametrize(
    "how", [{"status": 500, "body": {"message": "x"}}, {"drop": True}, {"raw": b"HTTP/1.1 200 OK\r\n\r\n"}]
)
async def test_calls_with_effects_are_sent_once(service, client, how):
    service.fail("POST", times=99, **how)
    functions = client.functions
    calls = [
        client.jobs.create({"model": "m"}),
        functions.create_layer("x"),
        functions.register(FunctionKind.REWARD, path="a.py", class_name="A", code_url="u", unique_key="k"),
        functions.load("rw-1"),
    ]
    for call in calls:
        with pytest.raises(errors.ArlError):
            await call
    assert len(service.seen) == len(calls)


@pytest.mark.parametrize("call", ["cancel", "delete"])
async def test_calls_that_may_happen_twice_are_repeated(service, client, call):
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    service.fail("ft-1", drop=True)
    await getattr(client, call)("ft-1")
    assert len(service.seen) == 2


@pytest.mark.parametrize("call", ["cancel", "delete"])
async def test_second_of_two_requests_that_finds_the_work_done_is_a_success(service, client, call):
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    if call == "cancel":
        service.fail("cancel", drop=True, after=True)
        service.fail("cancel", status=400, body={"code": "UnsupportedOperation", "message": "has ended"})
    else:
        service.fail("DELETE", drop=True, after=True)
    await getattr(client, call)("ft-1")
    assert len(service.seen) == 2


async def test_file_and_instance_deleted_by_a_lost_request(service, client):
    service.files["file-1"] = {"name": "a", "size": 1, "md5": ""}
    service.fail("DELETE", drop=True, after=True)
    await client.files.delete("file-1")
    service.fail("delete/faas", drop=True)
    service.fail("delete/faas", status=404, body={"code": "NotFound", "message": "gone"})
    assert await client.delete_function_instance("rw-ins-1") == {}
    service.fail("delete/faas", status=404, body={"code": "NotFound", "message": "gone"})
    with pytest.raises(errors.NotFound):
        await client.delete_function_instance("rw-ins-1")


async def test_queries_by_post_are_repeated(service, client):
    service.instances["rw-ins-1"] = {"trigger_url": service.url, "trigger_token": "tok-abcdefg"}
    service.fail("query/faas", times=2, status=502, body={})
    assert (await client.functions.query("rw-ins-1")).status == 2
    assert len(service.seen) == 3


async def test_unsent_calls_with_effects_are_repeated(make_client, free_port, clock):
    client = make_client(base_url=f"http://127.0.0.1:{free_port}/api/v1")
    with pytest.raises(errors.Unreachable, match="refused"):
        await client.jobs.create({"model": "m"})
    assert len(clock.waits) == 2


async def test_calls_with_effects_wait_when_the_server_asks_for_it(service, client, clock):
    service.fail("POST", status=429, body={"code": "Throttling"}, headers={"Retry-After": "2"})
    assert (await client.jobs.create({"model": "m"})).job_id == "ft-1"
    assert clock.waits == [2.0]
    assert len(service.jobs) == 1


@given(attempt=st.integers(1, 50), luck=st.floats(0, 1, exclude_max=True))
def test_waits_double_with_jitter_and_stay_below_the_cap(attempt, luck):
    policy = RetryPolicy(base_s=0.5, cap_s=8.0, random=lambda: luck)
    full = min(8.0, 0.5 * 2 ** (attempt - 1))
    assert full / 2 <= policy.wait_s(attempt) <= full


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        ("Tue, 01 Dec 2026 12:00:30 GMT", 30.0),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_in_both_forms(text, seconds):
    assert parse_retry_after(text, now=datetime(2026, 12, 1, 12, tzinfo=UTC)) == seconds
