"""The start of the installed program: seen at once, nothing typed is lost, the terminal is left as it was."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("agentic-rl-tui")


@pytest.mark.terminal
def test_the_first_sight_comes_before_the_app_and_keys_typed_into_it_count(tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen(
        [str(PROGRAM)],
        cwd=tmp_path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )
    seen = b""

    def wait_for(text: bytes, limit_s: float = 60.0) -> int:
        """Where the text came in what was written so far."""
        nonlocal seen
        deadline = time.monotonic() + limit_s
        while text not in seen:
            assert time.monotonic() < deadline, seen[-2000:]
            if select.select([main], [], [], 0.2)[0]:
                seen += os.read(main, 65536)
        return seen.index(text)

    sight = wait_for(b"agentic-rl")
    os.write(main, b"?")
    app = wait_for(b"\x1b[?1004h")
    assert sight < app
    wait_for(b"Keys that work here")
    os.write(main, b"\x11")
    wait_for(b"\x1b[?1049l")
    while process.poll() is None:
        if select.select([main], [], [], 0.2)[0]:
            os.read(main, 65536)
    assert process.returncode == 0
    assert termios.tcgetattr(terminal) == before
    os.close(terminal)
    os.close(main)
