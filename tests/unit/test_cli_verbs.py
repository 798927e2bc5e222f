"""Verbs that look at this machine only, and what a job given by options becomes."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.verbs import VERBS
from agentic_rl_tui.app.keymap import ACTIONS
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

Captured = pytest.CaptureFixture[str]
KEY = "sk-0123456789abcdef"
DIRECT = ["run", "--model", "qwen3.5-9b", "--training-files", "data/train.jsonl"]
ROLLOUT = ["--rollout-classpath", "functions.rollout.agent.CalcAgent"]
REWARDS = ["--reward-classpaths", "functions.reward.answer.AnswerReward,functions/reward/style.py:StyleReward"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], target)
    monkeypatch.chdir(target)
    return target


def _bodies(call: list[str], capsys: Captured) -> list[dict[str, Any]]:
    assert main([*call, "--dry-run", "-o", "json"]) == exits.OK
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["requests"]
    return found


def test_a_job_by_options_alone(workspace: Path, capsys: Captured) -> None:
    call = [
        *DIRECT, "--validation-files", "data/valid.jsonl", *ROLLOUT, *REWARDS,
        "--reward-names", "answer,style", "--reward-weights", "0.7,0.3", "--rollout-weight", "1",
        "--reward-metric-weights", '[{"exact": 0.5}, {"brief": 1}]',
        "--rollout-runtime", '{"cpu": 2}', "--reward-runtimes", '[{"cpu": 1}, {"cpu": 4, "env": {"A": "1"}}]',
        "--group-reward-names", "grw-old", "--group-reward-weights", "0.1",
        "--hyper-parameters", '{"batch_size": 64}', "--job-name", "mine",
    ]  # fmt: skip
    *_, job = _bodies(call, capsys)
    body = job["body"]
    assert (body["model"], body["job_name"][:5]) == ("qwen3.5-9b", "mine-")
    assert body["hyper_parameters"] == {"batch_size": 64}
    assert [data["file_name"] for data in body["training_datasets"]] == ["data/train.jsonl"]
    assert [data["file_name"] for data in body["validation_datasets"]] == ["data/valid.jsonl"]
    assert (body["rollout"]["cpu"], body["rollout"]["weight"]) == (2, 1)
    answer, style, group = body["rewards"]
    assert (answer["name"], answer["weight"], answer["cpu"]) == ("answer", 0.7, 1)
    assert (style["name"], style["weight"], style["cpu"], style["env"]) == ("style", 0.3, 4, {"A": "••••"})
    assert [answer["reward_metric_weight"], style["reward_metric_weight"]] == [{"exact": 0.5}, {"brief": 1}]
    assert (group["reward_id"], group["weight"]) == ("grw-old", 0.1)


def test_options_take_the_place_of_their_kind_in_the_file(workspace: Path, capsys: Captured) -> None:
    call = ["run", "-c", "rl-job.yaml", "--reward-names", "rw-old", "--validation-files", "data/train.jsonl"]
    body = _bodies(call, capsys)[-1]["body"]
    assert body["rollout"]["rollout_id"] == "<id of CalcAgent>"
    assert [entry["reward_id"] for entry in body["rewards"]] == ["rw-old", "<id of AgreementReward>"]
    assert [data["file_name"] for data in body["training_datasets"]] == ["./data/train.jsonl"]
    assert [data["file_name"] for data in body["validation_datasets"]] == ["data/train.jsonl"]


def test_files_named_from_elsewhere_are_found_and_named_from_the_workspace(
    workspace: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.parent)
    call = ["run", "--workspace-dir", "calc", "--model", "m", "--training-files", "calc/data/train.jsonl"]
    body = _bodies([*call, "--teacher-model", "qwen3-max"], capsys)[-1]["body"]
    assert [data["file_name"] for data in body["training_datasets"]] == ["data/train.jsonl"]
    assert body["training_type"] == "pg_opd"


def test_every_mistake_in_the_options_is_named(workspace: Path, capsys: Captured) -> None:
    call = [
        *DIRECT, *ROLLOUT, *REWARDS, "--reward-weights", "1,2,heavy", "--reward-runtimes", "[{}]",
        "--rollout-runtime", '{"cpus": 2}', "--reward-metric-weights", "{", "--reward-names", "only-one",
    ]  # fmt: skip
    assert main(call) == exits.USAGE
    told = capsys.readouterr().err
    for words in (
        "--reward-weights: 'heavy' is no number",
        "--reward-runtimes has 1 values for 2 reward functions",
        "--reward-names has 1 values for 2 reward functions",
        "--rollout-runtime: cpus",
        "--reward-metric-weights:",
    ):
        assert words in told


def test_without_a_job_it_says_what_to_give(capsys: Captured) -> None:
    assert main(["run"]) == exits.USAGE
    assert "--config FILE, or --model and --training-files" in capsys.readouterr().err


def test_a_sound_workspace_is_valid(workspace: Path, capsys: Captured) -> None:
    assert main(["validate", "-o", "json"]) == exits.OK
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {check["state"] for check in checks} == {"ok"}
    assert {check["name"].partition(":")[0] for check in checks} == {"jobfile", "data", "package"}


def test_validate_names_file_and_line_of_each_mistake(workspace: Path, capsys: Captured) -> None:
    job = workspace / "rl-job.yaml"
    job.write_text(job.read_text().replace("CalcAgent", "CalcAgnt"))
    data = workspace / "data" / "train.jsonl"
    data.write_text(data.read_text() + "{\n")
    assert main(["validate"]) == exits.REJECTED
    shown = capsys.readouterr().out
    line = next(number for number, text in enumerate(job.read_text().splitlines(), 1) if "CalcAgnt" in text)
    assert f"✗ rl-job.yaml:{line}:" in shown
    assert re.search(r"✗ \S*data/train.jsonl:257:", shown)


def test_the_job_file_is_named_either_way_and_only_once(workspace: Path, capsys: Captured) -> None:
    for named in (["rl-job.yaml"], ["-c", "rl-job.yaml"], ["--config", "rl-job.yaml"]):
        assert main(["validate", *named, "-o", "json"]) == exits.OK
        assert json.loads(capsys.readouterr().out)["file"] == str(workspace / "rl-job.yaml")
    assert main(["validate", "rl-job.yaml", "-c", "opd-job.yaml"]) == exits.USAGE
    assert "two job files are named" in capsys.readouterr().err


def test_init_writes_into_the_directory_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main(["init", "."]) == exits.OK
    assert Path.cwd().samefile(here)
    assert main(["validate", "-c", "rl-job.yaml"]) == exits.OK
    assert not [entry.name for entry in here.iterdir() if entry.name.startswith(".agentic-rl-")]


def test_a_directory_that_is_gone_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for verb in ([], ["validate"], ["list"], ["config", "list"]):
        assert main(verb) == exits.USAGE
        assert capsys.readouterr().err == "agentic-rl-tui: the current directory is gone; change to another one\n"


def test_fix_writes_the_job_file_and_shows_the_change(workspace: Path, capsys: Captured) -> None:
    job = workspace / "rl-job.yaml"
    sound = job.read_text()
    job.write_text(sound.replace("n_rollouts:", "n_rolouts:"))
    code = main(["validate", "--fix", "-o", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == exits.OK
    assert job.read_text() == sound
    assert any(line.startswith("-") and "n_rolouts" in line for line in answer["change"])


def test_validate_without_a_job_file_says_so(tmp_path: Path, capsys: Captured) -> None:
    assert main(["validate", "--workspace", str(tmp_path)]) == exits.USAGE
    assert "no job file" in capsys.readouterr().err


def test_keys_in_force_and_their_problems(tmp_path: Path, capsys: Captured) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text('[keys]\n"jobs.cancel" = "X"\n"jobs.cancle" = "Y"\n')
    assert main(["keys", "-o", "json"]) == exits.REJECTED
    answer = json.loads(capsys.readouterr().out)
    keys = {entry["id"]: entry for entry in answer["keys"]}
    assert keys.keys() == {action.id for action in ACTIONS}
    assert (keys["jobs.cancel"]["keys"], keys["jobs.cancel"]["is_yours"]) == (["X"], True)
    assert any("jobs.cancle" in problem for problem in answer["problems"])


def test_the_schema_knows_every_action(capsys: Captured) -> None:
    assert main(["keys", "--schema"]) == exits.OK
    assert json.loads(capsys.readouterr().out)["properties"].keys() == {action.id for action in ACTIONS}


def test_doctor_says_what_to_do_and_shows_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    monkeypatch.setenv("HTTPS_PROXY", "proxy-without-scheme:8080")
    assert main(["doctor", "-o", "json", "--base-url", "http://127.0.0.1:9/api/v1"]) == exits.REJECTED
    text = capsys.readouterr().out
    sights = {sight["what"]: sight for sight in json.loads(text)}
    assert sights["HTTPS_PROXY"]["state"] == "wrong"
    assert "http://host:port" in sights["HTTPS_PROXY"]["advice"]
    assert sights["service"]["found"].startswith("unreachable")
    assert sights["API key"]["found"] == "from environment DASHSCOPE_API_KEY"
    assert str(tmp_path / "state") in sights["state directory"]["found"]
    assert KEY[-4:] not in text


def test_doctor_warns_of_a_key_that_others_can_read(capsys: Captured, tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[profiles.mine]\napi_key = "{KEY}"\n')
    config.chmod(0o644)
    assert main(["doctor", "-o", "json"]) == exits.REJECTED
    sights = {sight["what"]: sight for sight in json.loads(capsys.readouterr().out)}
    assert "chmod 600" in sights["settings file"]["advice"]
    assert sights["language"]["found"] == "English"
    config.chmod(0o600)
    assert main(["doctor"]) == exits.OK


def test_doctor_on_the_local_profile_starts_nothing(capsys: Captured, tmp_path: Path) -> None:
    assert main(["doctor"]) == exits.OK
    assert "stopped" in capsys.readouterr().out
    assert not (tmp_path / "state" / "platform").exists()


def test_bash_completes_verbs_and_their_options(tmp_path: Path, capsys: Captured) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    assert main(["completion", "bash"]) == exits.OK
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)

    def completed(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        state = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
        code = f"source {script}; {state}; _agentic_rl_tui; echo ${{COMPREPLY[@]}}"
        done = subprocess.run([bash, "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert set(completed("agentic-rl-tui", "")) >= {verb.name for verb in VERBS}
    assert completed("agentic-rl-tui", "run", "--dry") == ["--dry-run"]
    assert completed("agentic-rl-tui", "functions", "pack") == ["package"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_verb(shell: str, capsys: Captured) -> None:
    assert main(["completion", shell]) == exits.OK
    script = capsys.readouterr().out
    assert [verb.name for verb in VERBS if verb.name not in script] == []
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


async def test_ctrl_c_says_what_goes_on(tmp_path: Path) -> None:
    """A server that never answers stands for a job that never ends."""
    asked = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/logs" in head.split(b"\r\n")[0]:
            asked.set()
            await reader.read()
        else:
            body = b'{"output":{"job_id":"ft-1","status":"RUNNING"}}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
            writer.write(body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, asyncio.timeout(60):
        port = server.sockets[0].getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "agentic_rl_tui.app", "logs", "ft-1", "--follow",
            env={**os.environ, "DASHSCOPE_API_KEY": KEY, "DASHSCOPE_HTTP_BASE_URL": f"http://127.0.0.1:{port}/api/v1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        await asked.wait()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert process.returncode == exits.INTERRUPTED
    assert out == b""
    assert "job ft-1 goes on; watch it with: agentic-rl-tui logs ft-1 --follow" in err.decode()
    assert "Traceback" not in err.decode()
