import sqlite3
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.platform.store import schema
from agentic_rl_tui.core.platform.store.database import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "platform.db"


def test_a_new_database_has_the_newest_version(path: Path) -> None:
    Database(path).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("pragma user_version").fetchone() == (schema.VERSION,)
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()


def test_an_older_database_is_brought_up_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(path).close()
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*schema.MIGRATIONS, "create table added (x integer);\ninsert into added values (7);\n")
    )
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    database = Database(path)
    assert database.rows("select x from added")[0]["x"] == 7
    database.close()
    Database(path).close()


def test_a_failing_step_leaves_the_version_before_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(path).close()
    before = schema.VERSION
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "create table added (x integer);\nnonsense;\n"))
    monkeypatch.setattr(schema, "VERSION", before + 1)
    with pytest.raises(sqlite3.OperationalError):
        Database(path)
    monkeypatch.undo()
    database = Database(path)
    assert database.rows("select name from sqlite_master where name = 'added'") == []
    database.close()


def test_a_database_of_a_newer_program_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"pragma user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(PlatformError, match="version") as caught:
        Database(path)
    assert "Update" in caught.value.advice


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"this is no database at all, but it is long enough" * 100)
    with pytest.raises(PlatformError, match="damaged") as caught:
        Database(path)
    assert "reset" in caught.value.advice


def test_a_directory_in_the_way_is_named(path: Path) -> None:
    path.mkdir()
    with pytest.raises(PlatformError, match="cannot be"):
        Database(path)


async def test_work_that_raises_is_undone(path: Path) -> None:
    database = Database(path)

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("insert into layers values ('a', 'b', 'c', 'd', null, 0)")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await database.write(work)
    assert database.rows("select * from layers") == []
    await database.execute("insert into layers values ('a', 'b', 'c', 'd', null, 0)")
    assert len(database.rows("select * from layers")) == 1
    database.close()


async def test_a_full_disk_is_told_in_words(path: Path) -> None:
    database = Database(path)
    await database.write(lambda connection: connection.execute("pragma max_page_count = 1").fetchall())
    with pytest.raises(PlatformError, match="disk is full"):
        await database.execute("insert into layers values ('a', 'b', ?, 'd', null, 0)", ("x" * 400_000,))
    assert database.rows("select count(*) from layers")[0][0] == 0
    database.close()


async def test_the_reader_cannot_write(path: Path) -> None:
    database = Database(path)
    with pytest.raises(PlatformError, match="cannot be written"):
        database.rows("insert into layers values ('a', 'b', 'c', 'd', null, 0)")
    database.close()
