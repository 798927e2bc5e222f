"""The log of a job on the user's own disk: complete from its first line, continued exactly, readable offline."""

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.paths import private_dir, state_dir
from agentic_rl_tui.widgets.lines import FileLines

_SHOWN_BREAK = "⏎"


def mirror_path(place: str, job_id: str) -> Path:
    """Where the mirror of a job lies. place tells apart services that may use the same ids, e.g. their base URL."""
    folder = hashlib.sha256(place.encode()).hexdigest()[:12]
    safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in job_id)[:120]
    return state_dir() / "logs" / folder / f"{safe}.log"


class LogMirror:
    """Appends lines to a file and reads them back by number. One process writes at a time.

    Opening raises BlockingIOError when another process writes the same log, OSError when the disk refuses. A line
    that was cut off by a kill is dropped, so the count of lines is always the offset to go on from.
    """

    def __init__(self, path: Path) -> None:
        private_dir(path.parent)
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._drop_torn_line()
            self.source = FileLines(path)
        except OSError:
            os.close(self._file)
            raise

    def _drop_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - 65536)
            data = os.pread(self._file, end - start, start)
            found = data.rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._file, end)

    def __len__(self) -> int:
        return len(self.source)

    def append(self, lines: Sequence[str]) -> None:
        """Add lines; they are in the page cache when this returns. Secrets are masked on the way."""
        text = "".join(f"{redact(line).replace(chr(10), _SHOWN_BREAK)}\n" for line in lines)
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self._file, data) :]
        self.source.index()

    def clear(self) -> None:
        os.ftruncate(self._file, 0)
        self.source.index()

    def close(self) -> None:
        self.source.close()
        os.close(self._file)


def forget(path: Path) -> None:
    """Remove the mirror of a deleted job."""
    path.unlink(missing_ok=True)
