"""A job's functions with their workers running, and the calls made to them."""

import asyncio
import logging
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.models.job_request import FunctionEntry, JobRequest
from agentic_rl_tui.core.platform.engine.scoring import check_weights
from agentic_rl_tui.core.platform.ports import FunctionOpener, OpenFunction

_RETRIED = frozenset({CallStatus.FAILED, CallStatus.TIMEOUT, CallStatus.RAISED, CallStatus.DIED})
CLOSE_LIMIT_S = 0.8
_DEFAULT_TIMEOUT_S = {FunctionKind.ROLLOUT: 600.0, FunctionKind.REWARD: 120.0, FunctionKind.GROUP_REWARD: 120.0}

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Function:
    """One function of the job. latencies holds the seconds of each call, failures counts calls by how they ended."""

    entry: FunctionEntry
    open: OpenFunction
    name: str
    weight: float
    timer: Callable[[], float] = time.perf_counter
    latencies: "array[float]" = field(default_factory=lambda: array("f"))
    failures: dict[str, int] = field(default_factory=dict)
    retries: int = 0
    running: int = 0
    gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.gate = asyncio.Semaphore(max(1, self.open.slots))

    @property
    def kind(self) -> FunctionKind:
        return self.open.kind

    @property
    def timeout_s(self) -> float:
        """What the job says, else the limits that the service advises: without one a hanging call would hold a job."""
        return self.entry.timeout or _DEFAULT_TIMEOUT_S[self.kind]

    @property
    def title(self) -> str:
        """How texts name it, e.g. ``reward 'answer'``."""
        return f"{self.kind.value.replace('_', ' ')} {self.name!r}"

    async def call(self, payload: dict[str, Any]) -> CallResult:
        """One call, after a free slot was waited for."""
        async with self.gate:
            began = self.timer()
            self.running += 1
            try:
                result = await self.open.call(payload, timeout_s=self.timeout_s)
            finally:
                self.running -= 1
            self.latencies.append(self.timer() - began)
        if not result.is_ok:
            self.failures[result.status.value] = self.failures.get(result.status.value, 0) + 1
        return result

    async def call_again(self, make_payload: Callable[[int], dict[str, Any]], attempts: int) -> tuple[CallResult, int]:
        """Call up to `attempts` times while a fault may pass. Gives the last result and the number of the attempt."""
        attempt = 1
        while True:
            result = await self.call(make_payload(attempt))
            if result.status not in _RETRIED or attempt >= attempts:
                return result, attempt
            attempt += 1
            self.retries += 1


@dataclass(frozen=True, slots=True)
class JobFunctions:
    """rollout is None where the platform generates by itself."""

    rollout: Function | None = None
    rewards: tuple[Function, ...] = ()
    group_rewards: tuple[Function, ...] = ()

    @property
    def all(self) -> tuple[Function, ...]:
        return (*((self.rollout,) if self.rollout else ()), *self.rewards, *self.group_rewards)

    @property
    def has_rewards(self) -> bool:
        return bool(self.rewards or self.group_rewards)

    @property
    def slots(self) -> int:
        return max((function.open.slots for function in self.all), default=16)

    def waited_for(self) -> str:
        """What runs just now, in words: ``rollout 'agent' 12 calls``."""
        running = [f"{function.title} {function.running} calls" for function in self.all if function.running]
        return ", ".join(running) or "nothing"

    async def close(self) -> None:
        """Stop all workers at once. Waits a moment at most; what hangs goes on stopping behind our back."""
        await _close([function.open for function in self.all])


def runtime_of(entry: FunctionEntry) -> Runtime:
    """The runtime's fields, which lie flat beside the entry's own."""
    return Runtime.model_validate(entry.extra)


async def open_functions(
    opener: FunctionOpener, request: JobRequest, job_id: str, *, timer: Callable[[], float] = time.perf_counter
) -> JobFunctions:
    """Start the workers of every function of a job at once; on failure none is left running.

    Raises what the opener raises, ConfigError for entries that name no function.
    """
    entries = [*([request.rollout] if request.rollout else []), *request.rewards]
    for entry in entries:
        if entry.entity_id is None:
            raise ConfigError("a function of the job has no id", advice="Register the functions before submitting.")
    tasks = [
        asyncio.ensure_future(_open(opener, entry, job_id, number, timer)) for number, entry in enumerate(entries, 1)
    ]
    try:
        opened = await asyncio.gather(*tasks)
        functions = _sorted(opened, has_rollout=request.rollout is not None)
    except BaseException:
        await _close_opened(tasks)
        raise
    return functions


async def _open(
    opener: FunctionOpener, entry: FunctionEntry, job_id: str, number: int, timer: Callable[[], float]
) -> Function:
    name = entry.name or f"function-{number}"
    opened = await opener.open(
        entry.entity_id or "", runtime=runtime_of(entry), timeout_s=entry.timeout, job_id=job_id, name=name
    )
    return Function(entry, opened, name, 1.0 if entry.weight is None else entry.weight, timer)


def _sorted(opened: Sequence[Function], *, has_rollout: bool) -> JobFunctions:
    rollout = opened[0] if has_rollout else None
    if rollout is not None and rollout.kind is not FunctionKind.ROLLOUT:
        raise ConfigError(f"{rollout.title} stands in the job's rollout field", advice="Give a rollout function there.")
    rewards = opened[1:] if has_rollout else opened
    wrong = next((item for item in rewards if item.kind is FunctionKind.ROLLOUT), None)
    if wrong is not None:
        raise ConfigError(f"{wrong.title} stands among the rewards", advice="Only reward functions belong there.")
    _tell_apart(opened)
    check_weights({item.name: item.weight for item in rewards})
    return JobFunctions(
        rollout,
        tuple(item for item in rewards if item.kind is FunctionKind.REWARD),
        tuple(item for item in rewards if item.kind is FunctionKind.GROUP_REWARD),
    )


def _tell_apart(functions: Sequence[Function]) -> None:
    """Give functions of the same name a number, since metrics and reports go by name."""
    seen: dict[str, int] = {}
    for function in functions:
        seen[function.name] = seen.get(function.name, 0) + 1
        if seen[function.name] > 1:
            function.name = f"{function.name}-{seen[function.name]}"


async def _close_opened(tasks: "Sequence[asyncio.Task[Function]]") -> None:
    """Close what was opened; a function that opens in spite of being cancelled is closed when it has."""
    for task in tasks:
        task.cancel()
    done, late = await asyncio.wait(tasks, timeout=CLOSE_LIMIT_S)
    for task in late:
        task.add_done_callback(_close_late)
    opened = [task.result() for task in done if not task.cancelled() and task.exception() is None]
    await _close([function.open for function in opened])


def _close_late(task: "asyncio.Task[Function]") -> None:
    if not task.cancelled() and task.exception() is None:
        _keep(asyncio.ensure_future(_close([task.result().open])))


async def _close(opened: Sequence[OpenFunction]) -> None:
    closing = [_keep(asyncio.ensure_future(function.close())) for function in opened]
    if closing:
        await asyncio.wait(closing, timeout=CLOSE_LIMIT_S)


def _keep(task: "asyncio.Task[None]") -> "asyncio.Task[None]":
    """Hold on to a task until it ends, and tell of its failure."""
    _ending.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: "asyncio.Task[None]") -> None:
    _ending.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the workers of a function could not be stopped", exc_info=error)


_ending: "set[asyncio.Task[None]]" = set()
