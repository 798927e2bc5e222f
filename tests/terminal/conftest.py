"""The installed program in a real pseudo-terminal, read by a terminal emulator."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

PROGRAM = Path(sys.executable).with_name("agentic-rl-tui")
LIMIT_S = 120

KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
    "f1": "\x1bOP", "f4": "\x1bOS", "f5": "\x1b[15~", "f8": "\x1b[19~", "ctrl+c": "\x03", "ctrl+j": "\n",
    "ctrl+q": "\x11",
    "ctrl+s": "\x13", "ctrl+p": "\x10", "end": "\x1b[F", "home": "\x1b[H", "space": " ", "backspace": "\x7f",
}  # fmt: skip


class Terminal:
    """A program on a screen of `columns` x `rows`. Waiting reads what the program writes; nothing sleeps."""

    def __init__(
        self,
        arguments: list[str],
        *,
        cwd: Path,
        columns: int = 120,
        rows: int = 40,
        is_controlled: bool = False,
        program: Path = PROGRAM,
        **env: str,
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [str(program), *arguments],
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # Keys such as ctrl+c become signals only where the terminal controls the program.
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if is_controlled else None,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
        )
        os.close(slave)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())

    def wait_for(self, wanted: str | Callable[[str], bool], *, limit_s: float = LIMIT_S) -> str:
        """Read until the screen matches a regular expression or a predicate; fail with the screen otherwise."""
        holds = wanted if callable(wanted) else lambda text: re.search(wanted, text) is not None
        deadline = time.monotonic() + limit_s
        while not holds(self.text()):
            if not self._read(deadline):
                shown = wanted if isinstance(wanted, str) else "the condition"
                pytest.fail(f"{shown!r} did not come; exit code {self.process.poll()}; the screen:\n{self.text()}")
        return self.text()

    def wait_for_exit(self, *, limit_s: float = 30) -> int:
        deadline = time.monotonic() + limit_s
        while self._read(deadline):
            pass
        return self.process.wait(timeout=max(0.1, deadline - time.monotonic()))

    def _read(self, deadline: float) -> bool:
        """Feed one piece of output to the emulator; False when the time is up or the program has gone."""
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not select.select([self.master], [], [], remaining)[0]:
            return False
        try:
            chunk = os.read(self.master, 1 << 16)
        except OSError:
            return False
        # The emulator does not know these private sequences and would print their tails.
        text = re.sub(
            r"\x1b\[[>=<][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\]22;[^\x1b\x07]*(?:\x1b\\|\x07)",
            "",
            self._decoder.decode(chunk),
        )
        self._stream.feed(text)
        return bool(chunk)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, how)

    def close(self) -> None:
        self.kill()
        self.process.wait(timeout=30)
        os.close(self.master)


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Run a verb of the installed program to its end."""

    def run(*arguments: str, cwd: Path = tmp_path, limit_s: float = LIMIT_S) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(PROGRAM), *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=limit_s,
            stdin=subprocess.DEVNULL,
        )

    yield run
    run("platform", "stop", "--force")


@pytest.fixture
def terminal(tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[str]]) -> Iterator[Callable[..., Terminal]]:
    """Open programs on terminals; all of them, and the platform they started, end with the test."""
    opened: list[Terminal] = []

    def open_terminal(*arguments: str, cwd: Path = tmp_path, **how: object) -> Terminal:
        opened.append(Terminal(list(arguments), cwd=cwd, **how))  # type: ignore[arg-type]
        return opened[-1]

    yield open_terminal
    for program in opened:
        program.close()


@pytest.fixture
def quick_workspace(tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[str]]) -> Path:
    """The template with a job of a few seconds."""
    target = tmp_path / "calc"
    assert cli("init", str(target)).returncode == 0
    job_file = target / "rl-job.yaml"
    text = job_file.read_text(encoding="utf-8")
    for old, new in (
        ("n_epochs: 3", "n_epochs: 1"),
        ("batch_size: 32", "batch_size: 64"),
        ("n_rollouts: 8", "n_rollouts: 4"),
    ):
        assert old in text
        text = text.replace(old, new)
    job_file.write_text(text, encoding="utf-8")
    return target
