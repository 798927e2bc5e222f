"""Every verb: data alone on stdout in the form that was asked for, narration on stderr, and one of the exit codes."""

import json
import socket
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from json_service import json_service

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import dry_run, exits
from agentic_rl_tui.app.cli.dispatch import Parser, inner_parsers
from agentic_rl_tui.app.cli.verbs import VERBS, Verb, find
from agentic_rl_tui.core.client.retry import RetryPolicy
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

Captured = pytest.CaptureFixture[str]
KEY = "sk-0123456789abcdef"
JOB: dict[str, Any] = {"job_id": "ft-1", "job_name": "calc", "status": "SUCCEEDED", "model": "m"}
REWARD = "functions.reward.answer.AnswerReward"
LOCAL = ["--profile", "local"]
CALLS: dict[str, list[str]] = {
    "quickstart": ["quickstart", "fresh"],
    "init": ["init", "other"],
    "run": ["run", "-c", "rl-job.yaml"],
    "run, followed": ["run", "-c", "rl-job.yaml", "--follow"],
    "run, rehearsed": ["run", "-c", "rl-job.yaml", "--dry-run"],
    "functions": ["functions", "list"],
    "functions test": ["functions", "test", REWARD, "--row", "0", "--answer", "1"],
    "functions package": ["functions", "package"],
    "functions logs": ["functions", "logs", "rw-ins-1"],
    "functions delete": ["functions", "delete", "rw-ins-1"],
    "validate": ["validate"],
    "register_functions": ["register_functions", "--reward-classpaths", REWARD],
    "test_functions": ["test_functions", "rw-ins-1", "--type", "reward", "--input", "resources/reward_input.json"],
    "upload_data": ["upload_data", "--training-files", "data/train.jsonl"],
    "list": ["list"],
    "get": ["get", "ft-1"],
    "wait": ["wait", "ft-1"],
    "logs": ["logs", "ft-1"],
    "cancel": ["cancel", "ft-1"],
    "delete": ["delete", "ft-1"],
    "platform": ["platform", "stop"],
    "platform reset": ["platform", "reset"],
    "doctor": ["doctor", *LOCAL],
    "config": ["config", "list"],
    "config get": ["config", "get", "tui.theme"],
    "config set": ["config", "set", "tui.theme", "light"],
    "config unset": ["config", "unset", "tui.theme"],
    "config path": ["config", "path"],
    "keys": ["keys"],
}


class Service:
    """Takes everything, and tells of one job. status: what every request is answered with instead."""

    def __init__(self) -> None:
        self.job = dict(JOB)
        self.status: int | None = None
        self.url = ""

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
        path, _mark, query = target.partition("?")
        if self.status is not None:
            return self.status, {"code": "NotFound", "message": "nothing like it", "request_id": "r"}
        if path.endswith("/call/api/v1"):
            return 200, {"status": "success", "reward": {"reward_score": 1.0}}
        if "/query/faas/log/" in path:
            return 200, {"output": {"logs": [], "total": 0}}
        if "/query/faas/" in path and "layer" not in path:
            return 200, {"output": {"instance_id": "rw-ins-1", "status": "ACTIVE", "trigger_url": f"{self.url}/call"}}
        if method == "GET" and path.endswith("/logs"):
            offset = int(query.partition("offset=")[2].partition("&")[0])
            return 200, {"output": {"logs": ["one", "two"][offset:], "total": 2}}
        if method == "GET" and path.endswith("/fine-tunes"):
            return 200, {"output": {"jobs": [self.job], "total": 1}}
        if (method == "GET" and "/faas/" not in path) or path.endswith("/cancel"):
            return 200, {"output": self.job}
        if path.endswith("/fine-tunes"):
            return 200, {"output": {**self.job, "job_name": json.loads(body)["job_name"]}}
        if method == "DELETE" or "/delete/" in path:
            return 200, {"output": {}}
        is_json = body.startswith(b"{")
        found = dry_run._answer(httpx.Request(method, f"http://x{path}"), json.loads(body) if is_json else None, body)
        if "url" in found.get("output", {}):
            found["output"]["url"] = f"{self.url}/put"
        return 200, found


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    found = Service()

    def answer(method: str, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
        status, told = found.answer(method, target, body)
        return status, {"request_id": "r", **told}

    with json_service(answer) as found.url:
        monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
        monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", f"{found.url}/api/v1")
        monkeypatch.setattr("agentic_rl_tui.core.client.transport.RetryPolicy", lambda: RetryPolicy(attempts=1))
        yield found


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], target)
    monkeypatch.chdir(target)
    return target


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.name != "completion"], ids=lambda verb: verb.name)
def test_every_verb_takes_a_form_of_output(verb: Verb) -> None:
    """The script that completion prints is in the language of a shell already."""
    parser = Parser(prog=verb.name)
    import_module(f"agentic_rl_tui.app.cli.{verb.module}").arguments(parser)
    for name, inner in (inner_parsers(parser) or {verb.name: parser}).items():
        assert any("--output" in action.option_strings for action in inner._actions), name


@pytest.mark.parametrize("name", CALLS)
def test_stdout_holds_the_data_and_nothing_else(
    name: str, service: Service, workspace: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*CALLS[name], "-o", "json"]) == exits.OK
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert isinstance(data, dict | list)
    assert KEY not in told.out + told.err
    if name in ("run", "run, followed", "quickstart"):
        assert data["job_id"] == "ft-1"
    if name in ("init", "quickstart", "register_functions", "upload_data", "run, rehearsed"):
        return  # the second time is another matter
    assert main([*CALLS[name], "-o", "yaml"]) == exits.OK
    assert _shape(yaml.safe_load(capsys.readouterr().out)) == _shape(data)


def _shape(value: Any) -> Any:
    """Keys and kinds: times and random endings differ from one run to the next."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return type(value) if not isinstance(value, int | float) else float


USAGE = [
    ["lsit"],
    ["get"],
    ["list", "--page", "one"],
    ["get", "ft-1", "-o", "xml"],
    ["get", "a/../b"],
    ["list", "--size", "1000"],
    ["init", "--template", "none"],
    ["run"],
    ["run", "-c", "missing.yaml"],
    ["register_functions"],
    ["test_functions", "rw-ins-1", "--type", "nonsense", "--input", "{}"],
    ["test_functions", "rw-ins-1", "--type", "reward", "--input", "{"],
    ["upload_data"],
    ["upload_data", "--training-files", "missing.jsonl"],
    ["functions", "test", "functions.reward.answer.Nothing", "--row", "0"],
    ["functions", "test", REWARD],
    ["logs", "ft-1", "--follow", "-o", "json"],
    ["platform", "export"],
    ["config", "set", "nothing.like.it", "1"],
    ["list", "--profile", "nowhere"],
    ["validate", "missing.yaml"],
]


@pytest.mark.parametrize("call", USAGE, ids=" ".join)
def test_what_was_typed_wrong_ends_with_2(call: list[str], service: Service, workspace: Path, capsys: Captured) -> None:
    assert main(call) == exits.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err


def test_without_a_key_it_is_a_matter_of_configuration(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.delenv("DASHSCOPE_API_KEY")
    assert main(["list"]) == exits.USAGE
    assert "DASHSCOPE_API_KEY" in capsys.readouterr().err


ASKING = ["list", "get", "wait", "logs", "cancel", "delete", "upload_data", "register_functions", "functions logs"]


@pytest.mark.parametrize("name", ASKING)
def test_what_the_service_refuses_ends_with_1(name: str, service: Service, workspace: Path, capsys: Captured) -> None:
    service.status = 404
    assert main(CALLS[name]) == exits.REJECTED
    told = capsys.readouterr()
    assert told.out == ""
    assert "nothing like it" in told.err


@pytest.mark.parametrize("name", ASKING)
def test_a_service_that_is_not_there_ends_with_3(
    name: str, service: Service, workspace: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can answer here
        monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/api/v1")
        assert main(CALLS[name]) == exits.UNREACHABLE
    assert capsys.readouterr().out == ""


def test_a_platform_that_does_not_run_ends_with_3(capsys: Captured) -> None:
    assert main(["platform", "status", "-o", "json"]) == exits.UNREACHABLE
    assert json.loads(capsys.readouterr().out)["state"] == "stopped"


@pytest.mark.parametrize("call", [["wait", "ft-1"], ["logs", "ft-1", "--follow"], CALLS["run, followed"]], ids=" ".join)
@pytest.mark.parametrize("status", ["FAILED", "CANCELED"])
def test_a_job_that_did_not_succeed_ends_with_4(
    call: list[str], status: str, service: Service, workspace: Path, capsys: Captured
) -> None:
    service.job["status"] = status
    assert main(call) == exits.JOB_FAILED


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("init", "config path", "keys")])
def test_ctrl_c_ends_with_130(
    name: str, service: Service, workspace: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object, **_names: object) -> Any:
        raise KeyboardInterrupt

    module = __import__(f"agentic_rl_tui.app.cli.{_module(name)}", fromlist=["run"])
    monkeypatch.setattr(module, "run", interrupt)
    assert main(CALLS[name]) == exits.INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


def _module(name: str) -> str:
    verb = find(CALLS[name][0])
    assert verb is not None
    return verb.module
