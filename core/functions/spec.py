"""What a pool runs, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What to run and within which limits.

    package_dir: the unpacked package; the worker's working directory and the root of the user's imports.
    python: interpreter, None for ours. env: the function's variables, on top of a clean environment; among them
    AGENTIC_RL_PROCESSORS chooses the processor API (own, real, auto: real where the interpreter has it).
    concurrency: calls at once inside one process.
    memory_limit_bytes: of one worker with everything it starts. One allocation far over it raises MemoryError at its
    line; growing past it ends the worker, and the call says how much was in use.
    setup_timeout_s: for import, construction and setup, from the moment the worker's process exists.
    call_timeout_s counts from the moment a worker has the call, not while it waits for a free one.
    cancel_grace_s: how long a coroutine may take to end when it is canceled, before its worker is replaced.
    """

    package_dir: Path
    kind: FunctionKind
    classpath: ClassPath
    python: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 1
    memory_limit_bytes: int | None = None
    call_timeout_s: float | None = None
    setup_timeout_s: float = 60.0
    cancel_grace_s: float = 2.0

    @property
    def name(self) -> str:
        """The class as the user wrote it."""
        return self.classpath.text or self.classpath.colon

    def config(self) -> dict[str, Any]:
        return {
            "package_dir": str(self.package_dir.resolve()),
            "module": self.classpath.module,
            "class_name": self.classpath.class_name,
            "kind": self.kind.value,
            "concurrency": max(1, self.concurrency),
            "memory_limit": self.memory_limit_bytes,
        }
