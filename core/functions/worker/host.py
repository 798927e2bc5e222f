"""A worker's life: take over the given descriptors, import the user's class, set it up, serve its calls."""

from __future__ import annotations

import faulthandler
import importlib
import inspect
import mmap
import os
import signal
import socket
import sys
import threading
from time import perf_counter
from typing import Any, NoReturn

from agentic_rl_tui.core.functions.frames import frame
from agentic_rl_tui.core.functions.processors.loading import import_class, instantiate
from agentic_rl_tui.core.functions.worker import faults, traced
from agentic_rl_tui.core.functions.worker.ends import StartedCount, leave
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.functions.worker.output import attach_logger, attach_streams
from agentic_rl_tui.core.functions.worker.runtime import Runtime
from agentic_rl_tui.core.functions.worker.serving import Serving
from agentic_rl_tui.core.functions.worker.subs import SubWatch
from agentic_rl_tui.core.functions.worker.ticker import Ticker

_STACK_OFFSET = 64
_TICK_S = 0.002


class _Failed(Exception):
    """A step before the first call failed; `error` is ready to be sent."""

    def __init__(self, stage: str, error: dict[str, str]) -> None:
        super().__init__(stage)
        self.stage = stage
        self.error = error


class _Place:
    """The surroundings that user code sees."""

    def __init__(self, runtime: Runtime, config: dict[str, Any], fds: list[int]) -> None:
        socket_fd, stdout_fd, stderr_fd, memory_fd = fds
        self.sock = socket.socket(fileno=socket_fd)
        self.sock.setblocking(True)
        self.outlet = Outlet(self.sock)
        self.memory = mmap.mmap(memory_fd, 8)
        os.lseek(memory_fd, _STACK_OFFSET, os.SEEK_SET)
        faulthandler.register(signal.SIGUSR1, file=memory_fd, all_threads=True)
        attach_streams(stdout_fd, stderr_fd)
        faulthandler.enable(file=sys.stderr)
        attach_logger(runtime.logger, self.outlet)
        traced.attach(self.outlet)
        self.package_dir = config["package_dir"]
        os.chdir(self.package_dir)
        sys.path[:] = [self.package_dir, *(entry for entry in sys.path if entry and entry != self.package_dir)]
        sys.argv[:] = [config["module"]]
        self.ticker = Ticker(_TICK_S)
        self._load_s = 0.0
        self._loaded_at = 0.0

    def watch(self, load_s: float) -> None:
        """From here on logged lines leave by themselves, a moment after they were written."""
        self._load_s, self._loaded_at = load_s, perf_counter()
        self.ticker.jobs.append(self.outlet.flush)
        self.ticker.start()
        self.outlet.flush_by(self.ticker.kick)

    def ready(self, *, is_async: bool) -> None:
        setup_s = perf_counter() - self._loaded_at
        self.outlet.send(frame("ready", is_async=is_async, load_s=self._load_s, setup_s=setup_s, pid=os.getpid()))

    def fail(self, stage: str, error: dict[str, str]) -> NoReturn:
        self.outlet.send(frame("failed", stage=stage, error=error))
        leave(1)


def become_worker(runtime: Runtime, config: dict[str, Any], fds: list[int], loaded: type[Any] | None) -> NoReturn:
    """Serve calls until the pool closes its end."""
    place = _Place(runtime, config, fds)
    _limit_memory(config)
    if loaded is not None:
        _refresh_randomness()
    _detach_forks(place)
    begun = perf_counter()
    try:
        cls = loaded or _load(runtime, config)
        processor = _construct(runtime, cls, place.package_dir)
    except _Failed as failure:
        place.fail(failure.stage, failure.error)
    place.watch(perf_counter() - begun)
    kinds = [inspect.iscoroutinefunction(method) for method in (processor.setup, processor.process)]
    if any(kinds):
        from agentic_rl_tui.core.functions.worker.loop import run_on_loop

        run_on_loop(_serve_async(runtime, config, place, processor, *kinds))
    _set_up(place, processor)
    _serve_sync(runtime, config, place, processor)
    while True:
        threading.Event().wait()


def become_template(runtime: Runtime, config: dict[str, Any], fds: list[int]) -> tuple[socket.socket, type[Any]] | None:
    """Import the class and say whether this process may be forked into workers. None when not."""
    place = _Place(runtime, config, fds)
    before = _open_fds()
    try:
        cls = _load(runtime, config)
    except _Failed as failure:
        place.outlet.send(frame("failed", stage=failure.stage, error=failure.error))
        return None
    obstacle = _fork_obstacle(before)
    place.outlet.send(frame("template", forkable=not obstacle, obstacle=obstacle))
    return None if obstacle else (place.sock, cls)


def _fork_obstacle(before: set[str]) -> str:
    """Why the state that an import left behind cannot be shared by several processes."""
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
        return "the module starts threads when it is imported"
    if _open_fds() - before:
        return "the module opens files or connections when it is imported"
    return ""


def _open_fds() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def _load(runtime: Runtime, config: dict[str, Any]) -> type[Any]:
    kind, name = config["kind"], config["class_name"]
    traced.prepare()
    try:
        cls = import_class(config["module"], name)
    except BaseException as error:
        raise _Failed("import", _told(error, config["package_dir"], "while the module was imported")) from error
    for other, base in runtime.bases.items():
        if other != kind and issubclass(cls, base):
            message = f"{name} is a {other} processor and cannot serve as {kind}"
            raise _Failed("import", faults.problem("TypeError", message))
    traced.prepare()
    return cls


def _construct(runtime: Runtime, cls: type[Any], package_dir: str) -> Any:
    try:
        return instantiate(cls, runtime.processor)
    except BaseException as error:
        raise _Failed("construct", _told(error, package_dir, "while the class was constructed")) from error


async def _serve_async(
    runtime: Runtime, config: dict[str, Any], place: _Place, processor: Any, setup_is_async: bool, is_async: bool
) -> None:
    """Set up and serve with a running loop, which also a plain ``process`` may use when ``setup`` is async."""
    import asyncio

    if setup_is_async:
        try:
            await processor.setup()
        except BaseException as error:
            place.fail("setup", _told(error, place.package_dir, "in setup"))
    else:
        await asyncio.to_thread(_set_up, place, processor)
    if not is_async:
        _serve_sync(runtime, config, place, processor)
        return
    from agentic_rl_tui.core.functions.worker.async_runner import AsyncRunner

    serving = _serving(runtime, config, place, processor)
    AsyncRunner(serving, place.sock, place.outlet, StartedCount(place.memory)).start(asyncio.get_running_loop())
    place.ready(is_async=True)


def _set_up(place: _Place, processor: Any) -> None:
    try:
        processor.setup()
    except BaseException as error:
        place.fail("setup", _told(error, place.package_dir, "in setup"))


def _serve_sync(runtime: Runtime, config: dict[str, Any], place: _Place, processor: Any) -> None:
    from agentic_rl_tui.core.functions.worker.sync_runner import SyncRunner

    serving = _serving(runtime, config, place, processor)
    started = StartedCount(place.memory)
    SyncRunner(serving, place.sock, place.outlet, started, place.ticker, config["concurrency"]).start()
    place.ready(is_async=False)


def _serving(runtime: Runtime, config: dict[str, Any], place: _Place, processor: Any) -> Serving:
    traced.prepare()
    watch = SubWatch(processor, own=runtime.source == "own")
    return Serving(runtime, config["kind"], processor, place.package_dir, watch)


def _told(error: BaseException, package_dir: str, when: str) -> dict[str, str]:
    told = faults.describe(error, package_dir)
    if isinstance(error, SystemExit):
        told["message"] = f"sys.exit({error.code!r}) was called {when}"
    return told


def _limit_memory(config: dict[str, Any]) -> None:
    """Let an allocation far over the limit fail at once, as MemoryError at its line.

    The limit itself is kept by the keeper, which sees what is really in use; this one counts reserved memory, so it
    leaves room for the stacks of threads.
    """
    limit = config.get("memory_limit")
    if not limit:
        return
    import resource

    room = (64 << 20) + (config["concurrency"] + 8) * (8 << 20)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limit + room
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def _refresh_randomness() -> None:
    """Give a fork its own random numbers; Python's own generator does so by itself."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        importlib.import_module("numpy.random").seed()


def _detach_forks(place: _Place) -> None:
    """A child that user code forks must not hold, read or write the frame socket."""
    fd, pid = place.sock.fileno(), os.getpid()

    def detach() -> None:
        if os.getpid() != pid:
            os.close(fd)
            place.outlet.forget()

    os.register_at_fork(after_in_child=detach)
