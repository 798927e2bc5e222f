"""The platform's SQLite file: reads on the caller's thread, writes on one thread of their own."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.platform.store import schema

T = TypeVar("T")
Parameters = Sequence[object] | Mapping[str, object]

_BUSY_TIMEOUT_MS = 5_000
_NO_SPACE = "The platform's disk is full; free some space and try again."


class Database:
    """One connection that only reads and one that only writes, both in WAL mode.

    Reads are answered at once on the event loop: each is an index look-up of well under a millisecond. Writes run
    one after another, each in a transaction of its own that takes the write lock at its start.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-writer")
        with readable_errors(path):
            self._writer = self._connect()
            try:
                self._writer.execute("pragma journal_mode = wal")
                self._writer.execute("pragma synchronous = normal")
                schema.migrate(self._writer)
                self._reader = self._connect()
                self._reader.execute("pragma query_only = on")
            except BaseException:
                self._writer.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute(f"pragma busy_timeout = {_BUSY_TIMEOUT_MS}")
        return connection

    def rows(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        with readable_errors(self.path):
            return self._reader.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        with readable_errors(self.path):
            found: sqlite3.Row | None = self._reader.execute(sql, parameters).fetchone()
            return found

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` inside one transaction on the writer's thread; it is undone when `work` raises.

        A caller that is cancelled while waiting does not stop a transaction under way.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writer_thread, self._transact, work)

    async def execute(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """One statement as a transaction; its ``returning`` rows."""
        return await self.write(lambda connection: connection.execute(sql, parameters).fetchall())

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with readable_errors(self.path):
            self._writer.execute("begin immediate")
            try:
                result = work(self._writer)
                self._writer.execute("commit")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("rollback")
                raise
            return result

    def close(self) -> None:
        self._writer_thread.shutdown(wait=True)
        self._reader.close()
        self._writer.close()


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the disk into sentences; errors of our own statements pass unchanged."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        raise _explained(error, path) from error


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    text = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return PlatformError(f"{path} cannot grow: the disk is full", advice=_NO_SPACE)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return PlatformError(
            f"{path} cannot be written: {text}",
            advice="Make the state directory writable, or choose another one with AGENTIC_RL_STATE_DIR.",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return PlatformError(
            f"{path} is damaged: {text}",
            advice="Keep a copy of the state directory and run `agentic-rl-tui platform reset`.",
        )
    if name.startswith("SQLITE_IOERR"):
        return PlatformError(f"{path} cannot be read or written: {text}", advice="Check the disk.")
    return error
