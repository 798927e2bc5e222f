"""Every way a service, a proxy or the network can fail ends in one clear error."""

import asyncio
import json
import os
import ssl
import subprocess
import traceback
from pathlib import Path

import httpx
import pytest

from agentic_rl_tui.core.client.answers import read
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.sdk import AgenticRL

JOB = "GET /api/v1/fine-tunes/ft-1$"
ENVELOPE = {"request_id": "req-7", "code": "SomeCode", "message": "the words of the service"}
HTML = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "InvalidParameter", errors.Rejected),
        (400, "UnsupportedOperation", errors.Conflict),
        (400, "Arrearage", errors.AccessDenied),
        (401, "InvalidApiKey", errors.AuthError),
        (403, "AccessDenied", errors.AccessDenied),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (422, "SomethingNew", errors.Rejected),
        (418, None, errors.Rejected),
        (500, "InternalError", errors.ServerError),
        (503, None, errors.ServerError),
        (429, "Throttling.RateQuota", errors.RateLimited),
    ],
)
async def test_status_becomes_one_class_with_the_facts(service, client, status, code, kind):
    service.fail(JOB, times=9, status=status, body={**ENVELOPE, "code": code})
    with pytest.raises(errors.ArlError) as caught:
        await client.get("ft-1")
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.code, error.request_id) == (status, code, "req-7")
    assert (error.method, error.path) == ("GET", "/api/v1/fine-tunes/ft-1")
    assert "the words of the service" in str(error)
    assert f"HTTP {status}" in str(error)
    assert error.advice


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty answer"),
        (b'{"output": {"job_id"', "not JSON"),
        (b"[1, 2]", "JSON array"),
        (b"null", "JSON null"),
        (HTML.encode(), "HTML page (“502 Bad Gateway”)"),
        (json.dumps({"request_id": "r", "output": None}).encode(), "no 'output' object"),
        (json.dumps({"request_id": "r"}).encode(), "no 'output' object"),
        (json.dumps({"output": "text"}).encode(), "no 'output' object"),
    ],
)
async def test_unreadable_success_is_a_bad_response(service, client, body, words):
    service.fail(JOB, times=9, status=200, body=body)
    with pytest.raises(errors.BadResponse) as caught:
        await client.get("ft-1")
    assert words in caught.value.message
    assert caught.value.method == "GET"
    assert caught.value.status == 200
    assert "attribute" not in caught.value.message


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ({"code": "X", "message": "no", "request_id": "q"}, errors.Rejected, "no"),
        ({"code": "InvalidApiKey", "message": "bad key"}, errors.AuthError, "bad key"),
        ({"status": {"code": 404, "message": "gone"}, "output": {"job_id": "ft-1"}}, errors.NotFound, "gone"),
        ({"status": {"code": 500}, "output": {}}, errors.ServerError, "inside its answer"),
        ({"success": False, "data": {}}, errors.Rejected, "without saying why"),
        ({"code": 429, "message": "slow down"}, errors.RateLimited, "slow down"),
    ],
)
async def test_error_inside_a_success_is_raised(service, client, body, kind, words):
    service.fail("cancel", times=9, status=200, body=body)
    with pytest.raises(kind, match=words):
        await client.cancel("ft-1")


@pytest.mark.parametrize("status", [{"code": 200}, "fine", None])
async def test_http_status_wins_over_a_body_that_claims_success(service, client, status):
    service.fail(JOB, times=9, status=500, body={"status": status, "output": {"job_id": "ft-1"}})
    with pytest.raises(errors.ServerError):
        await client.get("ft-1")


@pytest.mark.parametrize("status", [200, 201, 202])
async def test_any_2xx_is_a_success(service, client, status):
    service.fail(JOB, status=status, body={"output": {"job_id": "ft-1", "status": "RUNNING"}})
    assert (await client.get("ft-1")).status == "RUNNING"


@pytest.mark.parametrize(
    ("status", "kind"), [(403, errors.BadResponse), (404, errors.BadResponse), (502, errors.ServerError)]
)
async def test_html_error_page_names_the_proxy(service, client, status, kind):
    service.fail(JOB, times=9, status=status, body=HTML)
    with pytest.raises(kind) as caught:
        await client.get("ft-1")
    assert "502 Bad Gateway" in caught.value.message
    assert "proxy" in caught.value.message


async def test_error_text_loses_escapes_and_keeps_brackets(service, client):
    service.fail(JOB, times=9, status=400, body={"code": "X", "message": "\x1b[31mred\x1b[0m [/x] [info]\nnext"})
    with pytest.raises(errors.Rejected) as caught:
        await client.get("ft-1")
    assert caught.value.message == "red [/x] [info]⏎next"


async def test_redirect_is_told_and_not_followed(service, client):
    service.fail(JOB, times=9, status=302, body=b"", headers={"Location": "https://login.example/sso"})
    with pytest.raises(errors.BadResponse, match=r"login\.example"):
        await client.get("ft-1")
    assert all("login" not in seen.target for seen in service.seen)


async def test_field_problems_of_422_name_the_field(service, client):
    detail = [{"loc": ["body", "model"], "msg": "field required"}]
    service.fail(JOB, times=9, status=422, body={"detail": detail})
    with pytest.raises(errors.Rejected, match=r"body\.model: field required"):
        await client.get("ft-1")


async def test_body_cut_off_on_the_way(service, client):
    service.fail(JOB, times=9, raw=b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"output": {')
    with pytest.raises(errors.BadResponse, match="cut off"):
        await client.get("ft-1")


async def test_connection_lost_before_the_answer(service, client):
    service.fail(JOB, times=9, drop=True)
    with pytest.raises(errors.Unreachable, match="lost before the answer") as caught:
        await client.get("ft-1")
    assert caught.value.outcome_unknown


async def test_not_http_at_all(service, client):
    service.fail(JOB, times=9, raw=b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    with pytest.raises(errors.BadResponse, match="does not speak HTTP"):
        await client.get("ft-1")


async def test_broken_compression(service, client):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"
    service.fail(JOB, times=9, raw=head + b"abcde")
    with pytest.raises(errors.BadResponse, match="compression"):
        await client.get("ft-1")


async def test_timeout_names_endpoint_and_limit(service, make_client):
    service.fail(JOB, times=9, stall=True)
    client = make_client(flags={"timeout_s": "0.05"})
    with pytest.raises(errors.TimedOut) as caught:
        await client.get("ft-1")
    assert "0.05 s" in caught.value.message
    assert caught.value.path == "/api/v1/fine-tunes/ft-1"
    assert "HTTP_REQUEST_TIMEOUT" in caught.value.advice


async def test_refused_connection(make_client, free_port):
    client = make_client(base_url=f"http://127.0.0.1:{free_port}/api/v1")
    with pytest.raises(errors.Unreachable, match="connection refused") as caught:
        await client.get("ft-1")
    assert not caught.value.outcome_unknown
    assert str(free_port) in caught.value.message


async def test_name_that_does_not_resolve(make_client):
    client = make_client(base_url="http://no-such-host.invalid/api/v1")
    with pytest.raises(errors.Unreachable, match="cannot be resolved"):
        await client.get("ft-1")


async def test_proxy_that_refuses(service, make_client, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{service.port}")
    client = make_client(base_url="https://service.invalid/api/v1")
    with pytest.raises(errors.Unreachable, match="proxy refused") as caught:
        await client.get("ft-1")
    assert "HTTPS_PROXY" in caught.value.advice
    assert service.requests("CONNECT")


async def test_proxy_is_used_for_the_service_and_not_for_loopback(service, make_client, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{service.port}")
    service.jobs.append({"job_id": "ft-1", "status": "RUNNING"})
    through = make_client(base_url="http://service.invalid/api/v1")
    assert (await through.get("ft-1")).job_id == "ft-1"
    assert service.seen[-1].target.startswith("http://service.invalid/")
    assert (await make_client().get("ft-1")).job_id == "ft-1"
    assert service.seen[-1].target.startswith("/api/v1/")


async def test_proxy_that_cannot_be_reached_is_named_without_its_password(make_client, monkeypatch, free_port):
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{free_port}")
    with pytest.raises(errors.Unreachable, match=rf"the proxy 127\.0\.0\.1:{free_port} .*refused") as caught:
        await make_client(base_url="https://service.invalid/api/v1").get("ft-1")
    assert "secret" not in str(caught.value)


async def test_unusable_proxy_setting_is_named(make_client, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "ftp://127.0.0.1")
    with pytest.raises(errors.ConfigError) as caught:
        await make_client(base_url="https://service.invalid/api/v1").get("ft-1")
    assert "HTTPS_PROXY" in caught.value.advice


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("ca")
    certificate, key = folder / "ca.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return certificate, key


@pytest.fixture
async def tls_port(authority, service):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0, ssl=context)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def test_private_authority_is_refused_until_it_is_named(service, make_client, authority, tls_port, monkeypatch):
    service.jobs.append({"job_id": "ft-1"})
    url = f"https://127.0.0.1:{tls_port}/api/v1"
    with pytest.raises(errors.Unreachable, match=r"certificate .* cannot be verified") as caught:
        await make_client(base_url=url).get("ft-1")
    assert "SSL_CERT_FILE" in caught.value.advice
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    assert (await make_client(base_url=url).get("ft-1")).job_id == "ft-1"


async def test_tls_to_a_plain_port(make_client):
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(errors.Unreachable, match="no TLS connection"):
        await make_client(base_url=f"https://127.0.0.1:{port}/api/v1").get("ft-1")
    server.close()


async def test_missing_certificate_file_is_named(make_client, monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    with pytest.raises(errors.ConfigError) as caught:
        await make_client(base_url="https://service.invalid/api/v1").get("ft-1")
    assert "SSL_CERT_FILE" in caught.value.advice


async def test_local_platform_that_is_not_there(tmp_path):
    from agentic_rl_tui.core import settings
    from agentic_rl_tui.core.client.jobs import Jobs
    from agentic_rl_tui.core.client.transport import Transport

    transport = Transport(settings.load(profile="local"), retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.Unreachable, match="the local platform cannot be reached") as caught:
        await Jobs(transport).get("ft-1")
    assert "serve" in caught.value.advice


async def test_missing_platform_is_started_once_and_the_request_repeated(service, tmp_path):
    from agentic_rl_tui.core import settings
    from agentic_rl_tui.core.client.files import Files
    from agentic_rl_tui.core.client.jobs import Jobs
    from agentic_rl_tui.core.client.transport import Transport

    loaded = settings.load(profile="local")
    starts = []
    servers = []

    async def start() -> None:
        starts.append(1)
        path = loaded.platform.socket
        path.parent.mkdir(parents=True, exist_ok=True)
        servers.append(await asyncio.start_unix_server(service.serve, str(path)))

    service.jobs.append({"job_id": "ft-1"})
    transport = Transport(loaded, retry=RetryPolicy(attempts=1), on_missing_platform=start)
    assert (await Jobs(transport).get("ft-1")).job_id == "ft-1"
    file = tmp_path / "rows.jsonl"
    file.write_text("{}\n")
    assert (await Files(transport).upload(file)).file_id == "file-1"
    assert starts == [1]
    assert service.seen[0].header("host") == "platform.local"
    assert service.seen[0].header("authorization") is None
    await transport.close()
    servers[0].close()


async def test_every_resource_gives_the_same_kind_of_error(service, client):
    service.fail(".", times=99, status=401, body=ENVELOPE)
    from agentic_rl_tui.core.models.functions import FunctionKind

    for call in (
        client.get("ft-1"),
        client.list(),
        client.logs("ft-1"),
        client.cancel("ft-1"),
        client.delete("ft-1"),
        client.jobs.create({}),
        client.files.list(),
        client.files.get("f"),
        client.files.delete("f"),
        client.functions.upload_url(FunctionKind.REWARD),
        client.functions.create_layer("x"),
        client.functions.query("rw-ins-1"),
        client.functions.logs("rw-ins-1"),
        client.functions.delete_instance("rw-ins-1"),
    ):
        with pytest.raises(errors.AuthError):
            await call


async def test_settings_that_are_no_limit_name_their_origin(service, make_client, monkeypatch):
    monkeypatch.setenv("HTTP_REQUEST_TIMEOUT", "soon")
    client = make_client()
    with pytest.raises(errors.ConfigError, match="environment HTTP_REQUEST_TIMEOUT"):
        await client.get("ft-1")


async def test_value_that_json_cannot_hold_is_refused_before_sending(service, client):
    with pytest.raises(errors.InputError, match="written as JSON"):
        await client.jobs.create({"x": float("nan")})
    assert not service.seen


async def test_stream_error_status_is_raised_like_any_other(service, client):
    with pytest.raises(errors.NotFound):
        async for _ in client.jobs.stream("ft-9"):
            pass


def test_client_can_be_used_from_one_loop_after_another(tmp_path):
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"output": {"job_id": "ft-1"}})

    client = AgenticRL("sk-abcdefgh", base_url="http://127.0.0.1:9/api/v1", http=httpx.MockTransport(handler))
    for _ in range(2):
        assert asyncio.run(client.get("ft-1")).job_id == "ft-1"
    assert "DASHSCOPE_API_KEY" not in os.environ


def test_an_error_that_nobody_catches_says_what_to_do() -> None:
    error = errors.NotFound("no such job", advice="Check the id.")
    assert traceback.format_exception_only(error)[-1].strip() == "Check the id."
    error.add_note("Seen in a script.")
    error.advice = "Look again."
    assert error.__notes__ == ["Look again.", "Seen in a script."]
    assert len(traceback.format_exception_only(errors.NotFound("no such job", advice=""))) == 1


def test_the_code_of_a_failed_job_in_its_report_is_no_refusal():
    report = {"job_id": "ft-1", "status": "FAILED", "code": "PlatformStopped", "reason": "platform stopped"}
    local = httpx.Request("GET", "http://local/local/v1/jobs/ft-1/report")
    assert read(httpx.Response(200, json=report, request=local)).body == report
    elsewhere = httpx.Request("GET", "http://local/api/v1/fine-tunes/ft-1")
    with pytest.raises(errors.ArlError):
        read(httpx.Response(200, json=report, request=elsewhere))
