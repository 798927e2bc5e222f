"""Files of rollouts, one JSON object a line, read as the trajectories of a job are: steps, samples, groups.

Only where each rollout lies and what a list shows of it is kept; the rollouts themselves are read when they are wanted.
"""

import json
import math
import os
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from agentic_rl_tui.core.datasets import CheckCanceled
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import InputError, NotFound
from agentic_rl_tui.core.models.jsonwords import in_words
from agentic_rl_tui.core.sdk.dumpfields import Head, heads, looks_like_rollouts, number_of, quick_head, records
from agentic_rl_tui.core.sdk.dumpfiles import DumpFile, files_of

LONGEST_LINE = 8 << 20
"""Longer lines are passed over, so that memory stays bounded."""
_BOM = b"\xef\xbb\xbf"
_TOLD_EVERY = 4 << 20
_MOST_NAMED = 100
_FIRST_ROWS = 20
_FAILED = 1


class DumpChanged(InputError):
    """The file is another one than the one that was indexed."""

    default_advice = N_("Open it again.")


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that holds no rollout, and why. Lines count from 1."""

    line: int
    why: str
    file: str = ""


@dataclass(slots=True)
class _Step:
    """What is added up of a step while its rollouts are met."""

    number: int
    phase: str
    rows: "array[int]" = field(default_factory=lambda: array("I"))
    failed_rollouts: int = 0
    failed_rewards: int = 0
    scored: int = 0
    total: float = 0.0

    def page(self) -> dict[str, Any]:
        return {
            "step": self.number,
            "phase": self.phase,
            "rollouts": len(self.rows),
            "failed_rollouts": self.failed_rollouts,
            "failed_rewards": self.failed_rewards,
            "reward_mean": self.total / self.scored if self.scored else None,
        }


class Dump:
    """The index of a file or a folder: about 35 bytes a rollout. Safe in several threads; close it in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: list[tuple[DumpFile, int, tuple[int, int]]] = []
        """Each file with its first rollout and what tells it from another one of the same name."""
        self._held: BinaryIO | None = None
        """The one file, which may be removed while it is looked at; those of a folder are opened when they are read."""
        self._offsets = array("Q")
        self._parts = array("I")
        self._samples = array("q")
        self._rewards = array("d")
        self._flags = array("B")
        self._steps: dict[tuple[int, str], _Step] = {}
        self._names: dict[bytes, int] = {}
        self._greatest = -1
        self._low, self._high = math.inf, -math.inf
        self._grouped: tuple[_Step | None, dict[int, list[int]]] = (None, {})
        self.size = self._told_at = 0
        self.unread_count = 0
        self.unread: list[Unread] = []
        """The first lines that could not be read."""

    def __len__(self) -> int:
        return len(self._offsets)

    def __enter__(self) -> "Dump":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def file_count(self) -> int:
        return len(self._files)

    def close(self) -> None:
        if self._held is not None:
            self._held.close()

    # Reading

    def bounds(self) -> tuple[float, float] | None:
        """The least and greatest reward of all; None where there is none."""
        return (self._low, self._high) if self._low <= self._high else None

    def page(self, *, step: int | None = None, sample: int | None = None, phase: str = "train") -> dict[str, Any]:
        """Without a step the steps there are, with one its samples, with a sample too the whole rollouts of its group.

        The same shape as the pages of a job. Raises NotFound, and DumpChanged when the file was written anew.
        """
        if step is None:
            return {"steps": [self._steps[key].page() for key in sorted(self._steps)], **self._told()}
        found = self._steps.get((step, phase))
        if found is None:
            raise NotFound(
                _("{file} has no {phase} step {step}").format(file=self.path.name, phase=phase, step=step),
                advice=_("List the steps without --step."),
            )
        groups = self._groups(found)
        if sample is None:
            samples = [self._sample_page(number, groups[number]) for number in sorted(groups)]
            return {"step": step, "phase": phase, "samples": samples}
        if sample not in groups:
            raise NotFound(
                _("step {step} of {file} has no sample {sample}").format(step=step, file=self.path.name, sample=sample),
                advice=_("List the samples of the step without --sample."),
            )
        rollouts = self._rollouts(groups[sample], step, phase, sample)
        return {"step": step, "phase": phase, "sample": sample, "rollouts": rollouts}

    def _told(self) -> dict[str, Any]:
        first = [{"file": item.file, "line": item.line, "why": item.why} for item in self.unread]
        return {"file": str(self.path), "rollouts": len(self), "unread": {"count": self.unread_count, "first": first}}

    def _groups(self, step: _Step) -> dict[int, list[int]]:
        """The rollouts of each sample of a step; the step that was asked for last is kept."""
        known, groups = self._grouped
        if known is not step:
            groups = {}
            for row in step.rows:
                groups.setdefault(self._number(self._samples[row]), []).append(row)
            self._grouped = (step, groups)
        return groups

    def _number(self, sample: int) -> int:
        """Samples that are called by words get the numbers after those that are called by one."""
        return sample if sample >= 0 else self._greatest - sample

    def _sample_page(self, number: int, rows: Iterable[int]) -> dict[str, Any]:
        given = [(self._rewards[row], self._flags[row]) for row in rows]
        rewards = [None if math.isnan(reward) else reward for reward, _flag in given]
        known = [reward for reward in rewards if reward is not None]
        failed = sum(flag & _FAILED for _reward, flag in given)
        return {
            "sample": number,
            "rollouts": len(rewards),
            "rewards": rewards,
            "reward_mean": math.fsum(known) / len(known) if known else None,
            "failed_rollouts": failed,
            "failed_rewards": sum(math.isnan(reward) and not flag & _FAILED for reward, flag in given),
        }

    def _rollouts(self, rows: Iterable[int], step: int, phase: str, sample: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for row in rows:
            try:
                value = _parsed(self._line(row))
                record = records(value)[self._parts[row]]
            except (ValueError, IndexError, OSError) as error:
                raise DumpChanged(_("{file} changed on disk").format(file=self.path.name)) from error
            found.append(record | {"step": step, "phase": phase, "sample": sample})
        numbers = [number_of(record) for record in found]
        is_numbered = None not in numbers and len(set(numbers)) == len(numbers)
        for place, record in enumerate(found):
            record["rollout"] = numbers[place] if is_numbered else place
        return sorted(found, key=lambda record: int(record["rollout"]))

    def _line(self, row: int) -> bytes:
        """Read past the file's own position, so that threads do not disturb each other."""
        pieces = []
        offset = self._offsets[row]
        size = 1 << 16
        with self._reading(row) as file:
            while piece := os.pread(file.fileno(), size, offset):
                end = piece.find(b"\n")
                pieces.append(piece if end < 0 else piece[:end])
                if end >= 0:
                    break
                offset += len(piece)
                size = 1 << 20
        return b"".join(pieces).removeprefix(_BOM)

    @contextmanager
    def _reading(self, row: int) -> Iterator[BinaryIO]:
        """The file of a rollout. Raises OSError, and ValueError when another one stands in its place."""
        if self._held is not None:
            yield self._held
            return
        file, _first, same = self._files[bisect_right(self._files, row, key=lambda item: item[1]) - 1]
        with file.path.open("rb", buffering=0) as stream:
            if _identity(stream) != same:
                raise ValueError(file.name)
            yield stream

    # Indexing

    def read(self, progress: Callable[[int, int], None] | None, cancel: threading.Event | None) -> None:
        """One pass over all files. Raises OSError, CheckCanceled."""
        files = files_of(self.path)
        is_folder = self.path.is_dir()
        total = sum(file.path.stat().st_size for file in files)
        for file in files:
            if is_folder and not file.is_told and not is_dump(file.path):
                continue
            stream = file.path.open("rb", buffering=1 << 18)
            self._files.append((file, len(self), _identity(stream)))
            if is_folder:
                with stream:
                    self._read(file, stream, total, progress, cancel)
            else:
                self._held = stream
                self._read(file, stream, total, progress, cancel)
        self._names = {}

    def _read(
        self,
        file: DumpFile,
        stream: BinaryIO,
        total: int,
        progress: Callable[[int, int], None] | None,
        cancel: threading.Event | None,
    ) -> None:
        offset = line = 0
        while raw := stream.readline(LONGEST_LINE + 1):
            line += 1
            start, offset = offset, offset + len(raw)
            if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                while (more := stream.readline(1 << 20)) and not more.endswith(b"\n"):
                    offset += len(more)
                offset += len(more)
                self._pass_over(file, line, _("longer than {size} MiB").format(size=LONGEST_LINE >> 20))
            elif not raw.isspace():
                self._take(raw if start else raw.removeprefix(_BOM), start, line, file)
            if self.size + offset - self._told_at >= _TOLD_EVERY:
                self._told_at = self.size + offset
                if cancel is not None and cancel.is_set():
                    raise CheckCanceled(_("opening {file} was canceled").format(file=self.path.name))
                if progress is not None:
                    progress(min(self._told_at, total), total)
        self.size += offset

    def _take(self, raw: bytes, offset: int, line: int, file: DumpFile) -> None:
        if (quick := quick_head(raw)) is not None:
            self._add(quick, offset)
            return
        try:
            row = _parsed(raw)
        except ValueError as error:
            self._pass_over(file, line, str(error))
            return
        is_any = False
        for head in heads(row):
            is_any = True
            phase = file.phase if head.phase == "train" else head.phase
            self._add(head._replace(step=head.step or file.step, phase=phase), offset)
        if not is_any:
            self._pass_over(file, line, _("holds no answer and no reward"))

    def _add(self, head: Head, offset: int) -> None:
        step = self._steps.get((head.step, head.phase))
        if step is None:
            step = self._steps[head.step, head.phase] = _Step(head.step, head.phase)
        step.rows.append(len(self._offsets))
        if isinstance(head.sample, int):
            sample = head.sample
            self._greatest = max(self._greatest, sample)
        else:
            sample = self._names.setdefault(head.sample, -1 - len(self._names))
        self._offsets.append(offset)
        self._parts.append(head.part)
        self._samples.append(sample)
        self._rewards.append(math.nan if head.reward is None else head.reward)
        self._flags.append(_FAILED if head.is_failed else 0)
        step.failed_rollouts += head.is_failed
        if head.reward is not None:
            step.scored += 1
            step.total += head.reward
            self._low, self._high = min(self._low, head.reward), max(self._high, head.reward)
        elif not head.is_failed:
            step.failed_rewards += 1

    def _pass_over(self, file: DumpFile, line: int, why: str) -> None:
        self.unread_count += 1
        if len(self.unread) < _MOST_NAMED:
            self.unread.append(Unread(line, why, file.name))


def open_dump(
    path: Path | str,
    *,
    progress: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
) -> Dump:
    """Index a file of rollouts, or a folder of them. Raises InputError when it cannot be read or holds none,
    CheckCanceled.
    """
    file = Path(path)
    dump = Dump(file)
    try:
        try:
            dump.read(progress, cancel)
        except OSError as error:
            raise InputError(
                _("{file} cannot be read: {error}").format(file=error.filename or file, error=error.strerror),
                advice=_("Check the path."),
            ) from error
        if not len(dump):
            first = next(iter(dump.unread), None)
            where = "" if first is None else f"{first.file}:{first.line}: {first.why}"
            raise InputError(
                _("{file} holds no rollouts").format(file=file.name),
                advice=where or _("Each line should hold messages, or a prompt and a completion, with a reward."),
            )
    except BaseException:
        dump.close()
        raise
    return dump


def _identity(file: BinaryIO) -> tuple[int, int]:
    facts = os.fstat(file.fileno())
    return facts.st_dev, facts.st_ino


def is_dump(path: Path) -> bool:
    """Whether one of the first lines looks like a rollout. A file that cannot be read does not."""
    try:
        with path.open("rb") as file:
            for number in range(_FIRST_ROWS):
                raw = file.readline(LONGEST_LINE + 1)
                if not raw or len(raw) > LONGEST_LINE:
                    return False
                try:
                    if looks_like_rollouts(_parsed(raw if number else raw.removeprefix(_BOM))):
                        return True
                except ValueError:
                    continue
    except OSError:
        return False
    return False


def _parsed(raw: bytes) -> dict[str, Any]:
    """The object of a line. Other writers leave NaN and halves of characters in theirs. Raises ValueError."""
    value: Any
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as strict:
        try:
            value = _sound(json.loads(raw.decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            raise ValueError(_("no JSON: {msg}").format(msg=in_words(strict.msg))) from strict
    if not isinstance(value, dict):
        raise ValueError(_("no JSON object"))
    return value


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return str(value)
    if isinstance(value, list):
        return [_sound(item) for item in value]
    if isinstance(value, Mapping):
        return {_sound(key): _sound(item) for key, item in value.items()}
    return value
