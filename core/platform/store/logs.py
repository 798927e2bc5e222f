"""The logs of jobs and of function instances, each a line file of its own."""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.store import lines
from agentic_rl_tui.core.platform.store.line_cache import LineCache
from agentic_rl_tui.core.platform.store.lines import LineFile

MAX_LINE_CHARS = 64 * 1024
"""Longer lines are cut, with a note of how much is missing."""

_log = logging.getLogger(__name__)


class LogUnwritable(PlatformError, OSError):
    """A line did not reach the disk. Told like our other errors, and an OSError to those who expect one of a file."""


class JobLogs:
    """Implements ``ports.JobLog`` and reads pages. Rings the bell with the job's id after each append."""

    def __init__(self, directory: Path, bell: Bell) -> None:
        self._directory = directory
        self._bell = bell
        self._files = LineCache()

    async def append(self, job_id: str, lines_: Sequence[str]) -> None:
        encoded = [encode_line(part) for line in lines_ for part in lines.split_lines(line)]
        path = self._path(job_id)
        try:
            await self._files.prepare(path)
            with self._files.using(path) as file:
                file.append(encoded)
        except OSError as error:
            raise LogUnwritable(
                f"{path} cannot be written: {error.strerror}", advice="Check the disk's free space and permissions."
            ) from error
        self._bell.ring(job_id)

    async def read(self, job_id: str, offset: int, count: int) -> tuple[list[str], int]:
        """Lines offset+1 .. offset+count, and how many the log has. A job without a log has none."""
        path = self._path(job_id)
        await self._files.prepare(path)
        if not self._files.exists(path):
            return [], 0
        with self._files.using(path) as file:
            if offset >= file.total or count <= 0:
                return [], file.total
            raw = await asyncio.to_thread(file.read, offset, count)
            return [line.decode("utf-8", "replace") for line in raw], file.total

    async def last(self, job_id: str) -> str | None:
        _, total = await self.read(job_id, 0, 0)
        found, _ = await self.read(job_id, total - 1, 1) if total else ([], 0)
        return found[0] if found else None

    def remove(self, job_id: str) -> None:
        self._files.remove(self._path(job_id))

    def ids(self) -> set[str]:
        """The jobs that have a log on disk."""
        return {path.stem for path in self._directory.glob("*.log")}

    def close(self) -> None:
        self._files.close()

    def _path(self, job_id: str) -> Path:
        return self._directory / f"{job_id}.log"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of an instance. time_s in seconds since the epoch."""

    time_s: float
    stream: str
    text: str


class InstanceLogs:
    """What function instances print: time, stream and text; of each the newest `max_bytes` to twice that are kept."""

    def __init__(self, directory: Path, *, max_bytes: int = 32 << 20) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._files = LineCache()
        self._pending: dict[str, list[LogEntry]] = {}
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(tuple[float, str, str])

    def add(self, instance_id: str, text: str, *, stream: str = "worker", time_s: float | None = None) -> None:
        """Note what an instance said; it is on disk a moment later, and at once for `query`."""
        moment = time.time() if time_s is None else time_s
        entries = [LogEntry(moment, stream, part) for part in lines.split_lines(text)]
        waiting = self._pending.get(instance_id)
        if waiting is not None:
            waiting += entries
            return
        self._pending[instance_id] = entries
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write what waits. Lines that the disk refuses are dropped: a full disk must not stop a function."""
        pending, self._pending = self._pending, {}
        for instance_id, entries in pending.items():
            try:
                self._write(instance_id, entries)
            except OSError as error:
                _log.warning("the log of %s cannot be written: %s", instance_id, error)

    async def query(
        self,
        instance_id: str,
        *,
        page: int,
        size: int,
        start_s: float | None = None,
        end_s: float | None = None,
        keywords: Sequence[str] = (),
    ) -> tuple[list[LogEntry], int]:
        """One page, oldest first, and how many entries match. An entry must hold every keyword, in any case.

        start_s and end_s are whole seconds, both included.
        """
        self.flush()
        wanted = tuple(keyword.casefold() for keyword in keywords if keyword)
        is_filtered = start_s is not None or end_s is not None or bool(wanted)
        with ExitStack() as stack:
            for path in self._paths(instance_id):
                await self._files.prepare(path)
            paths = [path for path in self._paths(instance_id) if self._files.exists(path)]
            files = [stack.enter_context(self._files.using(path)) for path in paths]
            skip = (page - 1) * size
            if not is_filtered:
                return await asyncio.to_thread(self._page, files, skip, size)
            return await asyncio.to_thread(self._search, files, skip, size, start_s, end_s, wanted)

    def remove(self, instance_id: str) -> None:
        self._pending.pop(instance_id, None)
        for path in self._paths(instance_id):
            self._files.remove(path)

    def ids(self) -> set[str]:
        """The instances that have a log on disk."""
        return {path.name.split(".")[0] for path in self._directory.glob("*.log")}

    def close(self) -> None:
        self.flush()
        self._files.close()

    def _paths(self, instance_id: str) -> tuple[Path, Path]:
        """The older and the newer file."""
        return self._directory / f"{instance_id}.1.log", self._directory / f"{instance_id}.log"

    def _write(self, instance_id: str, entries: list[LogEntry]) -> None:
        older, newer = self._paths(instance_id)
        with self._files.using(newer) as file:
            file.append([self._encoder.encode((entry.time_s, entry.stream, cut(entry.text))) for entry in entries])
            is_full = file.size > self._max_bytes
        if is_full:
            self._files.forget(older)
            self._files.forget(newer)
            os.replace(newer, older)
            os.replace(lines.index_path(newer), lines.index_path(older))

    def _page(self, files: list[LineFile], skip: int, size: int) -> tuple[list[LogEntry], int]:
        found: list[LogEntry] = []
        total = 0
        for file in files:
            wanted = size - len(found)
            found += map(self._entry, file.read(max(skip - total, 0), wanted, max_bytes=sys.maxsize))
            total += file.total
        return found, total

    def _search(
        self,
        files: list[LineFile],
        skip: int,
        size: int,
        start_s: float | None,
        end_s: float | None,
        wanted: tuple[str, ...],
    ) -> tuple[list[LogEntry], int]:
        found: list[LogEntry] = []
        matched = 0
        for file in files:
            for first in range(0, file.total, 1000):
                for entry in map(self._entry, file.read(first, 1000, max_bytes=sys.maxsize)):
                    if not _matches(entry, start_s, end_s, wanted):
                        continue
                    if skip <= matched < skip + size:
                        found.append(entry)
                    matched += 1
        return found, matched

    def _entry(self, line: bytes) -> LogEntry:
        return LogEntry(*self._decoder.decode(line))


def _matches(entry: LogEntry, start_s: float | None, end_s: float | None, wanted: tuple[str, ...]) -> bool:
    second = int(entry.time_s)
    if start_s is not None and second < start_s:
        return False
    if end_s is not None and second > end_s:
        return False
    text = entry.text.casefold() if wanted else ""
    return all(keyword in text for keyword in wanted)


def cut(text: str) -> str:
    """Shorten an overlong line, saying by how much."""
    if len(text) <= MAX_LINE_CHARS:
        return text
    return f"{text[:MAX_LINE_CHARS]}… [{len(text) - MAX_LINE_CHARS} more characters]"


def encode_line(line: str) -> bytes:
    """Bytes of a line; half surrogates, which no UTF-8 can carry, become ``?``."""
    return cut(line).encode("utf-8", "replace")
