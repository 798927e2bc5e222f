import logging
from typing import Any

import httpx
import pytest

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.platform.app import make_app, running_app
from agentic_rl_tui.core.platform.guard import TokenGuard

FT = "/api/v1/fine-tunes"


def check_envelope(answer: httpx.Response, status: int, code: str) -> None:
    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, code)
    assert set(body) == {"request_id", "code", "message"}
    assert body["message"]
    assert body["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "path", ["/", "/api/v1", "/api/v1/nothing", "/api/v2/fine-tunes", "/local/v1/x", f"{FT}/a/b/c/d/e", "/oss/a/b"]
)
async def test_unknown_routes(bench: Any, path: str) -> None:
    check_envelope(await bench.client.get(path), 404, "NotFound")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", FT),
        ("DELETE", FT),
        ("POST", f"{FT}/ft-1"),
        ("GET", f"{FT}/ft-1/cancel"),
        ("POST", f"{FT}/ft-1/logs"),
        ("GET", f"{FT}/create/rollout"),
        ("GET", "/oss/a.zip"),
        ("DELETE", "/api/v1/files"),
        ("GET", "/local/v1/stop"),
    ],
)
async def test_wrong_methods(bench: Any, method: str, path: str) -> None:
    answer = await bench.client.request(method, path)
    check_envelope(answer, 405, "MethodNotAllowed")
    assert answer.headers["allow"]


@pytest.mark.parametrize("path", ["/nothing/", f"{FT}/"])
async def test_a_refusal_does_not_repeat_a_long_path(bench: Any, path: str) -> None:
    answer = await bench.client.get(path + "." * 20_000)
    assert answer.status_code in (400, 404)
    assert len(answer.json()["message"]) < 300


async def test_an_unknown_kind_of_function_is_an_unknown_route(bench: Any) -> None:
    check_envelope(await bench.client.post(f"{FT}/create/teacher", json={}), 404, "NotFound")


POSTS = [FT, f"{FT}/generate/faas/upload/url", f"{FT}/create/faas/layer", f"{FT}/create/reward"]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", [b"{bad", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}'])
async def test_bodies_that_are_no_objects(bench: Any, path: str, body: bytes) -> None:
    answer = await bench.client.post(path, content=body, headers={"content-type": "application/json"})
    check_envelope(answer, 400, "InvalidParameter")


@pytest.mark.parametrize("path", POSTS)
async def test_bodies_that_are_too_large(bench: Any, path: str) -> None:
    answer = await bench.client.post(path, content=b" " * ((16 << 20) + 1))
    check_envelope(answer, 413, "PayloadTooLarge")


@pytest.mark.parametrize("ident", ["..", "a b", "x%00", "a%2e%2e", "é", "x" * 201, "a;b", "%2e%2e"])
async def test_ids_with_odd_characters_are_refused(bench: Any, ident: str) -> None:
    for method, path in (
        ("GET", f"/api/v1/fine-tunes/{ident}/logs"),
        ("POST", f"/api/v1/fine-tunes/{ident}/cancel"),
        ("POST", f"/api/v1/fine-tunes/query/faas/{ident}"),
        ("POST", f"/api/v1/fine-tunes/delete/faas/{ident}"),
        ("POST", f"/api/v1/fine-tunes/online/faas/jobId-1/{ident}"),
        ("DELETE", f"/api/v1/files/{ident}"),
    ):
        answer = await bench.client.request(method, httpx.URL(path))
        assert answer.status_code in (400, 404, 405), (path, answer.text)


async def test_slashes_in_an_id_lead_nowhere(bench: Any) -> None:
    file_id = await bench.upload()
    answer = await bench.client.delete(f"{FT}/..%2Ffiles%2F{file_id}")
    assert answer.status_code in (400, 404, 405)
    assert (await bench.client.get(f"/api/v1/files/{file_id}")).status_code == 200


async def test_our_own_faults_are_told_with_a_request_id(
    bench: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret inner detail")

    monkeypatch.setattr(bench.platform.jobs, "page", broken)
    with caplog.at_level(logging.ERROR):
        answer = await bench.client.get(FT)
    check_envelope(answer, 500, "InternalError")
    assert "secret inner detail" not in answer.text
    assert answer.json()["request_id"] in caplog.text
    assert "secret inner detail" in caplog.text


async def test_trouble_of_the_disk_is_told_in_words(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object, **__: object) -> None:
        raise PlatformError("platform.db cannot grow: the disk is full")

    body = await bench.request_body()
    monkeypatch.setattr(bench.platform.jobs, "create", full)
    answer = await bench.client.post(FT, json=body)
    check_envelope(answer, 500, "InternalError")
    assert "the disk is full" in answer.json()["message"]


async def test_every_request_has_an_id_of_its_own(bench: Any) -> None:
    ids = {(await bench.client.get(FT)).json()["request_id"] for _ in range(3)}
    assert len(ids) == 3


async def test_no_answer_has_a_status_at_its_top(bench: Any) -> None:
    job_id = await bench.create_job()
    for path in (FT, f"{FT}/{job_id}", f"{FT}/{job_id}/logs", "/api/v1/files", f"{FT}/nobody"):
        assert "status" not in (await bench.client.get(path)).json()


class TestToken:
    @pytest.mark.parametrize(
        "value", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic right", "right", "Bearer right2"]
    )
    async def test_is_needed_over_tcp(self, bench: Any, value: str) -> None:
        transport = httpx.ASGITransport(TokenGuard(make_app(bench.platform), "right"))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for path in (FT, "/local/v1/health", "/nothing"):
                check_envelope(
                    await client.get(path, headers={"authorization": value} if value else {}), 401, "InvalidApiKey"
                )

    async def test_opens_what_has_no_key_of_its_own(self, bench: Any) -> None:
        transport = httpx.ASGITransport(TokenGuard(make_app(bench.platform), "right"))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.get(FT, headers={"authorization": "bearer right"})).status_code == 200
            assert (await client.put("/oss/a.zip", content=b"")).status_code == 403
            assert (await client.get("/functions/x/health")).status_code == 404


async def test_health_counts_jobs(bench: Any) -> None:
    await bench.create_job()
    health = (await bench.client.get("/local/v1/health")).json()
    assert (health["status"], health["queued"], health["running"]) == ("ok", 1, 0)
    assert health["root"] == str(bench.platform.paths.root)


async def test_a_running_app_starts_and_stops_its_platform(tmp_path: Any) -> None:
    from contextlib import suppress

    class Nothing:
        events: list[str] = []

        def __init__(self, platform: object) -> None:
            return

        def __getattr__(self, name: str) -> Any:
            async def note(*_: object) -> None:
                self.events.append(name)

            return note

    with suppress(KeyError):
        async with running_app(tmp_path / "p", token="right", make_scheduler=Nothing) as app:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                assert (await client.get(FT)).status_code == 401
            raise KeyError
    assert Nothing.events == ["recover", "start", "stop"]
