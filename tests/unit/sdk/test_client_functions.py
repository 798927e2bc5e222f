"""Functions: layers, registration, instances, calls and their logs."""

import pytest

from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.functions import FunctionKind, Instance, Runtime


@pytest.fixture
def instance(service) -> Instance:
    url = f"http://127.0.0.1:{service.port}/fn/rw-ins-1"
    service.instances["rw-ins-1"] = {"trigger_url": url, "trigger_token": "tok-abcdefgh"}
    return Instance(instance_id="rw-ins-1", status=2, trigger_url=url, trigger_token="tok-abcdefgh")


@pytest.mark.parametrize("kind", list(FunctionKind))
async def test_registration_of_each_kind(service, client, kind, tmp_path):
    package = tmp_path / "p.zip"
    package.write_bytes(b"PK\5\6 some bytes")
    url, key = await client.functions.upload_url(kind)
    assert key.startswith(f"{kind.value}-")
    await client.functions.put_package(url, package)
    entity = await client.functions.register(kind, path="a/b.py", class_name="C", code_url=url, unique_key=key)
    assert entity.startswith(kind.prefix)
    assert service.seen[-1].path == f"/api/v1/fine-tunes/create/{kind.route}"
    assert service.seen[-1].json == {"name": "a/b.py", "unique_key": key, "func": "C", "code_url": url}
    assert service.packages[f"{key}.zip"] == package.read_bytes()


@pytest.mark.parametrize("output", [{}, {"reward_id": ""}, {"reward_id": None}, {"rollout_id": "ro-1"}])
async def test_registration_without_its_id_is_an_error(service, client, output):
    service.fail("create", status=200, body={"output": output, "request_id": "q"})
    with pytest.raises(errors.BadResponse, match="reward_id"):
        await client.functions.register(FunctionKind.REWARD, path="a.py", class_name="A", code_url="u", unique_key="k")


async def test_package_put_is_repeated(service, client, tmp_path):
    package = tmp_path / "p.zip"
    package.write_bytes(b"PK\5\6")
    url = f"http://127.0.0.1:{service.port}/oss/x.zip?Signature=c2VjcmV0MTIz"
    service.fail("PUT", status=503, body="busy")
    service.fail("PUT", drop=True)
    await client.functions.put_package(url, package)
    assert len(service.requests("PUT")) == 3


async def test_package_that_is_refused_shows_why_and_no_signature(service, client, tmp_path):
    package = tmp_path / "p.zip"
    package.write_bytes(b"PK\5\6")
    url = f"http://127.0.0.1:{service.port}/oss/x.zip?Signature=c2VjcmV0MTIz"
    body = "<Error><Code>SignatureDoesNotMatch</Code><Url>?Signature=c2VjcmV0MTIz</Url></Error>"
    service.fail("PUT", times=9, status=403, body=body)
    with pytest.raises(errors.UploadError, match="SignatureDoesNotMatch") as caught:
        await client.functions.put_package(url, package)
    assert "c2VjcmV0MTIz" not in str(caught.value)
    assert len(service.requests("PUT")) == 1


async def test_package_limit_is_checked_before_sending(service, client, tmp_path, monkeypatch):
    monkeypatch.setenv("FC_OSS_FILE_SIZE_WARNING", "3")
    package = tmp_path / "p.zip"
    package.write_bytes(b"PK\5\6")
    with pytest.raises(errors.PackageError, match="limit is 3"):
        await client.functions.put_package("http://127.0.0.1:1/x", package)
    assert not service.seen


async def test_layer_is_waited_for_visibly(service, client, clock):
    service.layer_states = ["BUILDING", "BUILDING"]
    code = await client.functions.create_layer("sympy\n")
    told = []
    await client.functions.wait_layer(code, progress=lambda status, waited: told.append(status))
    assert told == ["BUILDING", "BUILDING", "SUCCESS"]
    assert clock.waits == [0.2, 0.4]
    assert service.layers[code] == "sympy\n"


async def test_failed_layer_is_an_error_with_the_builds_words(service, client):
    service.layer_states = ["BUILDING", "FAILED"]
    code = await client.functions.create_layer("nope\n")
    with pytest.raises(errors.DeploymentError, match=r"FAILED.*pip says no"):
        await client.functions.wait_layer(code)


async def test_layer_that_is_never_ready_is_an_error(service, client):
    service.layer_states = ["BUILDING"] * 50
    code = await client.functions.create_layer("slow\n")
    with pytest.raises(errors.DeploymentError, match="still BUILDING"):
        await client.functions.wait_layer(code, timeout_s=0.0)


async def test_empty_layer_code_is_not_accepted(service, client):
    service.fail("layer", status=200, body={"output": {"layer_code": ""}})
    with pytest.raises(errors.BadResponse, match="layer_code"):
        await client.functions.create_layer("x")


async def test_load_sends_the_runtime_and_reads_the_mixed_spelling(service, client):
    runtime = Runtime(cpu=2, memory_size=4096, env={"A": True, "B": 3, "C": ""}, layer_code="layer-1")
    instance = await client.functions.load("rw-1", runtime=runtime, job="j-1")
    assert instance.instance_id == "rw-ins-1"
    assert service.seen[0].path == "/api/v1/fine-tunes/online/faas/jobId-j-1/rw-1"
    assert service.seen[0].json == {
        "cpu": 2.0,
        "memory_size": 4096,
        "layer_code": "layer-1",
        "env": {"A": "true", "B": 3, "C": ""},
    }


async def test_load_without_a_runtime_sends_an_empty_object(service, client):
    await client.functions.load("rw-1")
    assert service.seen[0].json == {}


async def test_instance_that_never_came_up_says_why(service, client):
    body = {"output": {"status": -1, "message": "import failed: No module named 'x'"}}
    service.fail("query/faas/rw", status=200, body=body)
    with pytest.raises(errors.DeploymentError, match="No module named 'x'"):
        await client.functions.query("rw-ins-1")


async def test_wait_until_active(service, client, instance, clock):
    states = iter([0, 1, 2])
    answer = service.answer

    def stepping(seen):
        status, body = answer(seen)
        if "query/faas" in seen.path:
            body["output"]["status"] = next(states)
        return status, body

    service.answer = stepping
    assert (await client.functions.wait_active("rw-ins-1")).status == 2
    assert clock.waits == [0.1, 0.2]


async def test_health_of_an_instance(service, client, instance):
    assert (await client.functions.health(instance))["status"] == "healthy"
    assert service.seen[0].header("authorization") == "Bearer tok-abcdefgh"
    await client.functions.wait_healthy(instance)


async def test_call_carries_the_token_and_returns_the_answer(service, client, instance):
    result = await client.functions.call(instance, {"func_type": "reward", "x": "数"})
    assert result == {"status": "success", "got": {"func_type": "reward", "x": "数"}}
    assert result.is_ok
    assert service.seen[0].header("authorization") == "Bearer tok-abcdefgh"
    assert service.seen[0].path == "/fn/rw-ins-1/api/v1"


async def test_failed_is_an_answer_and_not_a_success(service, client, instance):
    service.fail("fn/", status=200, body={"status": "failed", "error": "judge is down"})
    result = await client.functions.call(instance, {})
    assert not result.is_ok
    assert result.error == "judge is down"


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (500, {"message": "division by zero"}, "raised", "division by zero"),
        (
            422,
            {"detail": [{"loc": ["agent_output", "messages"], "msg": "Field required"}]},
            "invalid_input",
            "agent_output.messages: Field required",
        ),
        (400, {"detail": "Invalid JSON"}, "invalid_input", "Invalid JSON"),
        (503, {"detail": "queue full"}, "busy", "queue full"),
        (504, {"message": "took longer than 3 s"}, "timeout", "took longer"),
        (502, "worker died", "died", "worker died"),
        (200, "[1]", "invalid_output", r"\[1\]"),
    ],
)
async def test_fault_of_a_function_is_shown_and_never_run_again(service, client, instance, status, body, kind, words):
    service.fail("fn/", times=9, status=status, body=body)
    with pytest.raises(errors.FunctionFailed, match=words) as caught:
        await client.functions.call(instance, {})
    assert caught.value.kind == kind
    assert len(service.seen) == 1


async def test_traceback_of_a_function_is_kept(service, client, instance):
    service.fail("fn/", status=500, body={"message": "boom", "traceback": "File x, line 3", "kind": "raised"})
    with pytest.raises(errors.FunctionFailed) as caught:
        await client.functions.call(instance, {})
    assert caught.value.traceback == "File x, line 3"


async def test_lost_call_is_not_repeated(service, client, instance):
    service.fail("fn/", times=9, drop=True)
    with pytest.raises(errors.Unreachable):
        await client.functions.call(instance, {})
    assert len(service.seen) == 1


async def test_call_has_its_own_limit(service, client, instance):
    service.fail("fn/", stall=True)
    with pytest.raises(errors.TimedOut, match=r"0\.05 s"):
        await client.functions.call(instance, {}, timeout_s=0.05)


async def test_logs_by_page_with_range_and_keywords(service, client):
    service.lines = ["error one", "fine", "error two", "error three"]
    page = await client.functions.logs(
        "rw-ins-1", page=2, page_size=2, start_time=1796000000.7, end_time=1796100000, keywords=["error"]
    )
    assert service.seen[0].json == {
        "pageNumber": 2,
        "pageSize": 2,
        "startTime": 1796000000,
        "endTime": 1796100000,
        "keywords": ["error"],
    }
    assert [entry.message for entry in page.entries] == ["error three"]
    assert (page.page_number, page.total) == (2, 3)


async def test_logs_in_the_other_spelling(service, client):
    rows = [{"instanceId": "rw-ins-1", "message": "m", "timestamp": 1699051200}]
    data = {"pageNumber": 1, "pageSize": 100, "totalCount": 1, "logEntries": rows}
    service.fail("log", status=200, body={"success": True, "data": data})
    page = await client.functions.logs("rw-ins-1")
    assert (page.entries[0].instance_id, page.entries[0].message, page.total) == ("rw-ins-1", "m", 1)


async def test_every_log_entry_once(service, client):
    service.lines = [f"line {number}" for number in range(7)]
    messages = [entry.message async for entry in client.functions.iter_logs("rw-ins-1", page_size=3)]
    assert messages == service.lines
    assert len(service.seen) == 3


async def test_delete_of_an_instance(service, client, instance):
    assert await client.functions.delete_instance("rw-ins-1") == {"status": "deleted"}
    assert service.seen[0].json == {}
    service.fail("delete", times=9, status=200, body={"code": 500, "message": "cannot", "success": False})
    with pytest.raises(errors.ServerError, match="cannot"):
        await client.functions.delete_instance("rw-ins-1")
