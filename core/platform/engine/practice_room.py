"""Model keys for trying a rollout function outside a job: an untrained practice policy answers one data row."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from agentic_rl_tui.core.platform.engine.gateway import Gateway
from agentic_rl_tui.core.platform.engine.policy import Place
from agentic_rl_tui.core.platform.engine.practice import PracticePolicy
from agentic_rl_tui.core.platform.engine.row import Row
from agentic_rl_tui.core.platform.engine.session import Session

KEEP_S = 3600.0
"""A key whose user went away without giving it back stops working after this."""
MOST_OPEN = 4096


class PracticeRoom:
    """Hands out and takes back keys; a key knows the row that its caller is trying."""

    def __init__(self, gateway: Gateway, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._gateway = gateway
        self._clock = clock
        self._open: dict[str, tuple[float, Session]] = {}
        self._policy: PracticePolicy | None = None

    def open(
        self, raw: Mapping[str, Any], *, index: int, rollout: int, seed: int, temperature: float
    ) -> dict[str, str]:
        """A ``model_resource`` for one rollout of a row. The same numbers give the same answers."""
        self._sweep()
        self._policy = self._policy or PracticePolicy()
        row = Row.of(index, raw)
        session = self._gateway.open(self._policy, Place(row, (seed, "try", 0, index, rollout, 1), temperature))
        self._open[session.key] = (self._clock(), session)
        return {"model_name": self._policy.name, "base_url": self._gateway.model_url, "api_key": session.key}

    def close(self, key: str) -> list[dict[str, Any]] | None:
        """Take a key back; the calls that were made with it, None for a key that is not open."""
        _, session = self._open.pop(key, (0.0, None))
        if session is None:
            return None
        self._gateway.close(session)
        return [call.record() for call in session.calls]

    def _sweep(self) -> None:
        """Close what was forgotten, and the oldest where too many are open."""
        oldest = self._clock() - KEEP_S
        late = [key for key, (opened, _) in self._open.items() if opened < oldest]
        crowd = list(self._open)[: max(0, len(self._open) - MOST_OPEN + 1)]
        for key in {*late, *crowd}:
            self.close(key)
