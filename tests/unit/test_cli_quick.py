"""The short way of `list`, `get` and `logs`: the same bytes as the whole way, without its libraries."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.client import quick, quick_jobs
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.models.jobs import Job, JobProgress
from agentic_rl_tui.core.paths import PlatformPaths

KEY = "sk-0123456789abcdef"
HEAVY = {"httpx", "pydantic", "asyncio", "rich", "textual", "anyio", "ssl", "dataclasses", "pathlib", "typing", "email"}
PLAIN: dict[str, Any] = {"job_id": "ft-1", "job_name": "calc", "status": "RUNNING", "model": "qwen3.5-9b"}
JOBS: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "null fields": {**PLAIN, "job_name": None, "training_file_ids": None, "hyper_parameters": None, "usage": None},
    "no status": {**PLAIN, "status": None},
    "other fields": {"zeta": {"b": None, "a": [1, None]}, **PLAIN, "alpha": True, "gone": None, "size": 12.5},
    "numbers for texts": {**PLAIN, "creator": 1, "group": 2.5, "modifier": True},
    "values": {**PLAIN, "hyper_parameters": {"lr": 1e-06, "n": 3, "none": None}, "training_file_ids": ["f-1", None]},
    "opd": {**PLAIN, "training_type": "pg_opd", "teacher_model": "qwen3-max", "create_time": "2026-12-01 10:00:00"},
    "progress": {**PLAIN, "progress": {"phase": "train", "step": 2, "total_steps": 9, "rewards": [0, 0.25], "new": 1}},
    "scarce progress": {**PLAIN, "progress": {"validation": 1}},
    "wide and hostile texts": {**PLAIN, "job_name": "计算 任务", "message": "a\x1b[31m\u202eb\nc\u2028", "model": "–"},
    "a secret": {**PLAIN, "message": f"the key {KEY} was used"},
}
UNSURE: dict[str, dict[str, Any]] = {
    "a list for a text": {**PLAIN, "model": ["a"]},
    "a number for a status": {**PLAIN, "status": 3},
    "a text for an object": {**PLAIN, "hyper_parameters": "x"},
    "numbers for file ids": {**PLAIN, "training_file_ids": [1]},
    "a text for a step": {**PLAIN, "progress": {"step": "3", "total_steps": 4}},
}


@pytest.fixture(autouse=True)
def _ordinary_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


class Service:
    """Answers every request with what `answer` gives; remembers the paths and headers it was asked with."""

    def __init__(self) -> None:
        self.answer: Callable[[str], tuple[int, Any]] = lambda _path: (200, {})
        self.is_chunked = False
        self.asked: list[tuple[str, dict[str, str]]] = []

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append((handler.path, dict(handler.headers.items())))
        status, body = self.answer(handler.path)
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        if self.is_chunked:
            handler.send_header("Transfer-Encoding", "chunked")
            raw = b"".join(b"%x\r\n%s\r\n" % (len(raw[at : at + 7]), raw[at : at + 7]) for at in range(0, len(raw), 7))
            raw += b"0\r\n\r\n"
        else:
            handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            service.respond(self)

        def address_string(self) -> str:
            return "somebody"

        def log_message(self, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    found = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", f"http://127.0.0.1:{server.server_port}/api/v1")
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def _both_ways(
    call: list[str], service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, int]:
    """Exit code and stdout, which both ways share, and the number of requests of the short way."""
    results = []
    for way in ("1", "0"):
        service.asked.clear()
        monkeypatch.setenv("AGENTIC_RL_QUICK", way)
        code = main(call)
        results.append((code, capsys.readouterr(), len(service.asked)))
    (code, told, asked), (other_code, other_told, other_asked) = results
    assert (code, told) == (other_code, other_told)
    assert other_asked == 1
    return code, told.out, asked


@pytest.mark.parametrize("form", ["table", "json", "yaml"])
@pytest.mark.parametrize("name", JOBS)
def test_a_job_reads_the_same(
    name: str, form: str, service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answer = lambda _path: (200, {"request_id": "r", "output": JOBS[name]})
    code, out, asked = _both_ways(["get", "ft-1", "-o", form], service, capsys, monkeypatch)
    assert (code, asked) == (exits.OK, 1)
    assert KEY not in out


@pytest.mark.parametrize("name", UNSURE)
def test_an_odd_job_is_asked_for_again_the_whole_way(
    name: str, service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answer = lambda _path: (200, {"output": UNSURE[name]})
    code, _out, asked = _both_ways(["get", "ft-1", "-o", "json"], service, capsys, monkeypatch)
    assert (code, asked) == (exits.OK, 2)


@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_a_list_reads_the_same(
    form: str, service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*JOBS.values(), {"job_id": ""}, "no job"]
    service.answer = lambda _path: (200, {"output": {"jobs": rows, "total": 30, "page_no": 2}})
    code, out, asked = _both_ways(["list", "-p", "2", "-s", "20", "-o", form], service, capsys, monkeypatch)
    assert (code, asked) == (exits.OK, 1)
    assert out.count("ft-1") == len(JOBS)
    assert service.asked[0][0].endswith("/fine-tunes?page_no=2&page_size=20")
    assert service.asked[0][1]["Authorization"] == f"Bearer {KEY}"


def test_an_empty_list_says_so_both_ways(
    service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answer = lambda _path: (200, {"output": {"jobs": [], "total": 0}})
    assert _both_ways(["list"], service, capsys, monkeypatch)[2] == 1


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_log_reads_the_same_page_by_page(
    form: str, service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {number} \x1b[1m {KEY}" for number in range(1500)]

    def page(path: str) -> tuple[int, Any]:
        words = dict(word.split("=") for word in path.partition("?")[2].split("&"))
        begin = int(words["offset"])
        return 200, {"output": {"logs": lines[begin : begin + int(words["line"])], "total": len(lines)}}

    service.answer = page
    results = []
    for way in ("1", "0"):
        service.asked.clear()
        monkeypatch.setenv("AGENTIC_RL_QUICK", way)
        assert main(["logs", "ft-1", "--offset", "10", "--lines", "1200", "-o", form]) == exits.OK
        results.append((capsys.readouterr(), len(service.asked)))
    assert results[0] == results[1]
    assert results[0][1] == 2
    assert "line 1209 " in results[0][0].out
    assert "line 1210 " not in results[0][0].out


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (404, {"code": "NotFound", "message": "no such job"}, exits.REJECTED),
        (401, {"code": "InvalidApiKey", "message": "wrong"}, exits.REJECTED),
        (200, {"code": "Throttled", "message": "wait"}, exits.REJECTED),
        (200, b"<html>proxy</html>", exits.REJECTED),
        (200, {"output": []}, exits.REJECTED),
    ],
)
def test_what_goes_wrong_is_told_by_the_whole_way(
    status: int,
    body: Any,
    code: int,
    service: Service,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentic_rl_tui.core.client.transport.RetryPolicy", lambda: RetryPolicy(attempts=1))
    service.answer = lambda _path: (status, body)
    monkeypatch.setenv("AGENTIC_RL_QUICK", "1")
    assert main(["get", "ft-1"]) == code
    assert capsys.readouterr().err.startswith("✗ ")


def test_chunked_answers_and_unusual_numbers(
    service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.is_chunked = True
    service.answer = lambda _path: (200, {"output": {**PLAIN, "usage": {"tokens": 123456789012345678}}})
    assert _both_ways(["get", "ft-1", "-o", "json"], service, capsys, monkeypatch)[2] == 1
    service.answer = lambda _path: (200, b'{"output": {"job_id": "ft-1", "usage": "\\ud83d\\ude00"}}')
    assert _both_ways(["get", "ft-1", "-o", "json"], service, capsys, monkeypatch)[2] == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_REQUEST_TIMEOUT", "20"), ("LOG_LEVEL", "INFO"), ("DASHSCOPE_HTTP_BASE_URL", "http://[::1]:1/api/v1")],
)
def test_unusual_settings_take_the_whole_way(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", "http://127.0.0.1:1/api/v1")
    assert quick.address(".", profile=None, base_url=None, api_key=None) is not None
    monkeypatch.setenv(name, value)
    assert quick.address(".", profile=None, base_url=None, api_key=None) is None


def test_a_proxy_takes_the_whole_way_unless_the_server_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(url: str) -> bool:
        return quick.address(".", profile=None, base_url=url, api_key=KEY) is not None

    assert found("https://dashscope.aliyuncs.com/api/v1") is (sys.platform == "linux")
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    assert not found("https://dashscope.aliyuncs.com/api/v1")
    assert found("http://localhost:8000/api/v1")


def test_profiles_of_the_files_are_known(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "agentic-rl.toml").write_text(
        'workspace_id = "ws-1"\n[profiles.mine]\nbase_url = "https://a.example/api/v1/"\napi_key = "sk-abcdefghijkl"\n'
    )
    to = quick.address(str(workspace), profile="mine", base_url=None, api_key=None)
    if sys.platform == "linux":
        assert to is not None
        assert (to.scheme, to.host, to.port, to.path) == ("https", "a.example", 443, "/api/v1")
        assert to.headers == {"Authorization": "Bearer sk-abcdefghijkl", "X-DashScope-WorkSpace": "ws-1"}


def test_fields_are_those_of_the_models() -> None:
    assert list(quick_jobs.FIELDS) == list(Job.model_fields)
    assert list(quick_jobs.PROGRESS) == list(JobProgress.model_fields)


def test_the_local_platform_is_asked_over_its_socket(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = tmp_path_factory.mktemp("s")
    monkeypatch.setenv("AGENTIC_RL_STATE_DIR", str(state))
    path = PlatformPaths.default().socket
    if path.parent != state / "platform":
        pytest.skip("the temporary directory is too deep for a socket")
    path.parent.mkdir(parents=True)
    service = Service()
    service.answer = lambda _path: (200, {"output": {"jobs": [PLAIN], "total": 1}})
    server = ThreadingUnixStreamServer(str(path), _handler(service))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        assert _both_ways(["list"], service, capsys, monkeypatch)[2] == 1
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("call", [["list"], ["list", "-o", "json"], ["get", "ft-1"], ["logs", "ft-1", "--lines", "1"]])
def test_the_short_way_imports_no_more_than_it_needs(call: list[str], service: Service) -> None:
    def answer(path: str) -> tuple[int, Any]:
        listed = {"jobs": [PLAIN], "total": 1}
        log = {"logs": ["one"], "total": 1}
        return 200, {"output": log if "/logs" in path else listed if "?" in path else PLAIN}

    service.answer = answer
    # The finder of an editable install and what the interpreter's own start loads are not ours to count.
    script = (
        "import sys; before = set(sys.modules)\n"
        "from agentic_rl_tui.app.__main__ import main\n"
        f"code = main({call!r})\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "ft-1" in done.stdout or "one" in done.stdout
    assert not HEAVY & {name.partition(".")[0] for name in done.stderr.split()}
