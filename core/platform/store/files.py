"""Uploaded data sets: rows in the database, bytes in one file each, named by its id."""

from dataclasses import astuple, dataclass
from pathlib import Path

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.platform import crash, ids
from agentic_rl_tui.core.platform.store.database import Database


@dataclass(frozen=True, slots=True)
class StoredFile:
    """size in bytes, md5 in hex, created_at since the epoch."""

    file_id: str
    name: str
    size: int
    md5: str
    description: str | None
    purpose: str | None
    created_at: float


class Files:
    """Implements ``ports.DataFiles``."""

    def __init__(self, database: Database, directory: Path) -> None:
        self._database = database
        self._directory = directory

    async def path(self, file_id: str) -> Path:
        path = self._directory / file_id
        if self.get(file_id) is None or not path.is_file():
            raise NotFound(f"file {file_id} does not exist")
        return path

    def get(self, file_id: str) -> StoredFile | None:
        if not ids.is_plain(file_id):
            return None
        row = self._database.row(f"select {_COLUMNS} from files where file_id = ?", (file_id,))
        return None if row is None else StoredFile(*row)

    async def add(self, received: Path, stored: StoredFile) -> None:
        """Take over a received file. The row is written last, so no id ever stands for missing bytes."""
        crash.point("file.received")
        received.replace(self._directory / stored.file_id)
        crash.point("file.moved")
        await self._database.execute(
            f"insert into files ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)",
            astuple(stored),
        )

    def page(self, page_no: int, page_size: int) -> tuple[list[StoredFile], int]:
        """Files of one page, newest first, and how many there are."""
        rows = self._database.rows(
            f"select {_COLUMNS} from files order by seq desc limit ? offset ?", (page_size, (page_no - 1) * page_size)
        )
        return [StoredFile(*row) for row in rows], self.usage()[0]

    def usage(self) -> tuple[int, int]:
        """How many files there are and their bytes together."""
        count, size = self._database.rows("select count(*), coalesce(sum(size), 0) from files")[0]
        return count, size

    async def delete(self, file_id: str) -> bool:
        rows = await self._database.execute("delete from files where file_id = ? returning file_id", (file_id,))
        if rows:
            (self._directory / file_id).unlink(missing_ok=True)
        return bool(rows)

    def strays(self) -> list[Path]:
        """Files that no row speaks of: parts of uploads that a killed platform left."""
        if not self._directory.is_dir():
            return []
        known = {row["file_id"] for row in self._database.rows("select file_id from files")}
        return [path for path in self._directory.iterdir() if path.is_file() and path.name not in known]


_COLUMNS = "file_id, name, size, md5, description, purpose, created_at"
