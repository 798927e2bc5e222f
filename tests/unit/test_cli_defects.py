"""What the service's own command line does badly, done better here. Numbers in names are those of the catalog."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from json_service import json_service

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.verbs import find
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

KEY = "sk-0123456789abcdef"
HOSTILE = "[/x] [type=int_type] [info] \x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp"
JOB = {
    "job_id": "ft-1", "job_name": "calc", "status": "RUNNING", "model": "qwen3.5-9b", "creator": 123456,
    "create_time": "2026-12-01 10:00:00", "training_type": "reinforcement", "workspace_id": "llm-7",
    "hyper_parameters": {"batch_size": 64}, "training_file_ids": ["file-1"], "group": "llm", "user_identity": "u-1",
}  # fmt: skip


@dataclass
class Stub:
    """Answers by "METHOD path", the same every time; remembers what it was asked."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    url: str = ""

    def job(self, **changes: Any) -> None:
        self.answers["GET /api/v1/fine-tunes/ft-1"] = (200, {"request_id": "r-1", "output": {**JOB, **changes}})


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    found = Stub()

    def answer(method: str, target: str, _body: bytes) -> tuple[int, Any]:
        found.seen.append(f"{method} {target}")
        missing = (404, {"code": "NotFound", "message": "no such thing", "request_id": "r-0"})
        return found.answers.get(f"{method} {target.partition('?')[0]}", missing)

    with json_service(answer) as address:
        found.url = f"{address}/api/v1"
        monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", found.url)
        monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
        found.job()
        yield found


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], target)
    monkeypatch.chdir(target)
    return target


Captured = pytest.CaptureFixture[str]


def _is_harmless(text: str) -> bool:
    return not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_16_foreign_text_in_a_table_is_neither_markup_nor_escape(stub: Stub, capsys: Captured) -> None:
    stub.answers["GET /api/v1/fine-tunes"] = (200, {"output": {"jobs": [{**JOB, "job_name": HOSTILE}], "total": 1}})
    assert main(["list"]) == exits.OK
    shown = capsys.readouterr().out
    assert "[/x] [type=int_type] [info] red" in shown
    assert _is_harmless(shown)


def test_2_debug_logs_go_to_stderr_with_the_key_masked(
    stub: Stub, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    stub.job(message=f"do not show {KEY}")
    assert main(["get", "ft-1", "-o", "json"]) == exits.OK
    captured = capsys.readouterr()
    assert json.loads(captured.out)["job_id"] == "ft-1"
    assert f"DEBUG GET {stub.url}/fine-tunes/ft-1 -> 200" in captured.err
    assert KEY not in captured.out + captured.err


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_16_foreign_text_comes_through_json_and_yaml_whole(
    form: str, read: Callable[[str], Any], stub: Stub, capsys: Captured
) -> None:
    stub.job(job_name=HOSTILE, message=HOSTILE)
    assert main(["get", "ft-1", "-o", form]) == exits.OK
    shown = capsys.readouterr().out
    assert read(shown)["job_name"] == HOSTILE
    assert _is_harmless(shown)


def test_16_foreign_text_in_logs_and_errors(stub: Stub, capsys: Captured) -> None:
    page = {"logs": [HOSTILE, "[/x]"], "total": 2, "offset": 0}
    stub.answers["GET /api/v1/fine-tunes/ft-1/logs"] = (200, {"output": page})
    assert main(["logs", "ft-1"]) == exits.OK
    shown = capsys.readouterr().out
    assert shown.endswith("\n[/x]\n")
    assert _is_harmless(shown)
    stub.answers["GET /api/v1/fine-tunes/ft-1"] = (400, {"code": "Bad", "message": HOSTILE, "request_id": "r-9"})
    assert main(["get", "ft-1"]) == exits.REJECTED
    told = capsys.readouterr().err
    assert "[/x] [type=int_type] [info] red" in told
    assert _is_harmless(told)


def test_20_memory_does_not_grow_with_the_file(stub: Stub, tmp_path: Path) -> None:
    """Two uploads, each in its own process: 200 MB more data may cost 48 MB more memory at most."""
    stub.answers["POST /api/v1/files"] = (
        200,
        {"data": {"uploaded_files": [{"name": "d.jsonl", "file_id": "file-1"}], "failed_uploads": []}},
    )
    row = json.dumps({"messages": [{"role": "user", "content": "x" * 200_000}], "rollout_extra": {"solution": "1"}})
    peaks = []
    for count in (1, 1000):
        file = tmp_path / f"{count}.jsonl"
        with file.open("w") as out:
            for _ in range(count):
                out.write(row + "\n")
        code = (
            "import resource, sys\n"
            "from agentic_rl_tui.app.__main__ import main\n"
            "code = main(sys.argv[1:])\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
            "sys.exit(code)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "upload_data", "--training-files", str(file)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == exits.OK, done.stderr
        assert json.loads(done.stdout)["uploaded_training_ids"] == ["file-1"]
        peaks.append(int(done.stderr.splitlines()[-1]))
        file.unlink()
    assert peaks[1] - peaks[0] < 48 * 1024


LIFE = (
    "register_functions", "test_functions", "upload_data", "run", "list", "get", "status", "wait", "logs", "cancel",
    "delete", "functions",
)  # fmt: skip


@pytest.mark.parametrize("name", LIFE)
def test_26_the_whole_life_cycle_has_verbs(name: str) -> None:
    assert find(name) is not None


def test_26_an_instance_has_logs_and_an_end(stub: Stub, capsys: Captured) -> None:
    entries = {"log_entries": [{"message": "hello", "timestamp": 1}], "total_count": 1}
    stub.answers["POST /api/v1/fine-tunes/query/faas/log/rw-ins-1"] = (200, {"output": entries})
    stub.answers["POST /api/v1/fine-tunes/delete/faas/rw-ins-1"] = (200, {"data": {"instance_id": "rw-ins-1"}})
    assert main(["functions", "logs", "rw-ins-1"]) == exits.OK
    assert capsys.readouterr().out == "hello\n"
    assert main(["functions", "delete", "rw-ins-1", "-o", "json"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {"instance_id": "rw-ins-1", "deleted": True}


def test_26_another_page_is_asked_for(stub: Stub) -> None:
    stub.answers["GET /api/v1/fine-tunes"] = (200, {"output": {"jobs": [], "total": 0}})
    assert main(["list", "-p", "2"]) == exits.OK
    assert stub.seen == ["GET /api/v1/fine-tunes?page_no=2&page_size=10"]


def test_32_get_prints_every_known_field_by_its_own_name(stub: Stub, capsys: Captured) -> None:
    assert main(["get", "ft-1"]) == exits.OK
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown.keys() >= JOB.keys()
    assert (shown["creator"], shown["create_time"]) == ("123456", "2026-12-01 10:00:00")
    assert "created_at" not in shown


def test_33_the_list_is_a_row_a_job(stub: Stub, capsys: Captured) -> None:
    jobs = [{**JOB, "job_id": f"ft-{number}"} for number in range(3)]
    stub.answers["GET /api/v1/fine-tunes"] = (200, {"output": {"jobs": jobs, "total": 3}})
    assert main(["list"]) == exits.OK
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[-1] == "ID"
    assert [row.split()[-1] for row in rows] == ["ft-0", "ft-1", "ft-2"]


@pytest.mark.parametrize("given", [("-p", "0"), ("-s", "-1"), ("-s", "101"), ("-s", "0")])
def test_33_pages_that_there_are_not_are_refused(given: tuple[str, str], stub: Stub, capsys: Captured) -> None:
    assert main(["list", *given]) == exits.USAGE
    told = capsys.readouterr().err
    assert given[1] in told
    assert stub.seen == []


def test_34_an_error_is_one_sentence_with_code_and_request_id(stub: Stub, capsys: Captured) -> None:
    body = {"code": "JobNotExist", "message": "the job does not exist", "request_id": "req-77"}
    stub.answers["GET /api/v1/fine-tunes/ft-1"] = (404, body)
    assert main(["get", "ft-1"]) == exits.REJECTED
    captured = capsys.readouterr()
    first = captured.err.splitlines()[0]
    assert first.count("the job does not exist") == 1
    assert "JobNotExist" in first
    assert "req-77" in first
    assert "Status(" not in captured.err
    assert "(at 20" not in captured.err
    assert captured.out == ""


def test_37_cancel_reports_on_stdout_and_in_json(stub: Stub, capsys: Captured) -> None:
    stub.answers["POST /api/v1/fine-tunes/ft-1/cancel"] = (200, {"output": {"status": "success"}})
    assert main(["cancel", "ft-1"]) == exits.OK
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("ft-1 is being cancelled\n", "")
    assert main(["cancel", "ft-1", "-o", "json"]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {"job_id": "ft-1", "status": "CANCELING"}


def _on_a_terminal(call: list[str], answer: bytes) -> tuple[int, str]:
    """Exit code and screen of a call whose question is answered on its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agentic_rl_tui.app", *call], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    screen = b""
    answered = False
    try:
        while select.select([ours], [], [], 30)[0]:
            try:
                screen += os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not answered and b"[y/N]" in screen:
                os.write(ours, answer)
                answered = True
        return process.wait(30), screen.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize(("verb", "request_line"), [("cancel", "POST"), ("delete", "DELETE")])
@pytest.mark.parametrize(("answer", "code"), [(b"\n", exits.REJECTED), (b"y\n", exits.OK)])
def test_38_on_a_terminal_it_is_asked_first(verb: str, request_line: str, answer: bytes, code: int, stub: Stub) -> None:
    stub.answers["POST /api/v1/fine-tunes/ft-1/cancel"] = (200, {"output": {"status": "success"}})
    stub.answers["DELETE /api/v1/fine-tunes/ft-1"] = (200, {"output": {"status": "success"}})
    left, screen = _on_a_terminal([verb, "ft-1"], answer)
    assert left == code, screen
    assert "running job calc (ft-1)" in screen
    assert any(line.startswith(request_line) for line in stub.seen) == (code == exits.OK)


def test_38_a_dry_run_shows_the_bodies_and_sends_nothing(workspace: Path, stub: Stub, capsys: Captured) -> None:
    job_file = workspace / "rl-job.yaml"
    text = job_file.read_text().replace("{cpu:", "{env: {JUDGE_KEY: hunter2-of-the-user}, cpu:", 1)
    job_file.write_text(text)
    assert main(["run", "-c", "rl-job.yaml", "--job-name", "mine", "--dry-run", "-o", "json"]) == exits.OK
    captured = capsys.readouterr()
    requests = json.loads(captured.out)["requests"]
    assert stub.seen == []
    assert "nothing was sent" in captured.err
    *_, last = requests
    assert (last["method"], last["url"]) == ("POST", f"{stub.url}/fine-tunes")
    assert last["body"]["job_name"].startswith("mine-")
    assert last["body"]["rollout"]["rollout_id"] == "<id of CalcAgent>"
    assert "hunter2" not in captured.out + captured.err
    assert KEY not in captured.out + captured.err
    assert not list((workspace.parent / "state").rglob("*.json"))


def test_38_progress_is_drawn_on_a_terminal_only(workspace: Path, stub: Stub, capsys: Captured) -> None:
    uploaded = {"data": {"uploaded_files": [{"name": "train.jsonl", "file_id": "file-1"}], "failed_uploads": []}}
    stub.answers["POST /api/v1/files"] = (200, uploaded)
    call = ["upload_data", "--training-files", "data/train.jsonl"]
    assert main(call) == exits.OK
    captured = capsys.readouterr()
    assert "\r" not in captured.err
    assert "✓ upload data/train.jsonl" in captured.err
    assert json.loads(captured.out)["uploaded_training_ids"] == ["file-1"]
    left, screen = _on_a_terminal(call, b"")
    assert left == exits.OK
    assert "\r\x1b[2K… " in screen


def test_40_narration_first_the_error_last_and_stdout_clean(workspace: Path, stub: Stub, capsys: Captured) -> None:
    refused = {"code": "Throttled.Account", "message": "the account is not allowed to upload", "request_id": "req-5"}
    stub.answers["POST /api/v1/files"] = (403, refused)
    assert main(["upload_data", "--training-files", "data/train.jsonl"]) == exits.REJECTED
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("✓ check data/train.jsonl")
    assert "req-5" in lines[-2]
    assert lines[-2].startswith("✗ ")
    assert lines[-1].startswith("  ")
