"""The jobs as they were last seen, so that the place is not empty while the platform is asked."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import private_dir, state_dir

_VERSION = 1
_MOST_JOBS = 200


@dataclass(frozen=True, slots=True)
class KnownJobs:
    """Jobs as plain objects in the order of the service, and when they were read (seconds since the epoch)."""

    jobs: tuple[Mapping[str, Any], ...]
    at: float


def cache_path(place: str) -> Path:
    import hashlib

    return state_dir() / "jobs" / f"{hashlib.sha256(place.encode()).hexdigest()[:12]}.json"


def read_jobs(path: Path) -> KnownJobs | None:
    """None where nothing is kept or what is kept cannot be read: a cache is never worth an error."""
    try:
        kept = json.loads(path.read_bytes())
        if kept["version"] != _VERSION:
            return None
        return KnownJobs(tuple(item for item in kept["jobs"] if isinstance(item, dict)), float(kept["at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_jobs(path: Path, jobs: Sequence[Mapping[str, Any]], at: float) -> None:
    """Replace the file as a whole, so that a kill leaves the old or the new one. Raises OSError."""
    private_dir(path.parent)
    text = redact(json.dumps({"version": _VERSION, "at": at, "jobs": list(jobs[:_MOST_JOBS])}, ensure_ascii=False))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
