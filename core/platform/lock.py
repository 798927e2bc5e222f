"""One platform a state directory: the lock, the socket and the file that tells who runs."""

import fcntl
import json
import os
import socket
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.paths import PlatformPaths, private_dir

_TAKE_OVER_S = 10.0
_LOOK_S = 0.05
_WRITABLE = "Make it writable, or choose another state directory with AGENTIC_RL_STATE_DIR."


class AlreadyRunning(PlatformError):
    """Another platform holds the state directory."""


class InstanceLock:
    """Held for as long as the process lives: the kernel drops it with the process, however that ends.

    A platform that holds it and still answers is the end of the matter; one that is stopping is waited for.
    """

    def __init__(self, paths: PlatformPaths) -> None:
        self._paths = paths
        try:
            private_dir(paths.root)
            self._file = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise PlatformError(
                f"the state directory {paths.root} cannot be used: {error.strerror}", advice=_WRITABLE
            ) from error
        deadline = time.monotonic() + _TAKE_OVER_S
        while not self._try():
            if _answers(paths) or time.monotonic() > deadline:
                os.close(self._file)
                raise AlreadyRunning(
                    f"a platform runs on {paths.root} already{_owner(paths)}",
                    advice="Use that one, or end it with `agentic-rl-tui platform stop`.",
                )
            time.sleep(_LOOK_S)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise PlatformError(f"{self._paths.lock} cannot be locked: {error.strerror}", advice=_WRITABLE) from error
        return True

    def release(self) -> None:
        os.close(self._file)


def _answers(paths: PlatformPaths) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_LOOK_S)
        try:
            probe.connect(os.fspath(paths.socket))
        except OSError:
            return False
        return True


def _owner(paths: PlatformPaths) -> str:
    pid = read_state(paths).get("pid")
    return f" (process {pid})" if isinstance(pid, int) else ""


def read_state(paths: PlatformPaths) -> dict[str, Any]:
    """What the platform that runs, or last ran, wrote of itself; empty when there is nothing to read."""
    try:
        value = json.loads(paths.pid_file.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_state(paths: PlatformPaths, state: dict[str, Any]) -> None:
    descriptor, name = tempfile.mkstemp(prefix=".platform-", suffix=".json", dir=paths.root)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(state, file, indent=1)
        file.write("\n")
    os.replace(name, paths.pid_file)


def bind_unix(paths: PlatformPaths) -> socket.socket:
    """A listening socket that only this user can reach. A socket left by a killed platform is replaced.

    For the holder of the lock alone: nobody else can be answering at the old one.
    """
    path = paths.socket
    _own_directory(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except OSError as error:
        listener.close()
        raise PlatformError(f"the socket {path} cannot be made: {error.strerror}", advice=_WRITABLE) from error
    finally:
        os.umask(mask)
    return listener


def bind_tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, and without it the second of
    # two writes waits 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise PlatformError(
            f"{host} port {port} cannot be used: {error.strerror}", advice="Choose another port."
        ) from error
    return listener


def _own_directory(path: Path) -> None:
    """Refuse a socket directory that another user made, as anybody may below the temporary directory."""
    private_dir(path)
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
        raise PlatformError(f"{path} belongs to somebody else", advice="Choose a shorter state directory.")
