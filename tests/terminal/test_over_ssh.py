"""Watching a job over SSH: the line drops, the job goes on, nothing is left behind, and the log comes back whole."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.text import plain

PROGRAM = Path(sys.executable).with_name("agentic-rl-tui")
SSHD = Path("/usr/sbin/sshd")
PASSED_ON = ("HOME", "AGENTIC_RL_STATE_DIR", "AGENTIC_RL_CONFIG_DIR", "AGENTIC_RL_LANGUAGE")

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not SSHD.exists(), reason="openssh-server is not installed"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="openssh-client is not installed"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the process table from /proc"),
]


@dataclass(frozen=True, slots=True)
class Server:
    """An sshd of our own on loopback. call: the arguments of a client that runs the program on a terminal there."""

    pid: int
    call: tuple[str, ...]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=60
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if os.geteuid() == 0:
        # Run by root, sshd insists on this empty folder, which Debian's service makes at its start.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    options = {
        "ListenAddress": "127.0.0.1",
        "AuthorizedKeysFile": str(folder / "user.pub"),
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
    }
    given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    process = subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", "/dev/null", "-h", str(folder / "host"), "-p", str(port), *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    while "Server listening" not in said:
        line = process.stderr.readline()
        assert line, f"sshd did not start: {said}"
        said += line
    client = (
        "-tt", "-F", "none", "-i", str(folder / "user"), "-p", str(port), "-o", "BatchMode=yes",
        "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder / 'known'}", "-o", "LogLevel=ERROR",
        "127.0.0.1",
    )  # fmt: skip
    yield Server(process.pid, client)
    for pid in [*_descendants(process.pid), process.pid]:
        _end(pid)
    process.stderr.close()
    process.wait(timeout=30)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _table() -> dict[int, tuple[int, str]]:
    """Parent and state letter of every process."""
    found: dict[int, tuple[int, str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(stat.parent.name)] = (int(parent), state)
    return found


def _descendants(pid: int) -> list[int]:
    table = _table()
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for child, (parent, _) in table.items() if parent in frontier]
        found += frontier
    return found


def _are_gone(pids: list[int], limit_s: float = 30) -> bool:
    """Whether the processes end in time, zombies counting as ended."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        table = _table()
        if all(table.get(pid, (0, "Z"))[1] == "Z" for pid in pids):
            return True
    return False


def _remote(*arguments: str) -> str:
    """The command that runs the program with the settings of this test."""
    settings = [f"{name}={os.environ[name]}" for name in PASSED_ON]
    return shlex.join(["env", *settings, "LANG=C.UTF-8", "COLORTERM=truecolor", str(PROGRAM), *arguments])


def _open_log(program: object, workspace: Path) -> None:
    program.press("4")  # type: ignore[attr-defined]
    program.wait_for("calc-agent-")  # type: ignore[attr-defined]
    program.press("l")  # type: ignore[attr-defined]
    program.wait_for(r"of [\d,]+ lines")  # type: ignore[attr-defined]


def test_the_line_drops_and_the_log_comes_back_without_gap_or_repeat(
    server: Server,
    terminal: Callable,
    cli: Callable[..., "subprocess.CompletedProcess[str]"],
    quick_workspace: Path,
    tmp_path: Path,
) -> None:
    job_file = quick_workspace / "rl-job.yaml"
    # Long enough to go on after the drop, also where the line is found to be slow and is followed seldom.
    longer = job_file.read_text().replace("batch_size: 64", "batch_size: 32").replace("n_epochs: 1", "n_epochs: 3")
    job_file.write_text(longer)
    submitted = cli("run", "-c", "rl-job.yaml", cwd=quick_workspace)
    assert submitted.returncode == 0, submitted.stderr
    job_id = submitted.stdout.strip()
    platform = json.loads(cli("platform", "status", "-o", "json").stdout)["pid"]
    command = _remote("--workspace", str(quick_workspace))

    first = terminal(*server.call, command, program=Path("/usr/bin/ssh"))
    _open_log(first, quick_workspace)
    first.wait_for("'step': 1")
    session = _descendants(server.pid)
    assert any(b"agentic-rl-tui" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in session)
    mirror = next((tmp_path / "state" / "logs").glob(f"*/{job_id}.log"))
    seen = len(mirror.read_text().splitlines())
    first.kill(signal.SIGKILL)
    first.wait_for_exit()
    assert _are_gone(session), "the dropped session left processes behind"
    assert json.loads(cli("platform", "status", "-o", "json").stdout)["pid"] == platform

    second = terminal(*server.call, command, program=Path("/usr/bin/ssh"))
    _open_log(second, quick_workspace)
    second.press("G")
    second.wait_for("##FT_COMPLETE##")
    second.wait_for("log ended")
    job = json.loads(cli("get", job_id, "-o", "json").stdout)
    assert job["status"] == "SUCCEEDED"
    kept = mirror.read_text().splitlines()
    told = cli("logs", job_id).stdout.splitlines()
    assert len(told) > seen > 0
    assert [plain(line) for line in kept] == told
    second.wait_for(f"{len(told):,} of {len(told):,} lines")
    second.press("ctrl+q")
    assert second.wait_for_exit() == 0
    assert _are_gone(_descendants(server.pid))
