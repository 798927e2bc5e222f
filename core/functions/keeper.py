"""The pool's handle on a keeper process: start it, have it fork workers, hear how they end."""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentic_rl_tui.core.functions.frames import Splitter, decode, frame
from agentic_rl_tui.core.functions.output import OutputLine, PipeReader
from agentic_rl_tui.core.functions.worker.processes import kill_marked
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import FunctionFailed

CORE_DIR = Path(__file__).resolve().parents[1]
MAIN = CORE_DIR / "functions" / "worker" / "__main__.py"

MEMORY_BYTES = 64 * 1024
STACK_OFFSET = 64
"""Of the memory shared with a worker: 8 bytes count the calls begun, from here on it writes where it stands."""

_PASSED_ON = """
PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TERM LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR
REQUESTS_CA_BUNDLE HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy AGENTIC_RL_PROCESSORS
"""
_STOP_S = 6.0
_LOOPBACK = "127.0.0.1,localhost,::1"


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What user code may see: the machine's ordinary variables and the function's own, but no key of this user.

    Loopback never goes through a proxy: the model of a local job answers there.
    """
    env = {name: os.environ[name] for name in _PASSED_ON.split() if name in os.environ}
    env |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
    for name in ("NO_PROXY", "no_proxy"):
        env[name] = ",".join(filter(None, (os.environ.get(name), _LOOPBACK)))
    return {**env, "PYTHONUNBUFFERED": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__", **extra}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended. code: exit code, or minus the signal. reason: why the keeper killed it, if it did."""

    code: int
    reason: str = ""

    def describe(self) -> str:
        if self.reason.startswith("memory:"):
            return _("it used {value} MB of memory, over its limit").format(
                value=int(self.reason.partition(":")[2]) >> 20
            )
        if self.reason:
            return self.reason
        if self.code >= 0:
            return _("it ended itself with exit code {code}").format(code=self.code)
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = _("signal {number}").format(number=-self.code)
        hint = {
            "SIGKILL": _(": by itself, by another process, or by the system for lack of memory"),
            "SIGSEGV": _(": a crash in native code, or recursion too deep for the stack"),
        }
        return _("it was killed by {name}{hint}").format(name=name, hint=hint.get(name, ""))


@dataclass(slots=True)
class WorkerEnds:
    """The pool's ends of a worker's descriptors."""

    sock: socket.socket
    stdout_fd: int
    stderr_fd: int
    memory: mmap.mmap


class KeeperLink(asyncio.Protocol):
    """A control connection to a keeper, be it the first one or a template."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._splitter = Splitter()
        self._forks: dict[int, Callable[[], None]] = {}
        self._exits: dict[int, Callable[[Exit], None]] = {}
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_message: Callable[[dict[str, Any]], None] = lambda _message: None

    async def open(self) -> None:
        self._sock.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._sock, self._readable)

    def _readable(self) -> None:
        try:
            data = self._sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        for body in self._splitter.feed(data):
            message = decode(body)
            if message["op"] == "exited":
                gone = self._exits.pop(message["slot"], None)
                if gone is not None:
                    gone(Exit(message["code"], message["reason"]))
            elif message["op"] == "spawned":
                self._forks.pop(message["slot"])()
            else:
                self.on_message(message)

    def _lost(self) -> None:
        if self.closed.done():
            return
        self._loop.remove_reader(self._sock)
        self._sock.close()
        self.closed.set_result(None)
        exits, self._exits = self._exits, {}
        for gone in exits.values():
            gone(Exit(-signal.SIGKILL, _("the process that keeps the workers was killed")))

    @property
    def is_open(self) -> bool:
        return not self.closed.done()

    def spawn(
        self,
        slot: int,
        role: str,
        config: dict[str, Any],
        on_fork: Callable[[], None],
        on_exit: Callable[[Exit], None],
    ) -> WorkerEnds:
        """Have a worker forked; its own frames tell when it is ready."""
        ours, theirs = socket.socketpair()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        memory_fd = _shared_page()
        try:
            message = frame("spawn", slot=slot, role=role, config=config)
            socket.send_fds(self._sock, [message], [theirs.fileno(), out_w, err_w, memory_fd])
            memory = mmap.mmap(memory_fd, MEMORY_BYTES)
        except OSError as error:
            ours.close()
            os.close(out_r)
            os.close(err_r)
            raise FunctionFailed(_("the process that keeps the workers is gone"), kind="died") from error
        finally:
            theirs.close()
            for fd in (out_w, err_w, memory_fd):
                os.close(fd)
        self._forks[slot] = on_fork
        self._exits[slot] = on_exit
        return WorkerEnds(ours, out_r, err_r, memory)

    def tell(self, op: str, **fields: Any) -> None:
        if self.is_open:
            try:
                self._sock.send(frame(op, **fields))
            except OSError:
                self._lost()

    def close(self) -> None:
        self._lost()


def _shared_page() -> int:
    if sys.platform == "linux":
        fd = os.memfd_create("agentic-rl-worker")
    else:
        fd, name = tempfile.mkstemp()
        os.unlink(name)
    os.ftruncate(fd, MEMORY_BYTES)
    return fd


class KeeperProcess:
    """The keeper itself. `start` may be called again after it died."""

    def __init__(self, python: Path | None, package_dir: Path, env: Mapping[str, str], kind: str) -> None:
        self._kind = kind
        self._python = str(python or sys.executable)
        self._package_dir = package_dir
        self._mark = f"AGENTIC_RL_POOL={uuid4().hex}"
        self._env = {**clean_environment(env), **dict([self._mark.split("=")])}
        self._words: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._failure = ""
        self.processors = ""

    @property
    def failure(self) -> str:
        """Why this interpreter can keep no workers; empty while it can."""
        if not self._failure and not self.processors:
            return self.last_words()
        return self._failure

    async def start(self) -> KeeperLink:
        """Raises FunctionFailed when the interpreter cannot be started."""
        self._failure = self.processors = ""
        self._words.clear()
        ours, theirs = socket.socketpair()
        err_r, err_w = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - a few ms, and its death signal is bound to this thread
                [self._python, str(MAIN), str(theirs.fileno()), str(CORE_DIR), self._kind],
                cwd=self._package_dir,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=err_w,
                stderr=err_w,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(err_r)
            raise FunctionFailed(
                _("{python} cannot be started: {error}").format(python=self._python, error=error.strerror),
                kind="died",
            ) from error
        finally:
            theirs.close()
            os.close(err_w)
        self._pipe = PipeReader(err_r, "worker", self._hear)
        self._link = KeeperLink(ours)
        self._link.on_message = self._message
        await self._link.open()
        return self._link

    def _message(self, message: dict[str, Any]) -> None:
        if message["op"] == "failed":
            self._failure = message["message"]
        elif message["op"] == "hello":
            self.processors = message["processors"]

    def _hear(self, line: OutputLine) -> None:
        self._words.append(line.text)
        del self._words[:-20]

    def last_words(self) -> str:
        self._pipe.drain()
        return "\n".join(self._words)

    async def stop(self) -> None:
        """Have everything killed that the keeper ever started, and wait until it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        self._link.tell("stop")
        deadline = asyncio.get_running_loop().time() + _STOP_S
        delay = 0.001
        while process.poll() is None:
            await asyncio.sleep(delay)
            delay = min(delay * 2, 0.05)
            if asyncio.get_running_loop().time() > deadline:
                process.kill()
        if process.returncode != 0:
            kill_marked(self._mark.encode())
        self._link.close()
        self._pipe.drain()
        self._pipe.close()
