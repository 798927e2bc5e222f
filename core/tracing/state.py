"""The switches of tracing and what this process knows of its use. Imports next to nothing: tracing off is free."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_TRUE = frozenset({"true", "1", "yes"})
ROLLOUT_ID = "bailian.agentic_rl.rollout_id"
SAMPLE_ID = "bailian.agentic_rl.sample_id"
ATTEMPT_ID = "bailian.agentic_rl.attempt_id"

Record = dict[str, Any]
Make = Callable[[], Record | None]
Sink = Callable[[int, Make, bool], None]
"""Takes the number of the call that a record belongs to, 0 where nobody knows, what makes the record when it leaves,
None for one that is not needed any more, and whether it must leave at once: work follows that may end the process.
"""


def flag(name: str, default: bool = False) -> bool:
    """A variable as the vendor's module reads it: ``true``, ``1`` and ``yes`` in any case are true."""
    value = os.environ.get(name)
    return default if value is None or not value.strip() else value.strip().lower() in _TRUE


def number(name: str, default: int, most: int | None = None) -> int:
    """A whole number from the environment; the default for what is none."""
    try:
        value = int(os.environ.get(name, ""))
    except ValueError:
        return default
    return value if most is None else max(0, min(value, most))


def is_wanted() -> bool | None:
    """ENABLE_TRAJECTORY: True and False as it says, None when it says nothing: then use decides."""
    value = os.environ.get("ENABLE_TRAJECTORY")
    return None if value is None or not value.strip() else flag("ENABLE_TRAJECTORY")


class Use:
    """What user code did with the tracing API in this process."""

    def __init__(self) -> None:
        self.is_used = False
        self.sink: Sink | None = None
        self.clients = 0
        self.tools = 0
        self.children = 0
        self.unsupported: list[str] = []
        self.decorated: set[str] = set()

    def touch(self, what: str = "") -> None:
        """User code asked for tracing."""
        self.is_used = True
        if what:
            self.decorated.add(what)

    def note(self, kind: str, **fields: Any) -> None:
        """Send a record that is no span."""
        if self.sink is not None:
            record = {"type": kind, **fields}
            self.sink(current_call.get(), lambda: record, False)

    def note_child(self) -> None:
        """This process got a child, which has our names and whose spans go nowhere."""
        self.children += 1
        if current_call.get():
            self.note("child")

    def facts(self) -> Record:
        """What the side that judges completeness has to know."""
        return {
            "api": "own" if self.is_used else "real",
            "clients": self.clients,
            "tools": self.tools,
            "children": self.children,
            "unsupported": list(self.unsupported),
            "decorated": sorted(self.decorated),
        }


use = Use()
linkage: ContextVar[tuple[bool, str | None]] = ContextVar("agentic_rl_linkage", default=(False, None))
"""Whether the caller named its own span, and the id of its request."""
current_call: ContextVar[int] = ContextVar("agentic_rl_call", default=0)
"""The number of the call that this context belongs to; 0 outside of any."""


def is_on() -> bool:
    """Whether spans are made: wanted by the environment, or used and not forbidden."""
    wanted = is_wanted()
    return use.is_used if wanted is None else wanted
