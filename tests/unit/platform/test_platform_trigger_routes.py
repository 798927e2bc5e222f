import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus
from agentic_rl_tui.core.functions.server import listen
from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.platform.app import make_app
from agentic_rl_tui.core.platform.lock import bind_tcp
from agentic_rl_tui.core.platform.options import PlatformOptions
from agentic_rl_tui.core.platform.routes.trigger import answer


async def loaded(bench: Any, **pool: Any) -> tuple[str, dict[str, str]]:
    """The path of a running instance and the headers that open it."""
    bench.next_pool.update(pool)
    instance = await bench.load(await bench.register())
    return f"/functions/{instance['instanceId']}", {"authorization": f"Bearer {instance['trigger_token']}"}


async def test_a_healthy_instance_says_what_it_runs(bench: Any) -> None:
    path, headers = await loaded(bench)
    got = await bench.client.get(f"{path}/health", headers=headers)
    assert got.json() == {
        "status": "healthy",
        "func_type": "reward",
        "processor": "Fn",
        "parser": "RewardRequestParser",
    }


async def test_a_call_answers_what_the_function_returned(bench: Any) -> None:
    output = {"reward": {"reward_score": 1.0, "reward_metrics": None}, "status": "success", "error": None}
    path, headers = await loaded(bench, result=CallResult(CallStatus.OK, output))
    got = await bench.client.post(f"{path}/api/v1", json={"agent_output": {}}, headers=headers)
    assert (got.status_code, got.json()) == (200, output)
    assert bench.pools[0].calls == [{"agent_output": {}}]


async def test_what_the_caller_says_of_its_trace_goes_along(bench: Any) -> None:
    path, headers = await loaded(bench)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for given in ({}, {"TraceParent": parent, "X-Request-Id": "req-1", "x-other": "y"}):
        await bench.client.post(f"{path}/api/v1", json={}, headers={**headers, **given})
    assert bench.pools[0].upstreams == [None, {"traceparent": parent, "x-request-id": "req-1"}]


async def test_the_trigger_token_is_needed(bench: Any) -> None:
    path, _ = await loaded(bench)
    for wrong in ({}, {"authorization": "Bearer "}, {"authorization": "Bearer x"}, {"authorization": "Basic x"}):
        got = await bench.client.post(f"{path}/api/v1", json={}, headers=wrong)
        assert (got.status_code, set(got.json())) == (401, {"detail"})
    second = await bench.load(await bench.register(key="second"), job="9")
    foreign = {"authorization": f"Bearer {second['trigger_token']}"}
    assert (await bench.client.get(f"{path}/health", headers=foreign)).status_code == 401
    assert bench.pools[0].calls == []


@pytest.mark.parametrize(
    ("method", "rest", "status", "detail"),
    [
        ("GET", "api/v1", 405, "Method Not Allowed"),
        ("POST", "health", 405, "Method Not Allowed"),
        ("GET", "docs", 404, "Not Found"),
        ("POST", "api/v2", 404, "Not Found"),
    ],
)
async def test_other_routes_answer_as_the_function_server(
    bench: Any, method: str, rest: str, status: int, detail: str
) -> None:
    path, headers = await loaded(bench)
    got = await bench.client.request(method, f"{path}/{rest}", headers=headers)
    assert (got.status_code, got.json()) == (status, {"detail": detail})
    if status == 405:
        assert got.headers["allow"]


async def test_a_slash_at_the_end_redirects(bench: Any) -> None:
    path, headers = await loaded(bench)
    got = await bench.client.post(f"{path}/api/v1/", json={}, headers=headers)
    assert got.status_code == 307
    assert got.headers["location"].endswith(f"{path}/api/v1")
    assert (await bench.client.post("/functions/unknown/api/v1", json={}, headers=headers)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "start"),
    [
        (b"{bad", 400, "Invalid JSON body: "),
        (b"", 400, "Invalid JSON body: "),
        (b"[1]", 422, "Request parsing error: "),
        (b'"x"', 422, "Request parsing error: "),
        (b"\xff", 400, "Invalid JSON body: "),
    ],
)
async def test_bodies_that_cannot_be_read(bench: Any, body: bytes, status: int, start: str) -> None:
    path, headers = await loaded(bench)
    got = await bench.client.post(f"{path}/api/v1", content=body, headers=headers)
    assert got.status_code == status
    assert got.json()["detail"].startswith(start)


@pytest.mark.parametrize(
    ("result", "status", "body"),
    [
        (CallResult(CallStatus.OK, {"result": "hello"}), 200, {"result": "hello"}),
        (CallResult(CallStatus.FAILED, {"status": "failed"}), 200, {"status": "failed"}),
        (CallResult(CallStatus.RAISED, error=CallError("ValueError", "boom [x] 数")), 500, {"message": "boom [x] 数"}),
        (
            CallResult(CallStatus.INVALID_INPUT, error=CallError("E", "agent_output\n  Field required")),
            422,
            {"detail": "Request parsing error: agent_output\n  Field required"},
        ),
        (CallResult(CallStatus.INVALID_OUTPUT, error=CallError("E", "Out of range")), 500, {"message": "Out of range"}),
        (
            CallResult(CallStatus.TIMEOUT, error=CallError("E", "no answer within 3 s")),
            500,
            {"message": "no answer within 3 s"},
        ),
        (CallResult(CallStatus.CANCELED), 499, {"message": "Request cancelled."}),
        (CallResult(CallStatus.DIED), 500, {"message": "The call ended as died."}),
    ],
)
def test_each_end_of_a_call_has_its_answer(result: CallResult, status: int, body: dict[str, Any]) -> None:
    assert answer(result) == (status, body)


async def test_a_function_that_cannot_start_answers_500(bench: Any) -> None:
    path, headers = await loaded(bench, start_error=FunctionFailed("setup failed with KeyError: 'X'"))
    for got in (
        await bench.client.get(f"{path}/health", headers=headers),
        await bench.client.post(f"{path}/api/v1", json={}, headers=headers),
    ):
        assert (got.status_code, got.json()) == (500, {"message": "setup failed with KeyError: 'X'"})


class TestBusy:
    @pytest.fixture
    def options(self) -> PlatformOptions:
        return PlatformOptions(max_waiting_calls=1)

    async def test_too_many_waiting_calls_are_refused(self, bench: Any) -> None:
        gate = asyncio.Event()
        path, headers = await loaded(bench, gate=gate)
        calls = [asyncio.create_task(bench.client.post(f"{path}/api/v1", json={}, headers=headers)) for _ in range(4)]
        done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = [call.result() for call in done]
        assert (refused.status_code, refused.json()) == (503, {"detail": "Server is busy, please try again later."})
        gate.set()
        assert sorted([(await call).status_code for call in calls]) == [200, 200, 200, 503]


async def test_a_caller_that_goes_away_ends_its_call(bench: Any) -> None:
    gate = asyncio.Event()
    path, headers = await loaded(bench, gate=gate)
    messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    await messages.put({"type": "http.request", "body": b"{}", "more_body": False})
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": f"{path}/api/v1",
        "raw_path": f"{path}/api/v1".encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"authorization", headers["authorization"].encode())],
        "client": None,
        "server": None,
    }
    call = asyncio.create_task(make_app(bench.platform)(scope, messages.get, send))  # type: ignore[arg-type]
    await bench.platform.instances.start(bench.platform.functions.instance(path.rpartition("/")[2]))
    await bench.pools[0].was_called.wait()
    await messages.put({"type": "http.disconnect"})
    await call
    assert bench.pools[0].canceled == 1
    assert sent[0]["status"] == 499


async def test_an_idle_instance_is_stopped_and_started_again_by_a_call(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, headers = await loaded(bench)
    instance_id = path.rpartition("/")[2]
    assert (await bench.client.post(f"{path}/api/v1", json={}, headers=headers)).status_code == 200
    instances = bench.platform.instances
    await instances.stop_idle()
    assert bench.pools[0].is_running
    monkeypatch.setattr(instances, "_idle_s", -1.0)
    await instances.stop_idle()
    assert not bench.pools[0].is_running
    assert not bench.pools[0].request.package_dir.exists()
    assert (await bench.client.post(f"{path}/api/v1", json={}, headers=headers)).status_code == 200
    assert len(bench.pools) == 2
    entries, _ = await bench.platform.instance_logs.query(instance_id, page=1, size=100)
    assert [entry.text for entry in entries] == [
        "called 1",
        "idle: workers stopped, the next call starts them again",
        "called 1",
    ]


@pytest.mark.parametrize("plain", [{"result": "a text"}, {"result": None}, {"reward": "of no model"}])
async def test_an_answer_of_no_model_is_passed_on_and_noted(bench: Any, plain: dict[str, Any]) -> None:
    error = CallError("InvalidAnswer", "process returned str, expected RewardOutput")
    path, headers = await loaded(bench, result=CallResult(CallStatus.INVALID_OUTPUT, error=error, unchecked=plain))
    got = await bench.client.post(f"{path}/api/v1", json={}, headers=headers)
    assert (got.status_code, got.json()) == (200, plain)
    instance_id = path.rpartition("/")[2]
    entries, _ = await bench.platform.instance_logs.query(instance_id, page=1, size=10)
    assert any("a job would refuse this answer: process returned str" in entry.text for entry in entries)


@pytest.mark.parametrize("bind", [bind_tcp, listen])
def test_answers_over_tcp_do_not_wait_for_acknowledgements(bind: Callable[[str, int], socket.socket]) -> None:
    """A kept connection would take 40 ms an answer otherwise."""
    with bind("127.0.0.1", 0) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
