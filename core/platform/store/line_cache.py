"""Line files kept open between uses."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentic_rl_tui.core.platform.store import lines
from agentic_rl_tui.core.platform.store.lines import LineFile


class LineCache:
    """Opens each line file once and closes those least recently used beyond `max_open`.

    For the event loop's thread alone; a file it lends may be read in other threads for as long as it is lent.
    """

    def __init__(self, *, max_open: int = 64) -> None:
        self._max_open = max_open
        self._open: OrderedDict[Path, _Pinned] = OrderedDict()
        self._opening: dict[Path, asyncio.Task[LineFile]] = {}

    @contextmanager
    def using(self, path: Path) -> Iterator[LineFile]:
        """Lend the file, made when absent. Raises OSError."""
        pinned = self._open.get(path)
        if pinned is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            pinned = self._open[path] = _Pinned(LineFile(path))
        self._open.move_to_end(path)
        pinned.users += 1
        self._close_idle()
        try:
            yield pinned.file
        finally:
            pinned.release()

    async def prepare(self, path: Path) -> None:
        """Open a file in a thread first where that takes long, so that the loop does not stand still. Raises OSError.

        To be awaited before `using` wherever the index of a large file may be lost.
        """
        while path not in self._open:
            opening = self._opening.get(path)
            if opening is None:
                if not lines.is_slow_to_open(path):
                    return
                opening = self._opening[path] = asyncio.create_task(asyncio.to_thread(LineFile, path))
                opening.add_done_callback(lambda done: self._opened(path, done))
            await asyncio.wait({opening})
            if not opening.cancelled() and (error := opening.exception()) is not None:
                raise error

    def _opened(self, path: Path, task: "asyncio.Task[LineFile]") -> None:
        is_wanted = self._opening.get(path) is task
        if is_wanted:
            del self._opening[path]
        if task.cancelled() or task.exception() is not None:
            return
        if is_wanted and path not in self._open:
            self._open[path] = _Pinned(task.result())
        else:
            task.result().close()

    def exists(self, path: Path) -> bool:
        return path in self._open or path.exists()

    def forget(self, path: Path) -> None:
        """Open it anew at the next use; those who hold it keep what they have."""
        pinned = self._open.pop(path, None)
        if pinned is not None:
            pinned.close_when_free()

    def remove(self, path: Path) -> None:
        self._opening.pop(path, None)
        self.forget(path)
        lines.remove(path)

    def close(self) -> None:
        self._opening.clear()
        for path in list(self._open):
            self.forget(path)

    def _close_idle(self) -> None:
        excess = len(self._open) - self._max_open
        if excess > 0:
            for path in [path for path, pinned in self._open.items() if not pinned.users][:excess]:
                self.forget(path)


class _Pinned:
    """A line file that is closed only when nobody reads it: a closed descriptor's number may name another file."""

    def __init__(self, file: LineFile) -> None:
        self.file = file
        self.users = 0
        self._is_unwanted = False

    def release(self) -> None:
        self.users -= 1
        if self._is_unwanted and not self.users:
            self.file.close()

    def close_when_free(self) -> None:
        self._is_unwanted = True
        if not self.users:
            self.file.close()
