"""The few things about processes that Python has no call for. Linux knows them all; elsewhere they do less."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MARK_BASE = 1 << 30
IS_LINUX = sys.platform == "linux"


def _prctl(option: int, value: int) -> bool:
    if not IS_LINUX:
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(option, value, 0, 0, 0) == 0)


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent ends, so that none of them escapes. Not inherited by forks."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> None:
    """Be killed when the parent ends; at once when it is already gone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def mark(number: int) -> None:
    """Mark this process and all that it will start, whatever session or parent they choose; see `mark_of`.

    The mark is a resource limit that next to nothing uses (POSIX message queues): limits pass through fork and exec.
    """
    if not IS_LINUX:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    base = _MARK_BASE if hard == resource.RLIM_INFINITY else min(hard, _MARK_BASE)
    if number < base:
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (base - number, hard))


def mark_of(pid: int) -> int | None:
    """The number that a process, or one it descends from, was marked with."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            line = next(line for line in file if line.startswith(b"Max msgqueue size"))
        soft, hard = line.split()[3:5]
        return (_MARK_BASE if hard == b"unlimited" else min(int(hard), _MARK_BASE)) - int(soft)
    except (OSError, StopIteration, ValueError):
        return None


def children(pid: int) -> list[int]:
    """Direct children, dead ones that nobody waited for included."""
    if not IS_LINUX:
        return []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        found: list[int] = []
        for thread in threads:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(child) for child in file.read().split()]
        return found
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """All below a process, parents before their children."""
    found: list[int] = []
    frontier = [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children(parent)]
        found += frontier
    return found


def resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def resident_bytes_of_tree(root: int) -> int:
    return resident_bytes(root) + sum(resident_bytes(pid) for pid in descendants(root))


def send(pid: int, number: int, *, group: bool = False) -> None:
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill_tree(root: int) -> None:
    """Kill a process, its group and all below it. They are stopped first so that none forks its way out."""
    send(root, signal.SIGSTOP, group=True)
    send(root, signal.SIGSTOP)
    stopped: set[int] = set()
    while fresh := [pid for pid in descendants(root) if pid not in stopped]:
        for pid in fresh:
            send(pid, signal.SIGSTOP)
        stopped.update(fresh)
    for pid in stopped:
        send(pid, signal.SIGKILL)
    send(root, signal.SIGKILL, group=True)
    send(root, signal.SIGKILL)


def kill_marked(variable: bytes) -> None:
    """Kill every process that was started with ``NAME=value`` in its environment: what a killed keeper left behind."""
    if not IS_LINUX:
        return
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                marked = variable in file.read().split(b"\0")
        except OSError:
            continue
        if marked and entry.isdigit():
            send(int(entry), signal.SIGKILL)


def kill_all_below(known: Iterable[int], limit_s: float = 5.0) -> None:
    """Kill and reap every child and what they leave behind, until none is left. known: children not yet waited for."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        for pid in {*known, *children(os.getpid())}:
            kill_tree(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)
