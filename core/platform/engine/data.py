"""The rows of a job's data files: checked once, then read by offset."""

import random
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.functions.depth import MOST_LEVELS, is_too_deep
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.platform.engine.row import Row

_SHOWN_CHARS = 120


class Rows:
    """Rows of one or more JSONL files in order. Holds eight bytes a row; the lines stay on disk."""

    def __init__(self, names: Sequence[str], paths: Sequence[Path]) -> None:
        self._names = tuple(names)
        self._paths = tuple(paths)
        self._offsets: list[array[int]] = []

    def scan(self) -> "Rows":
        """Find and check every line. Runs for as long as reading takes; call it in a thread. Raises InputError."""
        for name, path in zip(self._names, self._paths, strict=True):
            offsets = array("Q")
            position = 0
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        _check(name, number, line)
                        offsets.append(position)
                    position += len(line)
            self._offsets.append(offsets)
        return self

    def __len__(self) -> int:
        return sum(len(offsets) for offsets in self._offsets)

    def __getitem__(self, index: int) -> Row:
        rest = index
        for path, offsets in zip(self._paths, self._offsets, strict=True):
            if rest < len(offsets):
                with path.open("rb") as file:
                    file.seek(offsets[rest])
                    return Row.of(index, orjson.loads(_without_mark(file.readline())))
            rest -= len(offsets)
        raise IndexError(index)

    def read(self, indices: Sequence[int]) -> list[Row]:
        return [self[index] for index in indices]


def _check(name: str, number: int, line: bytes) -> None:
    place = f"{name} line {number}"
    try:
        row: Any = orjson.loads(_without_mark(line))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{place} is no JSON: {error}", advice="One JSON object a line; check the data set.") from None
    if not isinstance(row, dict):
        raise InputError(f"{place} is no JSON object", advice="Each line must be an object with `messages`.")
    if is_too_deep(row, line):
        raise InputError(
            f"{place} is nested more than {MOST_LEVELS} levels deep", advice="Flatten the row, or quote the value."
        )
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputError(f"{place} has no `messages`", advice="Each line needs a list of chat messages.")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            shown = repr(message)[:_SHOWN_CHARS]
            raise InputError(f"{place}: a message without a role: {shown}", advice="Give each message a role.")


def _without_mark(line: bytes) -> bytes:
    return line.removeprefix(b"\xef\xbb\xbf")


def batches(rows: int, batch_size: int, n_epochs: int, order: random.Random) -> Iterator[list[int]]:
    """Row numbers of each step: every epoch shuffled anew, batches running on across the end of an epoch.

    Yields floor(rows x n_epochs / batch_size) batches, each of distinct rows where there are enough.
    """
    pending: list[int] = []
    for _ in range(n_epochs):
        epoch = list(range(rows))
        order.shuffle(epoch)
        waiting = set(pending)
        pending += [row for row in epoch if row not in waiting] + [row for row in epoch if row in waiting]
        while len(pending) >= batch_size:
            yield pending[:batch_size]
            pending = pending[batch_size:]


def total_steps(rows: int, batch_size: int, n_epochs: int) -> int:
    return rows * n_epochs // batch_size


def epoch_of(step: int, rows: int, batch_size: int) -> int:
    """Epochs that are through after `step` steps."""
    return step * batch_size // rows
