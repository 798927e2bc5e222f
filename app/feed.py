"""What the lines of one job's log become: lines to look at, numbers to draw, errors to point at."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from agentic_rl_tui.app.backend import LogChunk
from agentic_rl_tui.app.mirror import LogMirror
from agentic_rl_tui.app.present.metrics import MetricBook
from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.highlight import TROUBLE
from agentic_rl_tui.widgets.lines import LineBuffer, LineSource

_BATCH_LINES = 5000
_MOST_TROUBLE = 200
_TROUBLE_CHARS = 400


class LogStore(Protocol):
    @property
    def source(self) -> LineSource: ...

    def append(self, lines: Sequence[str]) -> None: ...
    def clear(self) -> None: ...
    def close(self) -> None: ...


class MemoryLog:
    """A log that lives as long as the screen."""

    def __init__(self) -> None:
        self._buffer = LineBuffer()
        self.source: LineSource = self._buffer

    def clear(self) -> None:
        self._buffer.clear()

    def append(self, lines: Sequence[str]) -> None:
        self._buffer.append(lines)

    def close(self) -> None:
        """Nothing to give back."""


def open_store(path: Path | None) -> LogStore:
    """The mirror at `path`; memory where there is none, another program writes it, or the disk refuses."""
    if path is None:
        return MemoryLog()
    try:
        return LogMirror(path)
    except OSError:
        return MemoryLog()


class JobFeed:
    """Takes chunks in any overlap and keeps every line once."""

    def __init__(self, store: LogStore) -> None:
        self.store = store
        self.book = MetricBook()
        self.trouble: list[tuple[int, str]] = []

    @property
    def source(self) -> LineSource:
        return self.store.source

    def prepare(self) -> None:
        """Count and read what is kept from before. Slow for a large log: call it in a thread, before `take`."""
        if isinstance(self.store, LogMirror):
            self.store.source.index()
        for start in range(0, len(self.source), _BATCH_LINES):
            self._read(self.source.lines(start, start + _BATCH_LINES), start)

    def is_ahead_of(self, chunk: LogChunk) -> bool:
        """Whether more is kept than the service has."""
        return chunk.total < len(self.source)

    def clear(self) -> None:
        self.store.clear()
        self.book = MetricBook()
        self.trouble.clear()

    def take(self, chunk: LogChunk) -> bool:
        """Add the lines that are new; False when there are none."""
        known = len(self.source) - chunk.offset
        lines = chunk.lines[known:] if known > 0 else chunk.lines
        if not lines:
            return False
        first = len(self.source)
        self.store.append(lines)
        self._read(lines, first)
        return True

    def _read(self, lines: Sequence[str], first: int) -> None:
        self.book.feed(lines)
        for number, raw in enumerate(lines, first + 1):
            if TROUBLE.search(raw, 0, _TROUBLE_CHARS):
                self.trouble.append((number, ansi.text_of(raw[:_TROUBLE_CHARS])))
        del self.trouble[:-_MOST_TROUBLE]
