"""Every rollout of a job on disk: one JSON line each, found again by step, sample and rollout.

``trajectories.jsonl`` holds the lines, ``trajectories.idx`` a record of fixed size for each. A record is written
after its line, so a kill leaves at most a line that nothing points to.
"""

import math
import os
import struct
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.platform import crash

LINES, INDEX = "trajectories.jsonl", "trajectories.idx"
PHASES = ("train", "validation")
_RECORD = struct.Struct("<IBIHBQIdd")
_FAILED_ROLLOUT, _FAILED_REWARD = 1, 2
_RECORDS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one trajectory lies and what matters of it. reward and advantage are None where there is none."""

    step: int
    phase: str
    sample: int
    rollout: int
    is_failed_rollout: bool
    is_failed_reward: bool
    offset: int
    length: int
    reward: float | None
    advantage: float | None


class TrajectoryWriter:
    """Appends groups of trajectories. `write` blocks on the disk and may be called from any one thread at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _mend(folder)
        self._lock = threading.Lock()
        self._lines = (folder / LINES).open("ab")
        self._index = (folder / INDEX).open("ab")
        self._offset = self._lines.tell()

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Each record needs step, phase, sample, rollout, reward, advantage, and failure where it failed."""
        with self._lock:
            if self._lines.closed:
                return
            lines: list[bytes] = []
            index: list[bytes] = []
            offset = self._offset
            for record in records:
                line = redact(orjson.dumps(record, default=str, option=orjson.OPT_NON_STR_KEYS).decode()).encode()
                index.append(_pack(record, offset, len(line)))
                lines += (line, b"\n")
                offset += len(line) + 1
            self._lines.write(b"".join(lines))
            self._lines.flush()
            crash.point("step.trajectory")
            crash.torn("step.index", self._index.write, b"".join(index), flush=self._index.flush)
            self._index.write(b"".join(index))
            self._index.flush()
            self._offset = offset

    def close(self) -> None:
        with self._lock:
            self._lines.close()
            self._index.close()


def _mend(folder: Path) -> None:
    """Close what a kill left torn: end the last line, cut the index back to whole records."""
    lines, index = folder / LINES, folder / INDEX
    if index.exists() and (over := index.stat().st_size % _RECORD.size):
        os.truncate(index, index.stat().st_size - over)
    if lines.exists() and lines.stat().st_size:
        with lines.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def _pack(record: Mapping[str, Any], offset: int, length: int) -> bytes:
    flags = (_FAILED_ROLLOUT if record.get("failure") else 0) | (
        _FAILED_REWARD if record.get("reward") is None and not record.get("failure") else 0
    )
    return _RECORD.pack(
        record["step"],
        PHASES.index(record["phase"]),
        record["sample"],
        record["rollout"],
        flags,
        offset,
        length,
        _float(record.get("reward")),
        _float(record.get("advantage")),
    )


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


class _Steps:
    """The step of each record of an index. Steps are written one after the other, so they only rise."""

    def __init__(self, file: BinaryIO, count: int) -> None:
        self._file = file
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> int:
        raw = os.pread(self._file.fileno(), 4, place * _RECORD.size)
        return int.from_bytes(raw, "little")


class TrajectoryReader:
    """Reads what a writer wrote, also while it goes on writing. Every call opens the files anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self, *, step: int | None = None, phase: str | None = None) -> Iterator[Entry]:
        """In the order of writing. A torn record at the end is passed over. A step alone is found by bisection."""
        wanted = None if phase is None else PHASES.index(phase) if phase in PHASES else -1
        for fields in self._records(step):
            if wanted is None or fields[1] == wanted:
                yield _entry(fields)

    def _records(self, step: int | None) -> Iterator[tuple[Any, ...]]:
        try:
            file = (self._folder / INDEX).open("rb")
        except FileNotFoundError:
            return
        with file:
            count = os.fstat(file.fileno()).st_size // _RECORD.size
            first, last = 0, count
            if step is not None:
                steps = _Steps(file, count)
                first, last = bisect_left(steps, step), bisect_right(steps, step)
            file.seek(first * _RECORD.size)
            while first < last:
                taken = min(last - first, _RECORDS_AT_ONCE)
                yield from _RECORD.iter_unpack(file.read(taken * _RECORD.size))
                first += taken

    def steps(self) -> list[dict[str, Any]]:
        """Each step and phase with its counts and mean reward, in order."""
        sums: dict[tuple[int, int], list[float]] = {}
        for step, phase, _, _, flags, _, _, reward, _ in self._records(None):
            totals = sums.setdefault((step, phase), [0, 0, 0, 0, 0.0])
            totals[0] += 1
            totals[1] += bool(flags & _FAILED_ROLLOUT)
            totals[2] += bool(flags & _FAILED_REWARD)
            if reward == reward:  # not NaN
                totals[3] += 1
                totals[4] += reward
        return [
            {
                "step": step,
                "phase": PHASES[phase],
                "rollouts": int(totals[0]),
                "failed_rollouts": int(totals[1]),
                "failed_rewards": int(totals[2]),
                "reward_mean": totals[4] / totals[3] if totals[3] else None,
            }
            for (step, phase), totals in sorted(sums.items())
        ]

    def samples(self, step: int, *, phase: str = "train") -> list[dict[str, Any]]:
        """Each sample of a step with the rewards of its rollouts, None where one failed."""
        groups: dict[int, list[Entry]] = {}
        for entry in self.entries(step=step, phase=phase):
            groups.setdefault(entry.sample, []).append(entry)
        return [_sample(sample, sorted(group, key=lambda entry: entry.rollout)) for sample, group in groups.items()]

    def group(self, step: int, sample: int, *, phase: str = "train") -> list[dict[str, Any]]:
        """The whole trajectories of one sample in the order of its rollouts."""
        found = [entry for entry in self.entries(step=step, phase=phase) if entry.sample == sample]
        return self._read(sorted(found, key=lambda entry: entry.rollout))

    def _read(self, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        if not entries:
            return []
        with (self._folder / LINES).open("rb") as file:
            found = []
            for entry in entries:
                file.seek(entry.offset)
                found.append(orjson.loads(file.read(entry.length)))
            return found


def _entry(fields: tuple[Any, ...]) -> Entry:
    step, phase, sample, rollout, flags, offset, length, reward, advantage = fields
    return Entry(
        step,
        PHASES[phase],
        sample,
        rollout,
        bool(flags & _FAILED_ROLLOUT),
        bool(flags & _FAILED_REWARD),
        offset,
        length,
        None if math.isnan(reward) else reward,
        None if math.isnan(advantage) else advantage,
    )


def _sample(sample: int, group: Sequence[Entry]) -> dict[str, Any]:
    known = [entry.reward for entry in group if entry.reward is not None]
    spread = max(known) - min(known) if known else None
    return {
        "sample": sample,
        "rollouts": [entry.rollout for entry in group],
        "rewards": [entry.reward for entry in group],
        "advantages": [entry.advantage for entry in group],
        "reward_mean": sum(known) / len(known) if known else None,
        "is_zero_variance": spread is not None and len(known) > 1 and spread <= 1e-9,
        "failed_rollouts": sum(entry.is_failed_rollout for entry in group),
        "failed_rewards": sum(entry.is_failed_reward for entry in group),
    }
