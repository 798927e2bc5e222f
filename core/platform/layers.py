"""Dependency layers: a look at what the interpreter already has, or an environment of the requirements."""

import asyncio
import logging
import re
from collections.abc import Callable
from importlib import metadata

from agentic_rl_tui.core.functions.environments import Environments, RequirementsPolicy
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.platform.faults import Faults
from agentic_rl_tui.core.platform.store.functions import Functions, Layer
from agentic_rl_tui.core.platform.tasks import Tasks

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PROVIDED = frozenset({"dashscope"})
"""What a worker answers for itself when it is not installed."""

_SETTLE_S = 5.0


class Layers:
    """A layer is ready as soon as its requirements were read, or installed where `environments` are made of them.

    Clients wait ten seconds between two looks at a layer, so a look waits the moment that the reading takes.
    """

    def __init__(
        self,
        functions: Functions,
        tasks: Tasks,
        faults: Faults | None = None,
        *,
        wait_s: Callable[[float], float] = lambda seconds: seconds,
        policy: RequirementsPolicy = RequirementsPolicy.CHECK,
        environments: Environments | None = None,
    ) -> None:
        self._functions = functions
        self._policy = policy
        self._environments = environments
        self._wait_s = wait_s
        self._faults = faults or Faults()
        self._tasks = tasks
        self._building: dict[str, asyncio.Task[None]] = {}

    async def create(self, name: str, requirements: str) -> Layer:
        layer = await self._functions.add_layer(name, requirements)
        self._begin(layer)
        return layer

    async def settled(self, layer_code: str) -> Layer | None:
        """The layer, after a short wait for one that is being built."""
        building = self._building.get(layer_code)
        if building is None:
            layer = self._functions.layer(layer_code)
            if layer is None or layer.status != "BUILDING":
                return layer
            building = self._begin(layer)
        await asyncio.wait({building}, timeout=_SETTLE_S)
        return self._functions.layer(layer_code)

    def _begin(self, layer: Layer) -> asyncio.Task[None]:
        task = self._building[layer.layer_code] = self._tasks.start(self._build(layer))
        return task

    async def _build(self, layer: Layer) -> None:
        try:
            if (rule := self._faults.take("layer-slow")) is not None:
                await asyncio.sleep(self._wait_s(rule.get("seconds")))
            if self._faults.take("layer-failed") is not None:
                await self._functions.set_layer(layer.layer_code, "FAILED", "a fault on purpose")
                return
            status, message = await self._outcome(layer)
            await self._functions.set_layer(layer.layer_code, status, message)
        finally:
            self._building.pop(layer.layer_code, None)

    async def _outcome(self, layer: Layer) -> tuple[str, str | None]:
        if self._environments is not None:
            try:
                await self._environments.make(layer.requirements, lambda line: _log.info("requirements: %s", line))
            except PackageError as error:
                return "FAILED", error.message
            return "SUCCESS", None
        if self._policy is RequirementsPolicy.IGNORE:
            return "SUCCESS", None
        missing = await asyncio.to_thread(missing_requirements, layer.requirements)
        return "SUCCESS", f"not installed on this machine: {', '.join(missing)}" if missing else None


def requirement_names(requirements: str) -> list[str]:
    """The packages that a requirements text names, options and comments left out."""
    names = []
    for line in requirements.splitlines():
        stripped = line.split("#", 1)[0].strip()
        match = _NAME.match(stripped)
        if match is not None and not re.match(r"[a-z]+\+|https?:", stripped):
            names.append(match[0])
    return names


def missing_requirements(requirements: str) -> list[str]:
    """Those of the named packages that this interpreter does not have."""
    missing = []
    for name in requirement_names(requirements):
        if re.sub(r"[-_.]+", "-", name).lower() in _PROVIDED:
            continue
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    return missing
