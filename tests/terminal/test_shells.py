"""Completion in the shells themselves: tab is pressed, and the line is read."""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
import pytest

PROGRAM = Path(sys.executable).with_name("agentic-rl-tui")
LIMIT_S = 60
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source {script}; PS1='ready> '"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; source {script}; PS1='ready> '"),
    "fish": (["--no-config", "-i"], "source {script}; function fish_prompt; echo -n 'ready> '; end"),
}
BEGUN = (
    ("vali", "date"), ("functions pack", "age"), ("run --dry", "-run"), ("config unse", "t"), ("list -o js", "on"),
    ("completion fi", "sh"), ("--workspace . vali", "date"), ("--profile local run --dry", "-run"),
    ("register-functions --no-l", "azy-load"), ("functions test x --requirements inst", "all"),
)  # fmt: skip
pytestmark = pytest.mark.terminal


def _own_terminal() -> None:
    """fish leaves at once where its terminal does not control it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Shell:
    def __init__(self, name: str, home: Path, script: Path) -> None:
        options, begin = SHELLS[name]
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        self.master, slave = pty.openpty()
        environment = {"HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8"}
        environment["PATH"] = f"{PROGRAM.parent}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [found, *options],
            cwd=home,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.screen = pyte.Screen(200, 50)
        self._stream = pyte.ByteStream(self.screen)
        self.type(begin.format(script=script) + "\r")
        self.wait_for("ready>")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, wanted: str) -> None:
        """Read until the line that is typed into is this one."""
        deadline = time.monotonic() + LIMIT_S
        while (line := self.screen.display[self.screen.cursor.y].rstrip()) != wanted:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                pytest.fail(f"{wanted!r} did not come, but {line!r}:\n" + "\n".join(self.screen.display).rstrip())
            self._stream.feed(os.read(self.master, 65536))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("name", SHELLS)
def test_tab_completes_verbs_actions_and_options(name: str, tmp_path: Path) -> None:
    script = tmp_path / f"completion.{name}"
    script.write_text(subprocess.run([PROGRAM, "completion", name], capture_output=True, text=True, check=True).stdout)
    shell = Shell(name, tmp_path, script)
    try:
        for begun, rest in BEGUN:
            shell.type(f"agentic-rl-tui {begun}\t")
            shell.wait_for(f"ready> agentic-rl-tui {begun}{rest}")
            shell.type("\x15")
            shell.wait_for("ready>")
    finally:
        shell.close()


def test_fish_describes_what_it_offers(tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    script = subprocess.run([PROGRAM, "completion", "fish"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "c.fish").write_text(script)
    ask = f"source {tmp_path / 'c.fish'}; complete -C 'agentic-rl-tui ca'; complete -C 'agentic-rl-tui list --pa'"
    done = subprocess.run([fish, "--no-config", "-c", ask], capture_output=True, text=True, check=True)
    assert "cancel\tCancel a running job" in done.stdout
    assert "--page\tpage, from 1" in done.stdout
