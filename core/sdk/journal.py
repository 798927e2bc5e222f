"""Intents to create a job, written down before they are sent, so that no lost answer makes a second job."""

import fcntl
import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.paths import private_dir

KEEP_S = 24 * 3600.0
"""An intent that nobody took up for a day is forgotten: the job was surely seen, or is not wanted any more."""


@dataclass(slots=True)
class Intent:
    """One submission whose outcome is not known. The file is locked while somebody works on it."""

    path: Path
    job_name: str
    scope: str
    fingerprint: str
    created_at: float
    _descriptor: int = field(repr=False, default=-1)

    def settle(self) -> None:
        """The outcome is known: forget the intent."""
        self.path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Leave the intent for a later call to take up."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Journal:
    """A folder of intents. Holds names and hashes only, never a body: bodies carry users' secrets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, job_name: str, *, scope: str, fingerprint: str) -> Intent:
        """Write an intent to disk and lock it; on return a crash cannot lose it. Raises ArlError when disk refuses."""
        path = self.folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', job_name)[:120]}.{os.urandom(4).hex()}.json"
        facts = {"job_name": job_name, "scope": scope, "fingerprint": fingerprint, "created_at": time.time()}
        try:
            private_dir(self.folder)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, json.dumps(facts).encode())
            os.fsync(descriptor)
            _sync_folder(self.folder)
        except OSError as error:
            raise ArlError(
                _("the intent to submit cannot be written to {folder}: {strerror}").format(
                    folder=self.folder, strerror=error.strerror
                ),
                advice=_("Free the disk or correct the folder's rights; nothing was sent."),
                number=1800,
            ) from error
        return Intent(path, job_name, scope, fingerprint, float(facts["created_at"]), descriptor)  # type: ignore[arg-type]

    def claim(self, *, scope: str, fingerprint: str) -> Intent | None:
        """Lock and return the newest abandoned intent of the same submission, if there is one."""
        for intent in self.abandoned(scope=scope):
            if intent.fingerprint == fingerprint and (claimed := _locked(intent)) is not None:
                return claimed
        return None

    def abandoned(self, *, scope: str | None = None) -> list[Intent]:
        """Intents that no running process works on, newest first. Old ones are removed on the way."""
        found: list[Intent] = []
        for path in self.folder.glob("*.json") if self.folder.is_dir() else ():
            intent = _read(path)
            if intent is None or (scope is not None and intent.scope != scope):
                continue
            held = _locked(intent)
            if held is None:
                continue
            if time.time() - intent.created_at > KEEP_S:
                held.settle()
            else:
                held.release()
                found.append(intent)
        return sorted(found, key=lambda intent: intent.created_at, reverse=True)


def _read(path: Path) -> Intent | None:
    """None for a file cut off by a crash before anything was sent, or removed meanwhile."""
    try:
        facts: Any = json.loads(path.read_bytes())
        return Intent(
            path,
            str(facts["job_name"]),
            str(facts["scope"]),
            str(facts["fingerprint"]),
            float(facts["created_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _locked(intent: Intent) -> Intent | None:
    """The intent with its lock held; None while another process has it, or when it was settled."""
    try:
        descriptor = os.open(intent.path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink == 0:
            raise BlockingIOError
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Intent(intent.path, intent.job_name, intent.scope, intent.fingerprint, intent.created_at, descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
