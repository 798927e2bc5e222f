"""The process between a pool and its workers.

It runs no user code, so nothing that user code does can take it down: it forks workers with the runtime already
imported, tells the pool how they ended, adopts whatever they leave behind, and kills all of it when the pool says so
or is gone. A second keeper below it may hold the user's module already imported (a template): its forks start warm.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.functions.frames import Splitter, decode, frame
from agentic_rl_tui.core.functions.worker import processes
from agentic_rl_tui.core.functions.worker.runtime import Runtime, prepare

FDS_PER_WORKER = 4
"""Frame socket, stdout, stderr and the page with the count of started calls, in this order."""

_WATCH_S = 0.2
_PARENT_CHECK_S = 1.0
_TERM_GRACE_S = 0.2


@dataclass(slots=True)
class _Child:
    slot: int
    memory_limit: int | None
    reason: str = ""


def run(control_fd: int, kind: str) -> None:
    """Keep workers for one kind of function until the pool closes its end. Never returns."""
    control = socket.socket(fileno=control_fd)
    control.set_inheritable(False)
    try:
        runtime = prepare(kind)
    except ImportError as error:
        control.sendall(frame("failed", message=f"{sys.executable} cannot run functions: {error}"))
        os._exit(3)
    control.sendall(frame("hello", pid=os.getpid(), processors=runtime.source, python=sys.version.split()[0]))
    Keeper(control, runtime).serve()


class Keeper:
    """loaded: the user's class when this process has imported it already."""

    def __init__(self, control: socket.socket, runtime: Runtime, loaded: type[Any] | None = None) -> None:
        self._control = control
        self._runtime = runtime
        self._loaded = loaded
        self._children: dict[int, _Child] = {}
        self._fds: list[int] = []
        self._splitter = Splitter()
        self._parent = os.getppid()
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)

    def serve(self) -> None:
        processes.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._leave())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)
        gc.collect()
        gc.freeze()
        checked = time.monotonic()
        while True:
            watching = any(child.memory_limit for child in self._children.values())
            sources = [self._control.fileno(), self._wake_in]
            ready, _, _ = select.select(sources, [], [], _WATCH_S if watching else _PARENT_CHECK_S)
            if self._wake_in in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_in, 4096)
                self._reap()
            if self._control.fileno() in ready:
                self._receive()
            if watching:
                self._watch_memory()
            if time.monotonic() - checked > _PARENT_CHECK_S:
                checked = time.monotonic()
                if os.getppid() != self._parent:
                    self._leave()

    def _receive(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 8 * FDS_PER_WORKER)
        except OSError:
            self._leave()
        if not data:
            self._leave()
        for fd in fds:
            os.set_inheritable(fd, False)
        self._fds += fds
        for body in self._splitter.feed(data):
            self._handle(decode(body))

    def _handle(self, message: dict[str, Any]) -> None:
        match message["op"]:
            case "spawn":
                fds, self._fds = self._fds[:FDS_PER_WORKER], self._fds[FDS_PER_WORKER:]
                self._spawn(message, fds)
            case "kill":
                self._kill(message["slot"], message.get("reason", ""))
            case "where":
                self._signal(message["slot"], signal.SIGUSR1)
            case "stop":
                self._stop_gently()
                self._leave()

    def _spawn(self, message: dict[str, Any], fds: list[int]) -> None:
        keeper_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._become_child(message, fds, keeper_pid)
                code = 0
            finally:
                os._exit(code)
        for fd in fds:
            os.close(fd)
        self._children[pid] = _Child(message["slot"], message["config"].get("memory_limit"))
        self._tell("spawned", slot=message["slot"], pid=pid)

    def _become_child(self, message: dict[str, Any], fds: list[int], keeper_pid: int) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        processes.die_with_parent(keeper_pid)
        processes.mark(message["slot"])
        self._control.close()
        for fd in (self._wake_in, self._wake_out, *self._fds):
            os.close(fd)
        from agentic_rl_tui.core.functions.worker.host import become_template, become_worker

        if message["role"] == "template":
            ready = become_template(self._runtime, message["config"], fds)
            if ready is not None:
                control, loaded = ready
                Keeper(control, self._runtime, loaded).serve()
        else:
            become_worker(self._runtime, message["config"], fds, self._loaded)

    def _reap(self) -> None:
        """Report the ends of workers; kill what they leave behind."""
        ended = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            child = self._children.pop(pid, None)
            if child is not None:
                ended = True
                self._tell("exited", slot=child.slot, code=os.waitstatus_to_exitcode(status), reason=child.reason)
        if ended:
            alive = {child.slot for child in self._children.values()}
            for slot, orphan in self._orphans():
                if slot not in alive:
                    processes.kill_tree(orphan)

    def _orphans(self) -> list[tuple[int | None, int]]:
        """Adopted processes, each with the slot of the worker that it comes from."""
        adopted = set(processes.children(os.getpid())) - set(self._children)
        return [(processes.mark_of(pid), pid) for pid in adopted]

    def _watch_memory(self) -> None:
        orphans = self._orphans()
        for pid, child in self._children.items():
            if child.memory_limit is None or child.reason:
                continue
            roots = [pid, *(orphan for slot, orphan in orphans if slot == child.slot)]
            used = sum(processes.resident_bytes_of_tree(root) for root in roots)
            if used > child.memory_limit:
                child.reason = f"memory:{used}"
                processes.kill_tree(pid)

    def _kill(self, slot: int, reason: str) -> None:
        for pid, child in self._children.items():
            if child.slot == slot:
                child.reason = child.reason or reason
                processes.kill_tree(pid)

    def _signal(self, slot: int, number: int) -> None:
        for pid, child in self._children.items():
            if child.slot == slot:
                processes.send(pid, number)

    def _stop_gently(self) -> None:
        """Let workers end by SIGTERM, for a moment."""
        for pid in self._children:
            processes.send(pid, signal.SIGTERM, group=True)
        deadline = time.monotonic() + _TERM_GRACE_S
        while self._children and time.monotonic() < deadline:
            self._reap()
            if self._children:
                select.select([self._wake_in], [], [], 0.005)

    def _leave(self) -> None:
        processes.kill_all_below(self._children)
        os._exit(0)

    def _tell(self, op: str, **fields: Any) -> None:
        """Send to the pool, or leave when it is gone."""
        try:
            self._control.sendall(frame(op, **fields))
        except OSError:
            self._leave()
