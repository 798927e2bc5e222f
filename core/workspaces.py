"""Which folders a person works in, and the job files they hold."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from agentic_rl_tui.core.paths import private_dir, state_dir
from agentic_rl_tui.core.textfile import write_atomic

_MOST_RECENT = 20


def job_files(workspace: Path) -> list[Path]:
    """YAML files at the top of a folder, those called after jobs first."""
    try:
        found = [path for path in workspace.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file()]
    except OSError:
        return []
    return sorted(found, key=lambda path: ("rl-job" not in path.name, "job" not in path.name, path.name))


@dataclass(frozen=True, slots=True)
class Visit:
    """at_s: seconds since the epoch."""

    path: Path
    at_s: float


class Recent:
    """The folders that were opened last, newest first. A file that cannot be read counts as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else state_dir() / "workspaces.json"

    def visits(self) -> list[Visit]:
        """Only folders that are still there."""
        try:
            entries = json.loads(self.path.read_bytes())
            visits = [Visit(Path(entry["path"]), float(entry["at"])) for entry in entries]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [visit for visit in visits if visit.path.is_dir()]

    def add(self, workspace: Path) -> None:
        """Raises OSError when the disk refuses."""
        path = Path(os.path.abspath(workspace))
        kept = [visit for visit in self.visits() if visit.path != path][: _MOST_RECENT - 1]
        entries = [{"path": str(visit.path), "at": visit.at_s} for visit in [Visit(path, time.time()), *kept]]
        private_dir(self.path.parent)
        write_atomic(self.path, json.dumps(entries).encode())
