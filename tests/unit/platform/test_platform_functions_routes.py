import asyncio
import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.platform import layers
from agentic_rl_tui.core.platform.options import PlatformOptions

FT = "/api/v1/fine-tunes"


async def url_for(bench: Any, key: str) -> str:
    answer = await bench.client.post(f"{FT}/generate/faas/upload/url", json={"unique_key": key})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["output"]["url"])


async def test_the_upload_url_is_on_the_callers_host_and_stays_the_same(bench: Any) -> None:
    first = await url_for(bench, "rollout-1")
    assert first.startswith("http://platform.local/oss/rollout-1.zip?Expires=")
    assert "&Signature=" in first
    assert await url_for(bench, "rollout-1") == first
    assert await url_for(bench, "rollout-2") != first
    answer = await bench.client.post(
        f"{FT}/generate/faas/upload/url", json={"unique_key": "k"}, headers={"host": "127.0.0.1:18000"}
    )
    assert answer.json()["output"]["url"].startswith("http://127.0.0.1:18000/oss/k.zip?")


async def test_an_odd_host_header_is_not_repeated(bench: Any) -> None:
    answer = await bench.client.post(
        f"{FT}/generate/faas/upload/url", json={"unique_key": "k"}, headers={"host": "evil/x?"}
    )
    assert answer.json()["output"]["url"].startswith("http://platform.local/oss/k.zip?")


@pytest.mark.parametrize(
    "body", [{}, {"unique_key": ""}, {"unique_key": 7}, {"unique_key": "../x"}, {"unique_key": "x" * 300}]
)
async def test_a_bad_unique_key_is_refused(bench: Any, body: dict[str, Any]) -> None:
    answer = await bench.client.post(f"{FT}/generate/faas/upload/url", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidParameter")


async def test_a_package_is_stored_once_by_content(bench: Any, make_package: Callable[..., bytes]) -> None:
    first, second = await url_for(bench, "a"), await url_for(bench, "b")
    answers = await asyncio.gather(*(bench.client.put(url, content=make_package()) for url in (first, second)))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].headers["etag"] == answers[1].headers["etag"]
    (stored,) = bench.platform.paths.packages.iterdir()
    assert (stored / "functions" / "fns.py").read_text() == "class Fn: ...\n"


async def test_a_wrong_signature_is_refused(bench: Any, make_package: Callable[..., bytes]) -> None:
    url = await url_for(bench, "a")
    for wrong in (
        url[:-3] + "AAA",
        url.split("&Signature")[0],
        url.replace("/a.zip", "/b.zip"),
        url.replace("a.zip", "a"),
    ):
        answer = await bench.client.put(wrong, content=make_package())
        assert (answer.status_code, answer.json()["code"]) == (403, "SignatureDoesNotMatch"), wrong


async def test_an_expired_url_is_refused(
    bench: Any, make_package: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await url_for(bench, "a")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 7200)
    answer = await bench.client.put(url, content=make_package())
    assert (answer.status_code, answer.json()["code"]) == (403, "AccessDenied")


async def test_what_is_no_package_is_refused_and_leaves_nothing(bench: Any, make_package: Callable[..., bytes]) -> None:
    url = await url_for(bench, "a")
    for content in (b"", b"no zip", make_package({"../evil.py": "x"}), make_package({"/abs.py": "x"})):
        answer = await bench.client.put(url, content=content)
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidParameter")
        assert ".incoming" not in answer.text
    assert list(bench.platform.paths.packages.iterdir()) == []
    assert not (bench.platform.paths.root / "evil.py").exists()


@pytest.mark.parametrize("call", ["receive", "unpack"])
async def test_a_full_disk_is_no_fault_of_the_package(
    bench: Any, make_package: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    url = await url_for(bench, "a")
    with monkeypatch.context() as patched:
        if call == "receive":
            patched.setattr(bench.platform.packages, "_save", full)
        else:
            patched.setattr("agentic_rl_tui.core.functions.package_unpack._extract", full)
        answer = await bench.client.put(url, content=make_package())
    assert (answer.status_code, answer.json()["code"]) == (500, "InternalError")
    assert "disk is full" in answer.json()["message"]
    assert list(bench.platform.paths.packages.iterdir()) == []
    assert (await bench.client.put(url, content=make_package())).status_code == 200


class TestPackageLimit:
    @pytest.fixture
    def options(self) -> PlatformOptions:
        return PlatformOptions(max_package_bytes=100)

    async def test_a_large_package_is_refused(self, bench: Any, make_package: Callable[..., bytes]) -> None:
        answer = await bench.client.put(await url_for(bench, "a"), content=make_package())
        assert answer.status_code == 413
        assert list(bench.platform.paths.packages.iterdir()) == []


async def test_a_layer_is_ready_at_the_first_look(bench: Any) -> None:
    body = {"layer_name": "fc_layer-1", "requirements_content": "httpx>=0.1\nno-such-package==1 # why\n-r other.txt\n"}
    answer = await bench.client.post(f"{FT}/create/faas/layer", json=body)
    layer_code = answer.json()["output"]["layer_code"]
    assert layer_code.startswith("layer-")
    status = await bench.client.get(f"{FT}/query/faas/layer/status", params={"layer_code": layer_code})
    output = status.json()["output"]
    assert (output["layer_code"], output["status"]) == (layer_code, "SUCCESS")
    assert output["message"] == "not installed on this machine: no-such-package"
    again = await bench.client.post(f"{FT}/create/faas/layer", json={**body, "requirements_content": ""})
    assert again.json()["output"]["layer_code"] != layer_code


async def test_unknown_layers_and_bad_requirements(bench: Any) -> None:
    assert (await bench.client.get(f"{FT}/query/faas/layer/status?layer_code=x")).status_code == 404
    assert (await bench.client.get(f"{FT}/query/faas/layer/status")).status_code == 404
    answer = await bench.client.post(f"{FT}/create/faas/layer", json={"layer_name": "a", "requirements_content": 3})
    assert answer.status_code == 400


def test_requirement_names_are_read_from_all_forms() -> None:
    text = "a==1\n# b\n  c[x,y]>=2 ; python_version>'3'\n-e ./d\nhttps://e/f.whl\ngit+https://g\nh # i\n\n./j\nk-l_m.n"
    assert layers.requirement_names(text) == ["a", "c", "h", "k-l_m.n"]
    assert layers.missing_requirements("dashscope>=1.25\nNO_such.pkg\nhttpx") == ["NO_such.pkg"]


@pytest.mark.parametrize(
    ("kind", "field", "prefix"),
    [("rollout", "rollout_id", "ro-"), ("reward", "reward_id", "rw-"), ("group-reward", "group_reward_id", "grw-")],
)
async def test_each_kind_registers_under_its_own_key(bench: Any, kind: str, field: str, prefix: str) -> None:
    body = {"name": "functions/fns.py", "unique_key": "k-1", "func": "Fn", "code_url": await bench.put_package()}
    answer = await bench.client.post(f"{FT}/create/{kind}", json=body)
    assert list(answer.json()["output"]) == [field]
    assert answer.json()["output"][field].startswith(prefix)


async def test_registering_again_answers_the_same_entity(bench: Any) -> None:
    url = await bench.put_package()
    body = {"name": "functions/fns.py", "unique_key": "k-1", "func": "Fn", "code_url": url}
    answers = await asyncio.gather(*(bench.client.post(f"{FT}/create/reward", json=body) for _ in range(3)))
    assert len({answer.json()["output"]["reward_id"] for answer in answers}) == 1
    other = await bench.client.post(f"{FT}/create/reward", json={**body, "func": "Other"})
    assert (other.status_code, other.json()["code"]) == (409, "Conflict")


@pytest.mark.parametrize(
    "change",
    [
        {"name": None},
        {"name": "../fns.py"},
        {"name": "/etc/fns.py"},
        {"name": "functions/fns.txt"},
        {"name": "functions/absent.py"},
        {"name": f"functions/{'x' * 300}.py"},
        {"func": ""},
        {"func": "Fn; import os"},
        {"func": "a.B"},
        {"unique_key": None},
        {"code_url": "http://elsewhere/x.zip"},
        {"code_url": "http://platform.local/oss/never-asked.zip?Signature=x"},
        {"code_url": "http://[bad"},
    ],
)
async def test_a_bad_registration_is_refused(bench: Any, change: dict[str, Any]) -> None:
    body = {"name": "functions/fns.py", "unique_key": "k-1", "func": "Fn", "code_url": await bench.put_package()}
    answer = await bench.client.post(f"{FT}/create/reward", json={**body, **change})
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidParameter"), answer.text


async def test_nothing_put_yet_is_told(bench: Any) -> None:
    body = {"name": "functions/fns.py", "unique_key": "k", "func": "Fn", "code_url": await url_for(bench, "k")}
    answer = await bench.client.post(f"{FT}/create/reward", json=body)
    assert "No package was put" in answer.json()["message"]


async def test_loading_starts_the_function_in_its_own_copy(bench: Any) -> None:
    runtime = {"cpu": 2.0, "concurrency": 3, "capacity": 1, "memory_size": 1024, "env": {"A": True, "B": 1}}
    loaded = await bench.load(await bench.register(), runtime)
    assert set(loaded) == {"instanceId", "trigger_url", "trigger_token"}
    assert loaded["instanceId"].startswith("rw-ins-")
    assert loaded["trigger_url"] == f"http://platform.local/functions/{loaded['instanceId']}"
    instance = bench.platform.functions.instance(loaded["instanceId"])
    await bench.platform.instances.start(instance)
    request = bench.pools[0].request
    assert bench.pools[0].is_running
    assert (request.size, request.concurrency) == (1, 3)
    assert request.env == {"A": "true", "B": "1"}
    assert request.memory_limit_bytes == 1024 << 20
    assert (request.package_dir / "functions" / "fns.py").is_file()
    assert bench.platform.paths.packages not in request.package_dir.parents


async def test_loading_again_answers_the_same_instance(bench: Any) -> None:
    entity_id = await bench.register()
    first, again, other = [await bench.load(entity_id, job=job) for job in ("1", "1", "2")]
    assert first == again
    assert other["instanceId"] != first["instanceId"]
    assert other["trigger_token"] != first["trigger_token"]


async def test_unknown_or_ill_shaped_loads(bench: Any) -> None:
    assert (await bench.client.post(f"{FT}/online/faas/jobId-1/rw-unknown", json={})).status_code == 404
    entity_id = await bench.register()
    answer = await bench.client.post(f"{FT}/online/faas/jobId-1/{entity_id}", json={"concurrency": "many"})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("concurrency: ")


async def test_an_instance_tells_its_state(bench: Any) -> None:
    gate = asyncio.Event()
    bench.next_pool["start_gate"] = gate
    loaded = await bench.load(await bench.register())
    path = f"{FT}/query/faas/{loaded['instanceId']}"

    async def state() -> int:
        output = (await bench.client.post(path, json={})).json()["output"]
        assert output["trigger_url"] == loaded["trigger_url"]
        assert output["trigger_token"] == loaded["trigger_token"]
        return int(output["status"])

    assert await state() in (0, 1)
    instance = bench.platform.functions.instance(loaded["instanceId"])
    starting = asyncio.create_task(bench.platform.instances.start(instance))
    await asyncio.sleep(0)
    assert await state() == 1
    gate.set()
    await starting
    assert await state() == 2
    await bench.platform.instances.stop(loaded["instanceId"])
    assert await state() == 0


async def test_an_instance_that_cannot_start_says_why(bench: Any) -> None:
    bench.next_pool["start_error"] = FunctionFailed("functions.fns has no class Fn")
    loaded = await bench.load(await bench.register())
    instance = bench.platform.functions.instance(loaded["instanceId"])
    with pytest.raises(FunctionFailed):
        await bench.platform.instances.start(instance)
    output = (await bench.client.post(f"{FT}/query/faas/{loaded['instanceId']}", json={})).json()["output"]
    assert (output["status"], output["message"]) == (-1, "functions.fns has no class Fn")
    logged = await bench.client.post(f"{FT}/query/faas/log/{loaded['instanceId']}", json={})
    assert "start failed" in logged.json()["output"]["log_entries"][0]["message"]
    bench.next_pool.clear()
    await bench.platform.instances.start(instance)
    output = (await bench.client.post(f"{FT}/query/faas/{loaded['instanceId']}", json={})).json()["output"]
    assert (output["status"], "message" in output) == (2, False)


async def test_missing_requirements_are_noted_in_the_instance_log(bench: Any) -> None:
    answer = await bench.client.post(
        f"{FT}/create/faas/layer", json={"layer_name": "a", "requirements_content": "no-such-package"}
    )
    layer_code = answer.json()["output"]["layer_code"]
    await bench.client.get(f"{FT}/query/faas/layer/status", params={"layer_code": layer_code})
    loaded = await bench.load(await bench.register(), {"layer_code": layer_code})
    await bench.platform.instances.start(bench.platform.functions.instance(loaded["instanceId"]))
    entries, _ = await bench.platform.instance_logs.query(loaded["instanceId"], page=1, size=10)
    assert "no-such-package" in entries[0].text


async def test_instance_logs_are_paged_and_filtered(bench: Any) -> None:
    loaded = await bench.load(await bench.register())
    instance_id = loaded["instanceId"]
    for number in range(5):
        bench.platform.instance_logs.add(instance_id, f"line {number}", stream="log", time_s=100.0 + number)
    path = f"{FT}/query/faas/log/{instance_id}"
    output = (await bench.client.post(path, json={"pageNumber": 2, "pageSize": 2})).json()["output"]
    assert output == {
        "page_number": 2,
        "page_size": 2,
        "total_count": 5,
        "log_entries": [
            {"instance_id": instance_id, "message": "line 2", "timestamp": 102, "stream": "log"},
            {"instance_id": instance_id, "message": "line 3", "timestamp": 103, "stream": "log"},
        ],
    }
    body = {"startTime": 101, "endTime": 103, "keywords": ["LINE"]}
    output = (await bench.client.post(path, json=body)).json()["output"]
    assert [entry["timestamp"] for entry in output["log_entries"]] == [101, 102, 103]
    for wrong in (
        {"pageSize": 0},
        {"pageNumber": 0},
        {"pageSize": 10**6},
        {"keywords": "x"},
        {"startTime": "x"},
        {"pageSize": True},
    ):
        assert (await bench.client.post(path, json=wrong)).status_code == 400, wrong


async def test_a_deleted_instance_is_gone(bench: Any) -> None:
    loaded = await bench.load(await bench.register())
    instance_id = loaded["instanceId"]
    await bench.platform.instances.start(bench.platform.functions.instance(instance_id))
    answer = await bench.client.post(f"{FT}/delete/faas/{instance_id}", json={})
    body = answer.json()
    assert (body["code"], body["message"], body["data"]["status"]) == (0, "success", "deleted")
    assert not bench.pools[0].is_running
    assert not bench.pools[0].request.package_dir.exists()
    for path in (f"query/faas/{instance_id}", f"query/faas/log/{instance_id}", f"delete/faas/{instance_id}"):
        assert (await bench.client.post(f"{FT}/{path}", json={})).status_code == 404


async def test_a_deletion_while_starting_ends_the_start(bench: Any) -> None:
    bench.next_pool["start_gate"] = asyncio.Event()
    loaded = await bench.load(await bench.register())
    instance = bench.platform.functions.instance(loaded["instanceId"])
    starting = asyncio.create_task(bench.platform.instances.start(instance))
    await asyncio.sleep(0)
    await bench.client.post(f"{FT}/delete/faas/{loaded['instanceId']}", json={})
    with pytest.raises(FunctionFailed, match="stopped"):
        await starting
    assert not bench.platform.instances.is_running(loaded["instanceId"])


async def test_a_package_that_vanished_is_told(bench: Any) -> None:
    loaded = await bench.load(await bench.register())
    await bench.platform.instances.stop(loaded["instanceId"])
    (stored,) = bench.platform.paths.packages.iterdir()
    stored.rename(Path(f"{stored}.gone"))
    answer = await bench.client.get(
        f"/functions/{loaded['instanceId']}/health", headers={"authorization": f"Bearer {loaded['trigger_token']}"}
    )
    assert answer.status_code == 500
    assert "register the function again" in answer.json()["message"]
