"""What the full-screen app sends to the terminal while nobody touches it, with and without --low-bandwidth.

``python tests/bench/idle_bytes.py [--seconds 60] [--command ...]``. Two apps run side by side on a local platform
with one running job; the figures that count are bytes a minute, their ratio, and CPU time a second.
"""

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

WARM_UP_S = 12.0
LIMIT_BYTES = 1024


class Watched:
    """One app in a pseudo-terminal whose output is counted."""

    def __init__(self, command: list[str], state: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "AGENTIC_RL_STATE_DIR": state}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.count = 0

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def count(apps: list[Watched], seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([app.terminal for app in apps], [], [], left)
        for app in apps:
            if app.terminal in ready:
                app.count += len(os.read(app.terminal, 1 << 16))


def measure(folder: str, seconds: float, label: str) -> list[float]:
    ours = str(Path(sys.executable).parent / "agentic-rl-tui")
    usual = [ours, "--workspace", f"{folder}/calc", "--fresh"]
    apps = [Watched(usual, f"{folder}/state"), Watched([*usual, "--low-bandwidth"], f"{folder}/state")]
    try:
        count(apps, WARM_UP_S)
        before = [(app.count, app.cpu_s()) for app in apps]
        count(apps, seconds)
        rates = []
        for name, app, (bytes_0, cpu_0) in zip(("usual", "low-bandwidth"), apps, before, strict=True):
            rates.append((app.count - bytes_0) * 60 / seconds)
            cpu = (app.cpu_s() - cpu_0) / seconds
            print(f"{label:18} {name:14} {rates[-1]:10,.0f} bytes a minute  {cpu:6.1%} of a core")
    finally:
        for app in apps:
            app.end()
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    ours = str(Path(sys.executable).parent / "agentic-rl-tui")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENTIC_RL_STATE_DIR": f"{folder}/state"}

        def verb(*arguments: str) -> None:
            command = [ours, *arguments, "--workspace", f"{folder}/calc"]
            subprocess.run(command, env=environment, check=True, capture_output=True)

        subprocess.run([ours, "init", f"{folder}/calc"], env=environment, check=True, capture_output=True)
        (Path(folder) / "calc" / "agentic-rl.toml").write_text('[local]\npolicy = "practice"\n')
        try:
            verb("run", "-c", f"{folder}/calc/rl-job.yaml", "--hyper-parameters", '{"n_epochs": 200}')
            running = measure(folder, options.seconds, "one job runs")
            job = (
                subprocess.run(
                    [ours, "list", "-o", "json"], env=environment, check=True, capture_output=True, text=True
                )
                .stdout.partition('"job_id": "')[2]
                .partition('"')[0]
            )
            verb("cancel", job, "-y")
            subprocess.run([ours, "wait", job], env=environment, check=False, capture_output=True)
            idle = measure(folder, options.seconds, "no job runs")
        finally:
            verb("platform", "stop")
    print(f"ratio while a job runs: {running[0] / max(1, running[1]):.1f} times less with --low-bandwidth")
    print(f"idle with --low-bandwidth: {idle[1]:,.0f} bytes a minute, limit {LIMIT_BYTES}")
    return 0 if idle[1] <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
