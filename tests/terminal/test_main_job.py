"""The main job of the product, done by keys in a terminal and by verbs without one."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.status import is_terminal

pytestmark = pytest.mark.terminal

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def _jobs(cli: Cli) -> list[dict[str, object]]:
    jobs: list[dict[str, object]] = json.loads(cli("list", "-o", "json").stdout)["jobs"]
    return jobs


def _until(cli: Cli, holds: Callable[[dict[str, object]], bool], *, limit: int = 600) -> dict[str, object]:
    """Ask for the newest job until it is as wanted; each question is a whole program run, which is pause enough."""
    for _ in range(limit):
        jobs = _jobs(cli)
        if jobs and holds(jobs[0]):
            return jobs[0]
        if jobs and is_terminal(str(jobs[0]["status"])):
            break
    raise AssertionError(f"the job never came to the wanted state: {_jobs(cli)[:1]}")


def _is_running_step(job: dict[str, object]) -> bool:
    progress = job.get("progress")
    return job["status"] == "RUNNING" and isinstance(progress, dict) and progress["step"] >= 1


def test_a_job_is_submitted_by_keys_and_seen_to_succeed(terminal: Callable, cli: Cli, quick_workspace: Path) -> None:
    program = terminal("quickstart", str(quick_workspace))
    program.wait_for(r"ready to submit")
    program.press("f5")
    program.wait_for(r"Submit rl-job\.yaml\?")
    program.press("f5")
    program.wait_for(r"ft-\d{12}-[0-9a-f]{4}")
    program.wait_for(r"(?i)succeeded")
    program.press("ctrl+q")
    assert program.wait_for_exit() == 0
    assert [job["status"] for job in _jobs(cli)] == ["SUCCEEDED"]


def test_the_whole_workflow_runs_headless(cli: Cli, quick_workspace: Path) -> None:
    done = cli("quickstart", str(quick_workspace))
    assert done.returncode == 0, done.stderr
    assert "##FT_COMPLETE##" in done.stdout.splitlines()[-1]
    assert "SUCCEEDED" in done.stderr
    rewards = [float(value) for value in re.findall(r"'critic/rewards/mean': ([0-9.]+)", done.stdout)]
    assert len(rewards) == 4
    assert rewards[-1] > rewards[0]


def test_a_rollout_is_tried_with_the_practice_policy(cli: Cli, quick_workspace: Path) -> None:
    call = ("functions", "test", "functions.rollout.agent.CalcAgent", "--row", "0", "-o", "json")
    done = cli(*call, cwd=quick_workspace)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    messages = report["output"]["agent_output"]["messages"]
    turns = [message for message in messages if message["role"] == "assistant"]
    assert messages[0]["role"] == "user"
    assert len(report["model_calls"]) == len(turns) >= 1
    assert all(made["prompt_tokens"] > 0 and made["error"] is None for made in report["model_calls"])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP], ids=["kill -9", "closed terminal"])
def test_a_job_outlives_the_program_that_submitted_it(
    terminal: Callable, cli: Cli, quick_workspace: Path, how: signal.Signals
) -> None:
    submitted = cli("run", "-c", "rl-job.yaml", cwd=quick_workspace)
    assert submitted.returncode == 0, submitted.stderr
    program = terminal("--workspace", str(quick_workspace))
    program.press("4")
    program.wait_for("calc-agent-")
    program.kill(how)
    program.wait_for_exit()
    assert _until(cli, lambda job: job["status"] == "SUCCEEDED")["job_id"] == submitted.stdout.strip()
    again = terminal("--workspace", str(quick_workspace))
    again.press("4")
    again.wait_for("succeeded")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the process table from /proc")
def test_a_killed_platform_leaves_a_true_state_and_no_orphans(cli: Cli, quick_workspace: Path) -> None:
    assert cli("run", "-c", "rl-job.yaml", cwd=quick_workspace).returncode == 0
    _until(cli, _is_running_step)
    pid = json.loads(cli("platform", "status", "-o", "json").stdout)["pid"]
    family = _descendants(pid)
    assert family, "a running job has workers"
    os.kill(pid, signal.SIGKILL)
    assert _all_gone([pid, *family])
    job = _jobs(cli)[0]
    assert job["status"] == "FAILED"
    assert "platform stopped" in str(job["message"])
    log = cli("logs", str(job["job_id"])).stdout
    assert "platform stopped" in log


def _processes() -> dict[int, tuple[str, int]]:
    """State letter and parent of every process, from /proc."""
    found: dict[int, tuple[str, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(stat.parent.name)] = (state, int(parent))
    return found


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for child, (_, parent) in _processes().items():
        children.setdefault(parent, []).append(child)
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children.get(parent, [])]
        found += frontier
    return found


def _all_gone(pids: list[int], *, limit_s: float = 10) -> bool:
    """Whether the processes end, zombies counting as ended."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        now = _processes()
        if not [pid for pid in pids if now.get(pid, ("Z", 0))[0] != "Z"]:
            return True
    return False
