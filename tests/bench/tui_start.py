"""Start of the full-screen app in a pseudo-terminal, against the smallest Textual app.

``python tests/bench/tui_start.py [--rounds 7]``. frame: from exec to the first painted text; key: from exec to the
effect of a key that was sent the moment the text showed. Both apps run in turns; the figures that count are ratios.
"""

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

LIMIT = 1.3
SMALLEST = """
from textual.app import App
from textual.widgets import Static
class Smallest(App):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("question_mark", "help", "")]
    def compose(self):
        yield Static("PAINTED", id="text")
    def action_help(self):
        self.query_one("#text").update("HELP-SHOWN")
Smallest().run()
"""


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]
    painted: bytes
    helped: bytes


def run(program: Program, state: str) -> tuple[float, float]:
    """Milliseconds to the first text and to the effect of the first key."""
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "AGENTIC_RL_STATE_DIR": state}
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(program.command[0], program.command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        painted = wait(terminal, program.painted, started)
        os.write(terminal, b"?")
        helped = wait(terminal, program.helped, started)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    return painted, helped


def wait(terminal: int, text: bytes, started: float) -> float:
    seen = b""
    while time.perf_counter() - started < 60:
        if select.select([terminal], [], [], 0.2)[0]:
            seen = (seen + os.read(terminal, 1 << 16))[-(1 << 18) :]
            if text in seen:
                return (time.perf_counter() - started) * 1000
    raise SystemExit(f"{text!r} was never shown")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ours = str(Path(sys.executable).parent / "agentic-rl-tui")
    with tempfile.TemporaryDirectory() as folder:
        programs = (
            Program("smallest", (sys.executable, "-c", SMALLEST), b"PAINTED", b"HELP-SHOWN"),
            Program("ours", (ours, "--workspace", folder), b"agentic-rl", b"Keys that work here"),
        )
        rounds = [[run(program, f"{folder}/state") for program in programs] for _ in range(options.rounds)]
        stop = f"AGENTIC_RL_STATE_DIR={folder}/state {ours} platform stop >/dev/null 2>&1"
        os.system(stop)
    within = True
    for number, name in enumerate(("frame", "key")):
        times = [statistics.median(row[program][number] for row in rounds) for program in (0, 1)]
        ratio = statistics.median(row[1][number] / row[0][number] for row in rounds)
        print(f"{name}: smallest Textual app {times[0]:.0f} ms, ours {times[1]:.0f} ms, ratio {ratio:.2f}")
        within = within and ratio <= LIMIT
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
