"""What the platform says of itself. Imports little, so that it can answer before the rest is loaded."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.version import __version__

_RUNNING = ("RUNNING", "CANCELING")
_QUEUED = ("PENDING", "QUEUING")


@dataclass(frozen=True, slots=True)
class Identity:
    root: Path
    gateway_url: str = ""
    started_at: float = field(default_factory=time.time)

    def state(self) -> dict[str, Any]:
        """What stands in the state file."""
        return {
            "pid": os.getpid(),
            "started_at": self.started_at,
            "version": __version__,
            "gateway_url": self.gateway_url,
        }


def health(database: Database, identity: Identity) -> dict[str, Any]:
    rows = database.rows("select status, count(*) as n from jobs group by status")
    counts = {row["status"]: row["n"] for row in rows}
    return {
        "status": "ok",
        **identity.state(),
        "running": sum(counts.get(status, 0) for status in _RUNNING),
        "queued": sum(counts.get(status, 0) for status in _QUEUED),
        "root": str(identity.root),
    }
