"""What both ways to serve calls share."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from agentic_rl_tui.core.functions.worker.output import flush_streams


class StartedCount:
    """How many calls were begun, in the order of their frames, in memory that outlives this process."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._count = 0

    def add(self) -> None:
        self._count += 1
        self._memory[:8] = self._count.to_bytes(8, "little")


def leave(code: int = 0) -> NoReturn:
    flush_streams()
    os._exit(code)
