"""Notices to commands, webhooks and terminals; which job has stalled."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_rl_tui.app import terminal
from agentic_rl_tui.app.stall import StallWatch
from agentic_rl_tui.core import paths
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.jobs import Job, JobProgress
from agentic_rl_tui.core.notices import Channels, Notice, channels_of, notice_of, send
from agentic_rl_tui.core.settings import load

NOTICE = Notice("failed", "ft-1", "计算\x1b]0;x\x07 agent", "failed", message="sk-0123456789abcdef is wrong")


async def _no_wait(_seconds: float) -> None:
    return None


def script(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "hook.py"
    path.write_text(text)
    return (sys.executable, str(path), "; touch /tmp/never")


async def test_a_command_gets_clean_json_on_stdin_and_no_shell(tmp_path: Path) -> None:
    target = tmp_path / "got"
    command = script(tmp_path, f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read() + sys.argv[1])")
    assert await send(NOTICE, Channels(command)) == []
    text, _, argument = target.read_text().partition("\n")
    got = json.loads(text)
    assert argument == "; touch /tmp/never"
    assert (got["event"], got["job_id"]) == ("failed", "ft-1")
    assert "\x1b" not in got["job_name"]
    assert "0123456789" not in got["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit('no such\\x1b[31m room')", "no such room"),
        ("import time; time.sleep(60)", "within 0.2 s"),
    ],
)
async def test_a_command_that_fails_or_hangs_is_ended_and_told(tmp_path: Path, text: str, said: str) -> None:
    failures = await send(NOTICE, Channels(script(tmp_path, text), timeout_s=0.2 if "sleep" in text else 20))
    assert [name for name, _ in failures] == ["command"]
    assert said in failures[0][1].message


async def test_a_command_that_is_not_there_is_told() -> None:
    ((name, error),) = await send(NOTICE, Channels(("/no/such/program",)))
    assert name == "command"
    assert "/no/such/program" in error.message


def answering(*codes: int) -> tuple[httpx.MockTransport, list[Any]]:
    seen: list[Any] = []
    left = list(codes)

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        code = left.pop(0)
        if code == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(code)

    return httpx.MockTransport(answer), seen


async def test_a_webhook_is_tried_again_after_an_outage() -> None:
    http, seen = answering(0, 503, 200)
    assert await send(NOTICE, Channels(webhook="https://example.org/hook"), http=http, sleep=_no_wait) == []
    assert [body["event"] for body in seen] == ["failed"] * 3


@pytest.mark.parametrize(("codes", "tries"), [((404,), 1), ((500, 500, 429), 3)])
async def test_a_webhook_that_refuses_is_told_without_its_secret(codes: tuple[int, ...], tries: int) -> None:
    http, seen = answering(*codes)
    hook = "https://example.org/hook?token=very-secret-token"
    ((_, error),) = await send(NOTICE, Channels(webhook=hook), http=http, sleep=_no_wait)
    assert len(seen) == tries
    assert "very-secret" not in str(error)
    assert "example.org" in error.message


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://oapi.dingtalk.com/robot/send?access_token=x", "msgtype"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/x", "msg_type"),
        ("https://hooks.slack.com/services/x", "text"),
    ],
)
async def test_chat_robots_get_a_text_in_their_form(url: str, key: str) -> None:
    http, seen = answering(200)
    await send(NOTICE, Channels(webhook=url), http=http, sleep=_no_wait)
    assert key in seen[0]
    assert "agent: failed" in json.dumps(seen[0], ensure_ascii=False)


async def test_a_cancelled_notice_leaves_no_process(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    os.mkfifo(mark)
    command = script(tmp_path, f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    task = asyncio.create_task(send(NOTICE, Channels(command, timeout_s=30)))
    pid = await asyncio.to_thread(mark.read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{pid}").exists()


def test_a_workspace_cannot_set_a_command(tmp_path: Path) -> None:
    paths.config_dir().mkdir(parents=True, exist_ok=True)
    user = paths.config_dir() / "config.toml"
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "agentic-rl.toml").write_text('[notify]\ncommand = "rm -rf /"\nwebhook = "https://evil.example"\n')
    assert channels_of(load(workspace=workspace)).is_empty
    user.write_text("[notify]\ncommand = \"say --now 'a b'\"\n")
    (workspace / "agentic-rl.toml").unlink()
    assert channels_of(load(workspace=workspace)).command == ("say", "--now", "a b")
    for wrong in ("command = 5", 'webhook = "ftp://x"', "timeout_s = -1", 'command = "a \'b"'):
        user.write_text(f"[notify]\n{wrong}\n")
        with pytest.raises(ConfigError):
            channels_of(load(workspace=workspace))


@pytest.mark.parametrize("form", ["9", "777"])
def test_no_text_can_end_a_terminal_sequence_or_begin_another(form: str) -> None:
    hostile = "a\x1b\\\x07\x9c;b\x1b]52;c;AAAA\x07\u202e" + "x" * 1000
    made = terminal.notice(hostile, hostile, form, {})
    assert made.startswith(f"\x1b]{form};")
    inner = made[2:-2]
    assert made.endswith("\x1b\\")
    assert not any(char in inner for char in "\x1b\x07\x9c\u202e")
    assert inner.count(";") == (3 if form == "777" else 1)
    assert len(made) < 500


def test_what_a_terminal_takes_is_known_by_its_name() -> None:
    assert terminal.notice("a", "b", "auto", {"TERM": "foot"}).startswith("\x1b]777;")
    assert terminal.notice("a", "b", "auto", {"TERM": "xterm-kitty"}).startswith("\x1b]9;")
    assert terminal.notice("a", "b", "auto", {"TERM": "xterm-256color"}) == ""
    assert terminal.notice("a", "b", "off", {"TERM": "foot"}) == ""
    wrapped = terminal.notice("a", "b", "9", {"TMUX": "/tmp/x"})
    assert wrapped.startswith("\x1bPtmux;\x1b\x1b]9;")


def running(step: int = 0, phase: str = "train") -> Job:
    return Job(job_id="ft-1", status="RUNNING", progress=JobProgress(phase=phase, step=step))


def test_a_job_stalls_after_three_usual_steps_and_not_before() -> None:
    watch = StallWatch(floor_s=10)
    for step in range(6):
        watch.see(running(step), 100.0 * step)
    assert watch.usual_step_s("ft-1") == 100
    watch.see(running(5), 790)
    assert watch.stalled_s("ft-1", 799) is None
    assert watch.stalled_s("ft-1", 801) == 301
    assert [job.job_id for job in watch.fresh([running(5)], 801)] == ["ft-1"]
    assert watch.fresh([running(5)], 900) == []
    watch.see(running(6), 910)
    assert watch.stalled_s("ft-1", 911) is None
    assert [job.job_id for job in watch.fresh([running(6)], 5000)] == ["ft-1"]


def test_quick_steps_have_a_floor_and_unknown_ones_time() -> None:
    watch = StallWatch(floor_s=120)
    for step in range(5):
        watch.see(running(step), step)
    assert watch.limit_s("ft-1") == 120
    assert StallWatch().limit_s("ft-2") == 900


def test_a_growing_log_is_news_and_a_still_one_is_not() -> None:
    watch = StallWatch(floor_s=10)
    watch.see(Job(job_id="ft-1", status="RUNNING"), 0)
    assert watch.suspects(500) == ["ft-1"]
    watch.lines("ft-1", 40, 500)
    watch.lines("ft-1", 40, 800)
    assert watch.stalled_s("ft-1", 950) == 950
    watch.lines("ft-1", 41, 960)
    assert watch.stalled_s("ft-1", 970) is None


def test_a_job_that_is_over_or_suspended_never_stalls() -> None:
    watch = StallWatch()
    watch.see(running(1), 0)
    watch.see(Job(job_id="ft-1", status="SUSPENDED"), 10)
    assert watch.stalled_s("ft-1", 1e6) is None


def test_a_notice_tells_what_is_known() -> None:
    job = Job(job_id="ft-1", status="FAILED", message="m", progress=JobProgress(step=3, total_steps=9, rewards=(0.5,)))
    payload = notice_of(job, "failed", "failed", profile="local", at=5.0).payload()
    assert (payload["step"], payload["total_steps"], payload["reward"], payload["profile"]) == (3, 9, 0.5, "local")
