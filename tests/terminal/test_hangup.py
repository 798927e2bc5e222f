"""A terminal that goes away without a signal, as one does that controls no session."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytestmark = pytest.mark.terminal


def test_the_app_ends_with_a_terminal_that_hangs_up_silently(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    program = str(Path(sys.executable).with_name("agentic-rl-tui"))
    process = subprocess.Popen(
        [program, "--workspace", str(tmp_path)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(slave)
    try:
        seen = b""
        while "● ready".encode() not in seen:
            seen += os.read(master, 65_536)
        os.close(master)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        subprocess.run([program, "platform", "stop", "--force"], capture_output=True, check=False)
