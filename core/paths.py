"""Where things lie: the user's config and state directories, the platform's socket."""

import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentic_rl_tui.core.folders import APP, config_folder, state_folder

_SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux, 104 on macOS


def config_dir() -> Path:
    """``AGENTIC_RL_CONFIG_DIR`` or the user's config directory."""
    return Path(config_folder())


def state_dir() -> Path:
    """``AGENTIC_RL_STATE_DIR`` or the user's state directory."""
    return Path(state_folder())


def private_dir(path: Path) -> Path:
    """Make `path` with mode 0700, also tightening one that exists."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o700)
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, made where it is missing; every other program that wants it waits."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class PlatformPaths:
    """Everything the local platform keeps, below one state directory."""

    root: Path

    @classmethod
    def default(cls) -> "PlatformPaths":
        return cls(state_dir() / "platform")

    @property
    def socket(self) -> Path:
        """The unix socket; beside the state where its path is short enough, else in a private temporary directory."""
        near = self.root / "platform.sock"
        if len(os.fsencode(near)) <= _SOCKET_PATH_LIMIT:
            return near
        tag = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"{APP}-{os.getuid()}" / f"{tag}.sock"

    @property
    def lock(self) -> Path:
        return self.root / "platform.lock"

    @property
    def pid_file(self) -> Path:
        """JSON of the running platform: pid, started_at, version."""
        return self.root / "platform.json"

    @property
    def own_log(self) -> Path:
        return self.root / "platform.log"

    @property
    def database(self) -> Path:
        return self.root / "platform.db"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def files(self) -> Path:
        return self.root / "files"

    @property
    def packages(self) -> Path:
        return self.root / "packages"

    @property
    def traces(self) -> Path:
        return self.root / "traces"

    @property
    def jobs(self) -> Path:
        """Reports, trajectories and checkpoints, one directory a job."""
        return self.root / "jobs"
