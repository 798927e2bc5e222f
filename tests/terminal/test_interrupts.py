"""Ctrl+c on a terminal in each verb that takes long: it says what goes on, leaves with 130, and stops no job."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

pytestmark = pytest.mark.terminal

KEY = "sk-0123456789abcdef"
REWARD = "functions.reward.answer.AnswerReward"
JOB = {"job_id": "ft-1", "job_name": "calc", "status": "RUNNING"}
CASES = {
    "logs": (["logs", "ft-1", "--follow"], "/logs", "job ft-1 goes on; watch it with"),
    "wait": (["wait", "ft-1"], "/fine-tunes/ft-1", "job ft-1 goes on; watch it with"),
    "run": (["run", "-c", "rl-job.yaml"], "/upload/url", "no job was submitted"),
    "register_functions": (["register_functions", "--reward-classpaths", REWARD], "/upload/url", "functions that were"),
    "upload_data": (["upload_data", "--training-files", "data/train.jsonl"], "/files", "files that arrived stay"),
}


class Silent:
    """A service that answers where a job is asked for, and is silent elsewhere. asked: the paths, in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.is_waiting = threading.Event()
        self.is_over = threading.Event()
        self.until = ""


@pytest.fixture
def service() -> Iterator[tuple[Silent, str]]:
    silent = Silent()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            path = self.path.partition("?")[0]
            silent.asked.append((self.command, path))
            if path.endswith(silent.until):
                silent.is_waiting.set()
            if self.command != "GET" or not path.endswith("/fine-tunes/ft-1"):
                silent.is_over.wait()
                return
            body = json.dumps({"output": JOB}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self.answer
            raise AttributeError(name)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield silent, f"http://127.0.0.1:{server.server_port}/api/v1"
    silent.is_over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_says_what_stays(
    name: str, service: tuple[Silent, str], terminal: Callable[..., Any], tmp_path: Path
) -> None:
    silent, url = service
    call, silent.until, words = CASES[name]
    workspace = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], workspace)
    program = terminal(*call, cwd=workspace, is_controlled=True, DASHSCOPE_API_KEY=KEY, DASHSCOPE_HTTP_BASE_URL=url)
    assert silent.is_waiting.wait(60), silent.asked
    program.press("ctrl+c")
    assert program.wait_for_exit() == exits.INTERRUPTED
    shown = program.text()
    assert words in " ".join(shown.split())
    assert "Traceback" not in shown
    assert not [path for method, path in silent.asked if path.endswith("/cancel") or method == "DELETE"]


def test_ctrl_c_stops_a_function_that_is_served(terminal: Callable[..., Any], tmp_path: Path) -> None:
    workspace = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], workspace)
    program = terminal("functions", "serve", REWARD, "--port", "0", cwd=workspace, is_controlled=True)
    program.wait_for("stops it")
    program.press("ctrl+c")
    assert program.wait_for_exit() == exits.INTERRUPTED
    assert "interrupted" in program.text()
    assert "Traceback" not in program.text()


def test_ctrl_c_stops_a_platform_in_the_foreground_in_good_order(terminal: Callable[..., Any], tmp_path: Path) -> None:
    program = terminal("serve", "-o", "json", cwd=tmp_path, is_controlled=True)
    program.wait_for('"socket"')
    program.press("ctrl+c")
    assert program.wait_for_exit() == exits.OK
    assert "Traceback" not in program.text()
