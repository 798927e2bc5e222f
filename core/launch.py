"""Starting, asking, stopping and removing the local platform's process."""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import Conflict, PlatformError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.paths import PlatformPaths, private_dir

MODULE = "agentic_rl_tui.core.platform"
START_S = 20.0
STOP_S = 15.0
_ASK_S = 3.0
_LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class PlatformInfo:
    """What a running platform says of itself. started_at in seconds since the epoch."""

    pid: int
    version: str = ""
    started_at: float | None = None
    gateway_url: str | None = None
    running: int = 0
    queued: int = 0
    root: str = ""


async def ensure_platform(
    paths: PlatformPaths, *, timeout_s: float = START_S, workspace: Path | None = None
) -> PlatformInfo:
    """The platform of this state directory, started when none answers.

    Any number of callers in any number of processes start one. The process is detached: it survives its starter and
    the terminal. workspace: the folder whose settings file a platform started now reads. Raises PlatformError with
    the last lines of its log.
    """
    if (info := await platform_status(paths)) is not None:
        return info
    try:
        async with _start_lock(paths, timeout_s):
            if (info := await platform_status(paths)) is not None:
                return info
            return await _started(paths, timeout_s, workspace)
    except OSError as error:
        raise PlatformError(
            _("the state directory {root} cannot be used: {error}").format(
                root=paths.root, error=error.strerror or error
            ),
            advice=_("Make it writable, or choose another with AGENTIC_RL_STATE_DIR."),
        ) from error


async def platform_status(paths: PlatformPaths) -> PlatformInfo | None:
    """None when no platform answers on the socket."""
    try:
        body = await _ask(paths, "GET", "/local/v1/health")
    except (OSError, TimeoutError, ValueError):
        return None
    started = body.get("started_at")
    return PlatformInfo(
        pid=int(body.get("pid") or 0),
        version=str(body.get("version") or ""),
        started_at=float(started) if isinstance(started, int | float) else None,
        gateway_url=body.get("gateway_url"),
        running=int(body.get("running") or 0),
        queued=int(body.get("queued") or 0),
        root=str(body.get("root") or paths.root),
    )


async def stop_platform(paths: PlatformPaths, *, force: bool = False, timeout_s: float = STOP_S) -> bool:
    """Stop a running platform and wait until it is gone; False when none ran.

    Raises Conflict while jobs run, unless forced, and PlatformError when it does not end.
    """
    info = await platform_status(paths)
    if info is None:
        return False
    if info.running and not force:
        raise Conflict(
            ngettext(
                "{count} job is running on the local platform",
                "{count} jobs are running on the local platform",
                info.running,
            ).format(count=info.running),
            advice=_("Cancel the jobs, or stop with --force: they then end as FAILED."),
        )
    try:
        await _ask(paths, "POST", "/local/v1/stop")
    except (OSError, TimeoutError, ValueError):
        _signal(info.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while _is_alive(info.pid) or paths.socket.exists():
        if time.monotonic() > deadline:
            raise PlatformError(
                _("the local platform (process {pid}) did not stop within {timeout_s:g} s").format(
                    pid=info.pid, timeout_s=timeout_s
                ),
                advice=_("End it with: kill -9 {pid}").format(pid=info.pid),
            )
        if not _is_alive(info.pid):
            paths.socket.unlink(missing_ok=True)
            break
        await asyncio.sleep(0.05)
    return True


async def reset_platform(paths: PlatformPaths, *, force: bool = False) -> None:
    """Stop the platform and remove all its state: jobs, logs, files, functions. Raises Conflict while jobs run."""
    await stop_platform(paths, force=force)
    async with _start_lock(paths, START_S):
        if await platform_status(paths) is not None:
            raise PlatformError(_("the local platform was started again meanwhile"), advice=_("Try the reset again."))
        try:
            paths.socket.unlink(missing_ok=True)
            if paths.root.is_dir():
                await asyncio.to_thread(shutil.rmtree, paths.root)
        except OSError as error:
            raise PlatformError(
                _("{path} cannot be removed: {error}").format(path=error.filename or paths.root, error=error.strerror)
            ) from error


async def _started(paths: PlatformPaths, timeout_s: float, workspace: Path | None) -> PlatformInfo:
    private_dir(paths.root)
    private_dir(paths.socket.parent)
    log_from = paths.own_log.stat().st_size if paths.own_log.is_file() else 0
    log = os.open(paths.own_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = await asyncio.to_thread(_spawn, paths.root, log, workspace)
    finally:
        os.close(log)
    deadline = time.monotonic() + timeout_s
    delay = 0.01
    while True:
        code = process.poll()
        if (info := await platform_status(paths)) is not None:
            _leave(process)
            return info
        if code is not None:
            raise _failed(paths, log_from, _("the local platform ended at once with code {code}").format(code=code))
        if time.monotonic() > deadline:
            process.terminate()
            await asyncio.to_thread(process.wait)
            raise _failed(
                paths,
                log_from,
                _("the local platform did not answer within {timeout_s:g} s").format(timeout_s=timeout_s),
            )
        await asyncio.sleep(delay)
        delay = min(0.1, delay * 1.5)


def _spawn(root: Path, log: int, workspace: Path | None) -> "subprocess.Popen[bytes]":
    """Start the process in a session of its own, so that no terminal's end reaches it.

    -P keeps the folder it starts in out of its import path: a user's module must not stand in for one of ours.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", MODULE, "--root", str(root)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        cwd=workspace if workspace is not None and workspace.is_dir() else "/",
    )


def _leave(process: "subprocess.Popen[bytes]") -> None:
    """Let go of a child that is meant to outlive us: no warning at our end, and no zombie while we live."""
    import threading

    threading.Thread(target=process.wait, name="platform-reaper", daemon=True).start()


def _failed(paths: PlatformPaths, log_from: int, message: str) -> PlatformError:
    lines: list[str] = []
    try:
        with paths.own_log.open("rb") as stream:
            stream.seek(log_from)
            lines = stream.read()[-8000:].decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
    except OSError as error:
        lines = [_("(its log cannot be read: {error})").format(error=error.strerror)]
    shown = plain("\n".join(lines)).strip() or _("(its log is empty)")
    return PlatformError(
        _("{message}; the end of its log:\n{shown}").format(message=message, shown=shown),
        advice=_("The whole log: {path}").format(path=paths.own_log),
    )


@asynccontextmanager
async def _start_lock(paths: PlatformPaths, timeout_s: float) -> AsyncIterator[None]:
    """One starter at a time, over all processes. The lock lies beside the state, which a reset removes."""
    private_dir(paths.root.parent)
    descriptor = os.open(_lock_path(paths.root), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise PlatformError(
                        _("another process has been starting the local platform for {timeout_s:g} s").format(
                            timeout_s=timeout_s
                        )
                    ) from None
            await asyncio.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _lock_path(root: Path) -> Path:
    return root.with_name(f"{root.name}.start.lock")


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """A process that has ended but whose parent has not asked; only Linux tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]


def _signal(pid: int, number: int) -> None:
    if pid > 0:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return


async def _ask(paths: PlatformPaths, method: str, path: str) -> dict[str, Any]:
    """One small request over the socket, without an HTTP library: this runs before every first frame."""
    async with asyncio.timeout(_ASK_S):
        reader, writer = await asyncio.open_unix_connection(str(paths.socket))
        try:
            head = (f"{method} {path} HTTP/1.1", "Host: platform.local", "Content-Length: 0", "Connection: close")
            writer.write("\r\n".join((*head, "", "")).encode())
            await writer.drain()
            answer = await reader.read(1 << 20)
            while more := await reader.read(1 << 20):
                answer += more
        finally:
            writer.close()
    top, _, content = answer.partition(b"\r\n\r\n")
    status = top.split(b" ", 2)[1:2]
    if status != [b"200"]:
        raise ValueError(f"HTTP {status}")
    body = json.loads(content)
    if not isinstance(body, dict):
        raise ValueError("no object")
    return body
