"""What the terminal itself tells: how large it is, and that it has gone."""

import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress


def forget_exported_size() -> None:
    """Take COLUMNS and LINES out of the environment of an app on a terminal that tells its size.

    They outrank the terminal wherever its size is asked for, so that one exported by a shell froze the size for good.
    """
    with suppress(AttributeError, OSError):
        if all(os.get_terminal_size(sys.__stdout__.fileno())):  # type: ignore[union-attr]
            os.environ.pop("COLUMNS", None)
            os.environ.pop("LINES", None)


def watch_terminal(leave: Callable[[], object]) -> None:
    """Call `leave`, from a thread, once the terminal on stdin has hung up. Costs nothing until then.

    Not every terminal sends a signal when it goes, and reading its end again and again is busy.
    """
    terminal = sys.__stdin__
    if terminal is None or not terminal.isatty():
        return
    threading.Thread(target=_wait, args=(terminal.fileno(), leave), name="hangup", daemon=True).start()


def _wait(file: int, leave: Callable[[], object]) -> None:
    watch = select.poll()
    watch.register(file, 0)  # hanging up is told without being asked for
    if any(event & (select.POLLHUP | select.POLLERR) for _file, event in watch.poll()):
        # An app that is leaving anyway takes no more calls.
        with suppress(RuntimeError):
            leave()
