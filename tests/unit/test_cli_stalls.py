"""Jobs that are waited for without a screen: a stall is told once on stderr, and sent where notices go."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentic_rl_tui.app.cli import exits, logs
from agentic_rl_tui.app.cli.stalls import StallTeller
from agentic_rl_tui.core.models.errors import Unreachable
from agentic_rl_tui.core.models.jobs import Job, JobProgress, LogPage
from agentic_rl_tui.core.paths import config_dir
from agentic_rl_tui.core.settings import load

Captured = pytest.CaptureFixture[str]


def running(step: int) -> Job:
    return Job(job_id="ft-1", job_name="calc\x1b[2J", status="RUNNING", progress=JobProgress(phase="train", step=step))


class Client:
    """A job whose log has as many lines as a test says."""

    def __init__(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", f"import sys; open({str(tmp_path / 'got')!r}, 'a').write(sys.stdin.read())"]
        plain = load(workspace=tmp_path)
        values = {**plain.values, "notify.command": command, "notify.stall_floor_s": 10}
        origins = {**plain.origins, "notify.command": str(config_dir() / "config.toml")}
        self.settings = replace(plain, values=values, origins=origins)
        self.lines = 3
        self.error: Unreachable | None = None

    async def logs(self, _job_id: str, **_how: Any) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(total=self.lines)

    async def get(self, job_id: str) -> Job:
        return Job(job_id=job_id, status="SUCCEEDED")

    async def follow(self, _job_id: str, *, offset: int, on_status: Callable[[Job], None]) -> AsyncIterator[LogPage]:
        on_status(running(1))
        yield LogPage(offset=offset, lines=("a", "b"), total=2)


@pytest.fixture
def client(tmp_path: Path) -> Any:
    return Client(tmp_path)


async def test_a_stall_is_told_once_and_again_only_after_news(client: Any, tmp_path: Path, capsys: Captured) -> None:
    now = [0.0]
    teller = StallTeller(client, lambda: now[0])
    await teller.look()
    for step in range(4):
        now[0] += 100.0
        teller.see(running(step))
    for _ in range(3):
        now[0] += 160.0
        teller.see(running(3))
        await teller.look()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "job calc (ft-1): stalled: nothing new for 5m; a step usually takes 1m40s\n"
    notice = json.loads((tmp_path / "got").read_text())
    assert (notice["event"], notice["job_id"]) == ("stalled", "ft-1")
    client.lines += 1
    await teller.look()
    now[0] += 200.0
    await teller.look()
    assert capsys.readouterr().err == ""
    client.error = Unreachable("down")
    now[0] += 200.0
    await teller.look()
    assert capsys.readouterr().err == ""
    client.error = None
    await teller.look()
    assert "stalled" in capsys.readouterr().err


async def test_followed_lines_are_news_and_looking_ends_with_the_job(client: Any, capsys: Captured) -> None:
    assert await logs.follow(client, "ft-1") == exits.OK
    said = capsys.readouterr()
    assert said.out == "a\nb\n"
    assert "SUCCEEDED" in said.err
