"""Function instances: a registered function with its workers, started when needed and stopped when idle."""

import asyncio
import itertools
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.environments import Environments
from agentic_rl_tui.core.functions.upstream import Upstream
from agentic_rl_tui.core.models.errors import ArlError, FunctionFailed, NotFound, PlatformError
from agentic_rl_tui.core.models.functions import FunctionKind, InstanceState, Runtime
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.platform.packages import Packages
from agentic_rl_tui.core.platform.store.functions import Entity, Functions, StoredInstance
from agentic_rl_tui.core.platform.store.logs import InstanceLogs
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces import TraceKeeper

_log = logging.getLogger(__name__)

_DEFAULT_CONCURRENCY = 2
_DEFAULT_CAPACITY = 10
_MAX_SLOTS = 256
_MIN_MEMORY_MB = 512
_SHORTEST_WATCH_S = 0.02


class Pool(Protocol):
    """What is used of ``core.functions.pool.FunctionPool``."""

    slots: int

    async def start(self) -> None: ...

    async def call(
        self, payload: dict[str, Any], *, timeout_s: float | None = None, upstream: Upstream | None = None
    ) -> CallResult: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What a pool is made of."""

    package_dir: Path
    entity: Entity
    env: Mapping[str, str]
    size: int
    concurrency: int
    memory_limit_bytes: int | None
    on_output: Callable[[str, str, float], None]
    """stream, text, time since the epoch"""
    python: Path | None = None


class Busy(Exception):
    """Too many calls wait for a free slot."""


@dataclass(slots=True)
class _Running:
    pool: Pool
    home: Path
    start: asyncio.Task[None]
    kind: FunctionKind
    calls: int = 0
    is_held: bool = False
    used_at: float = field(default_factory=time.monotonic)


class Instances:
    """Keeps the pools of instances.

    Each running instance works in a copy of its package below `home`, so that what user code writes beside its
    sources harms neither the stored package nor another instance.
    """

    def __init__(
        self,
        functions: Functions,
        packages: Packages,
        logs: InstanceLogs,
        tasks: Tasks,
        *,
        home: Path,
        idle_s: float,
        max_waiting: int,
        make_pool: Callable[[PoolRequest], Pool] | None = None,
        traces: TraceKeeper | None = None,
        environments: Environments | None = None,
    ) -> None:
        self._functions = functions
        self._packages = packages
        self._logs = logs
        self._tasks = tasks
        self._home = home
        self._idle_s = idle_s
        self._max_waiting = max_waiting
        self._make_pool = make_pool or function_pool
        self._traces = traces
        self._environments = environments
        self._running: dict[str, _Running] = {}
        self._failures: dict[str, str] = {}
        self._starts = itertools.count(1)

    def state(self, instance_id: str) -> InstanceState:
        running = self._running.get(instance_id)
        if running is None:
            return InstanceState.UNKNOWN if instance_id in self._failures else InstanceState.INITIALISED
        return InstanceState.ACTIVE if running.start.done() else InstanceState.DEPLOYING

    def failure(self, instance_id: str) -> str | None:
        """Why the last start failed."""
        return self._failures.get(instance_id)

    def is_running(self, instance_id: str) -> bool:
        return instance_id in self._running

    def warm(self, instance: StoredInstance) -> None:
        """Start an instance's workers without waiting for them."""
        if instance.instance_id not in self._running:
            self._tasks.start(self._warm(instance))

    async def start(self, instance: StoredInstance, *, hold: bool = False) -> Pool:
        """The instance's pool, with its workers running. Raises FunctionFailed, PackageError.

        hold: keep the workers until `stop`, however idle.
        """
        running = self._running.get(instance.instance_id)
        if running is None:
            running = self._begin(instance)
        running.is_held = running.is_held or hold
        if not running.start.done():
            await asyncio.wait({running.start})
        if running.start.cancelled():
            raise FunctionFailed("The instance was stopped while it started.", kind="canceled")
        running.start.result()
        return running.pool

    async def call(
        self, instance: StoredInstance, payload: dict[str, Any], *, upstream: Upstream | None = None
    ) -> CallResult:
        """Run the function once. Raises Busy, FunctionFailed (its workers cannot start), PackageError."""
        pool = await self.start(instance)
        running = self._running.get(instance.instance_id)
        if running is None or running.pool is not pool:
            raise FunctionFailed("The instance was stopped.", kind="canceled")
        if running.calls >= pool.slots + self._max_waiting:
            raise Busy
        running.calls += 1
        try:
            result = await pool.call(payload, upstream=upstream)
        finally:
            running.calls -= 1
            running.used_at = time.monotonic()
        if result.status is CallStatus.INVALID_OUTPUT and result.error is not None:
            # Whoever called may be handed the answer all the same, as the service does; a job would not take it.
            self._logs.add(instance.instance_id, f"a job would refuse this answer: {result.error.message}")
        if result.trace or running.kind is FunctionKind.ROLLOUT:
            self.trace(instance, payload, result)
        return result

    def trace(self, instance: StoredInstance, payload: dict[str, Any], result: CallResult, *, job_id: str = "") -> None:
        """Keep the spans of a call."""
        entity = self._functions.entity(instance.entity_id) if self._traces is not None else None
        if entity is not None and self._traces is not None:
            self._traces.take(
                payload,
                result,
                function=entity.class_name,
                kind=entity.kind.value,
                env=environment(Runtime.model_validate(instance.runtime)),
                job_id=job_id,
                source="job" if job_id else "call",
            )

    async def stop(self, instance_id: str) -> None:
        running = self._running.pop(instance_id, None)
        if running is None:
            return
        running.start.cancel()
        await asyncio.gather(running.start, return_exceptions=True)
        await self._put_away(running)

    async def delete(self, instance_id: str) -> None:
        await self._functions.delete_instance(instance_id)
        await self.stop(instance_id)
        self._failures.pop(instance_id, None)
        self._logs.remove(instance_id)

    async def close(self) -> None:
        await asyncio.gather(*(self.stop(instance_id) for instance_id in list(self._running)))

    async def stop_idle(self) -> None:
        """Stop what nobody has called for a while; what is held ends with its holder."""
        limit = time.monotonic() - self._idle_s
        for instance_id, running in list(self._running.items()):
            is_in_use = running.is_held or running.calls or not running.start.done()
            if not is_in_use and running.used_at < limit:
                self._logs.add(instance_id, "idle: workers stopped, the next call starts them again")
                await self.stop(instance_id)

    async def watch(self) -> None:
        """Stop idle instances, for as long as the platform runs."""
        while True:
            await asyncio.sleep(max(_SHORTEST_WATCH_S, self._idle_s / 4))
            await self.stop_idle()

    def sweep(self) -> None:
        """Remove the working copies that a killed platform left."""
        shutil.rmtree(self._home, ignore_errors=True)

    async def _warm(self, instance: StoredInstance) -> None:
        try:
            await self.start(instance)
        except ArlError as error:
            _log.info("instance %s does not start: %s", instance.instance_id, error)

    def _begin(self, instance: StoredInstance) -> _Running:
        entity = self._functions.entity(instance.entity_id)
        if entity is None:
            raise NotFound(f"Function {instance.entity_id} not found")
        instance_id = instance.instance_id
        runtime = Runtime.model_validate(instance.runtime)
        size, concurrency = workers(runtime)
        # A name of its own for each start: the copy of the one before may still be being removed.
        home = self._home / f"{instance_id}.{next(self._starts)}"
        pool = self._make_pool(
            PoolRequest(
                package_dir=home,
                entity=entity,
                env=environment(runtime),
                size=size,
                concurrency=concurrency,
                memory_limit_bytes=memory_limit(runtime),
                on_output=lambda stream, text, time_s: self._logs.add(instance_id, text, stream=stream, time_s=time_s),
                python=self._python(runtime),
            )
        )
        source = self._packages.directory_of(entity.package_hash)
        start = asyncio.get_running_loop().create_task(self._start(instance, runtime, source, home, pool))
        running = self._running[instance_id] = _Running(pool, home, start, entity.kind)
        return running

    async def _start(self, instance: StoredInstance, runtime: Runtime, source: Path, home: Path, pool: Pool) -> None:
        instance_id = instance.instance_id
        self._failures.pop(instance_id, None)
        if runtime.layer_code:
            layer = self._functions.layer(runtime.layer_code)
            if layer is not None and layer.message:
                self._logs.add(instance_id, f"requirements {layer.message}")
        try:
            try:
                await asyncio.to_thread(_copy, source, home)
            except OSError as error:
                raise PlatformError(f"The function's files cannot be copied: {error.strerror or error}") from error
            await self._provide(instance_id, runtime)
            await pool.start()
        except ArlError as error:
            self._failures[instance_id] = error.message
            self._logs.add(instance_id, f"start failed: {error.message}")
            running = self._running.pop(instance_id, None)
            if running is not None:
                await self._put_away(running)
            raise

    def _python(self, runtime: Runtime) -> Path | None:
        """The interpreter of the layer's environment, which `_provide` makes; None for ours."""
        layer = self._functions.layer(runtime.layer_code) if runtime.layer_code else None
        return None if layer is None or self._environments is None else self._environments.python(layer.requirements)

    async def _provide(self, instance_id: str, runtime: Runtime) -> None:
        """Make the environment again where it was removed, or the layer is older than the wish for one."""
        layer = self._functions.layer(runtime.layer_code) if runtime.layer_code else None
        if layer is not None and self._environments is not None:
            await self._environments.make(layer.requirements, lambda line: self._logs.add(instance_id, line))

    async def _put_away(self, running: _Running) -> None:
        await running.pool.stop()
        await asyncio.to_thread(shutil.rmtree, running.home, ignore_errors=True)


@dataclass(slots=True)
class JobFunction:
    """Implements ``ports.OpenFunction``: an instance that belongs to one job."""

    kind: FunctionKind
    name: str
    slots: int
    instance: StoredInstance
    _pool: Pool
    _instances: Instances
    _timeout_s: float | None
    _job_id: str = ""

    async def call(self, payload: dict[str, Any], *, timeout_s: float | None = None) -> CallResult:
        result = await self._pool.call(payload, timeout_s=self._timeout_s if timeout_s is None else timeout_s)
        if result.trace or self.kind is FunctionKind.ROLLOUT:
            self._instances.trace(self.instance, payload, result, job_id=self._job_id)
        return result

    async def close(self) -> None:
        await self._instances.stop(self.instance.instance_id)


class JobFunctions:
    """Implements ``ports.FunctionOpener``."""

    def __init__(self, functions: Functions, instances: Instances) -> None:
        self._functions = functions
        self._instances = instances

    async def open(
        self, entity_id: str, *, runtime: Runtime, timeout_s: float | None, job_id: str, name: str
    ) -> JobFunction:
        entity = self._functions.entity(entity_id)
        if entity is None:
            raise NotFound(f"Function {entity_id} not found")
        instance = await self._functions.load(
            entity, runtime=runtime.model_dump(exclude_none=True), name=name, job_id=job_id
        )
        try:
            pool = await self._instances.start(instance, hold=True)
        except asyncio.CancelledError:
            # The start goes on by itself, and nobody else would ever end what is held.
            await self._instances.stop(instance.instance_id)
            raise
        return JobFunction(entity.kind, name, pool.slots, instance, pool, self._instances, timeout_s, job_id)


def workers(runtime: Runtime) -> tuple[int, int]:
    """Processes and calls at once in each, for concurrency x capacity calls in all, bounded by the machine."""
    concurrency = max(1, runtime.concurrency or _DEFAULT_CONCURRENCY)
    capacity = max(1, runtime.capacity or _DEFAULT_CAPACITY)
    slots = min(concurrency * capacity, _MAX_SLOTS)
    size = max(1, min(capacity, os.cpu_count() or 1, slots))
    return size, -(-slots // size)


def memory_limit(runtime: Runtime) -> int | None:
    """Bytes a worker may use. Sizes that no Python process fits in are taken for mistakes and not enforced."""
    megabytes = runtime.memory_size or 0
    return megabytes << 20 if megabytes >= _MIN_MEMORY_MB else None


def environment(runtime: Runtime) -> dict[str, str]:
    """The function's variables as texts; truth values in lower case, as the service passes them."""
    values = runtime.env or {}
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }


def function_pool(request: PoolRequest) -> Pool:
    """The real pool. Imported on first use: a platform that runs no function need not load it."""
    from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec

    entity = request.entity
    spec = WorkerSpec(
        package_dir=request.package_dir,
        kind=entity.kind,
        classpath=ClassPath(entity.path, entity.class_name),
        env=request.env,
        concurrency=request.concurrency,
        memory_limit_bytes=request.memory_limit_bytes,
        python=request.python,
    )
    return FunctionPool(
        spec, size=request.size, on_output=lambda line: request.on_output(line.stream, line.text, line.time_s)
    )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target)
