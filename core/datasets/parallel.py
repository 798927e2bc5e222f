"""Scanning a file with several processes, each taking the next range when it is done with one."""

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from agentic_rl_tui.core.datasets.findings import Findings, Options
from agentic_rl_tui.core.datasets.frames import receive, send
from agentic_rl_tui.core.i18n import N_, _, language
from agentic_rl_tui.core.models.errors import ArlError

_TICK_S = 0.05


class WorkerDied(ArlError):
    """A checking process ended before its work."""

    default_advice = N_("Try again; if it stays, the machine may be short of memory.")


class _Ranges:
    """Hands out ranges in order and collects what was found in them. Used from several threads."""

    def __init__(self, ranges: list[tuple[int, int]], keep: int) -> None:
        self.ranges = ranges
        self.results: list[Findings | None] = [None] * len(ranges)
        self.keep = keep
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> tuple[int, int, int, tuple[str, ...]] | None:
        """Place, start and end of the next range, and the rules of which the finished ones before it hold enough."""
        with self._lock:
            place = self._next
            if place == len(self.ranges):
                return None
            self._next += 1
            kept: dict[str, int] = {}
            for result in self.results[:place]:
                for rule, problems in result.kept.items() if result else ():
                    kept[rule] = kept.get(rule, 0) + len(problems)
            full = tuple(rule for rule, count in kept.items() if count >= self.keep)
            return place, *self.ranges[place], full

    def put(self, place: int, found: Findings) -> None:
        with self._lock:
            self.results[place] = found


def scan_parallel(
    path: str,
    ranges: list[tuple[int, int]],
    options: Options,
    *,
    workers: int,
    tick: Callable[[int], None],
) -> Findings:
    """Scan all ranges and merge them in their order.

    tick is called in the caller's thread several times a second with the bytes done; what it raises ends the
    processes and goes on to the caller. Raises WorkerDied, and OSError when no process can be started.
    """
    work = _Ranges(ranges, options.keep)
    news: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
    with _processes(workers, path, options) as processes:
        threads = [threading.Thread(target=_drive, args=(process, work, news), daemon=True) for process in processes]
        for thread in threads:
            thread.start()
        try:
            _wait(len(ranges), news, tick)
        except BaseException:
            for process in processes:
                process.kill()
            raise
        finally:
            for thread in threads:
                thread.join()
    merged = Findings(options.keep)
    for found in work.results:
        if found is not None:
            merged.merge(found)
    return merged


def _wait(count: int, news: "queue.SimpleQueue[int | BaseException]", tick: Callable[[int], None]) -> None:
    done = 0
    while count:
        try:
            item = news.get(timeout=_TICK_S)
        except queue.Empty:
            tick(done)
            continue
        if isinstance(item, BaseException):
            raise item
        done += item
        count -= 1
        tick(done)


def _drive(process: "subprocess.Popen[bytes]", work: _Ranges, news: "queue.SimpleQueue[int | BaseException]") -> None:
    """Feed one process until no range is left. Whatever goes wrong is news for the caller's thread."""
    sink, source = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
    try:
        while (task := work.take()) is not None:
            place, start, end, full = task
            send(sink, (start, end, full))
            answer = receive(source)
            if answer is None:
                raise BrokenPipeError
            work.put(place, Findings.unpack(work.keep, answer))
            news.put(end - start)
    except OSError:
        news.put(_death(process))


def _death(process: "subprocess.Popen[bytes]") -> WorkerDied:
    code = process.wait()
    words = process.stderr.read().decode("utf-8", "replace").strip().splitlines() if process.stderr else []
    how = signal.Signals(-code).name if code < 0 else _("exit code {code}").format(code=code)
    last = f": {words[-1]}" if words else ""
    return WorkerDied(_("a checking process ended unexpectedly ({how}){last}").format(how=how, last=last))


@contextmanager
def _processes(count: int, path: str, options: Options) -> "Iterator[list[subprocess.Popen[bytes]]]":
    """Running workers that know the file; all are gone afterwards."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        # One after another, so that those which did start are ended when the next cannot.
        processes.extend(_start() for _ in range(count))
        for process in processes:
            with suppress(BrokenPipeError):
                send(cast(BinaryIO, process.stdin), (path, tuple(options), language()))
        yield processes
    finally:
        for process in processes:
            _end(process)


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # -P: the user's folder must not lend its modules.
        [sys.executable, "-P", "-m", "agentic_rl_tui.core.datasets.scan_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
