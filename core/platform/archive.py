"""The platform's whole state as one file: a gzipped tar of a database snapshot, logs, data sets, packages and jobs.

``manifest.json`` stands first, so that nothing is read of an archive that this program cannot understand, and the
database last, so that it speaks of no file that is not in the archive.
"""

import errno
import gzip
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from agentic_rl_tui.core.models.errors import Conflict, InputError, PlatformError
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.platform import lock
from agentic_rl_tui.core.platform.store import schema
from agentic_rl_tui.core.version import __version__

FORMAT = 1
_KIND = "agentic-rl-tui platform state"
_MANIFEST, _DATABASE = "manifest.json", "platform.db"
_FOLDERS = ("logs", "files", "packages", "traces", "jobs")
_TRACES = "traces/traces.db"
_SQLITE_COMPANIONS = ("-wal", "-shm", "-journal")
_COUNTED = ("jobs", "files", "entities")
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself. created_at in seconds since the epoch; state is the version of the tables."""

    version: str
    state: int
    created_at: float
    jobs: int
    files: int
    entities: int
    kind: str = _KIND
    format: int = FORMAT


def export_state(paths: PlatformPaths, target: Path, *, replace: bool = False) -> Manifest:
    """Write the archive; the platform may run meanwhile. Blocks. Raises InputError, PlatformError.

    The file is for its owner alone: it holds the variables and tokens of functions.
    """
    if target.exists() and not replace:
        raise InputError(f"{target} exists", advice="Name another file, or replace it with --force.")
    if not paths.database.is_file():
        raise PlatformError(f"there is no platform state in {paths.root}")
    draft: Path | None = None
    try:
        with _told(target), tempfile.TemporaryDirectory(prefix=".export-", dir=paths.root) as folder:
            snapshot = Path(folder) / _DATABASE
            _snapshot(paths.database, snapshot)
            manifest = _describe(snapshot)
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.absolute().parent)
            draft = Path(name)
            with os.fdopen(descriptor, "wb") as file:
                with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
                    _add_bytes(archive, _MANIFEST, json.dumps(asdict(manifest)).encode())
                    held = _add_folders(archive, paths.root, Path(folder))
                    _forget_missing(snapshot, held)
                    archive.add(snapshot, _DATABASE, recursive=False)
                os.fsync(file.fileno())
            os.replace(draft, target)
        return manifest
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def import_state(paths: PlatformPaths, source: Path, *, force: bool = False) -> Manifest:
    """Put an archive's state in place. Blocks. force replaces a state that is not empty.

    Raises AlreadyRunning while a platform runs, Conflict for a state that is not empty, InputError for an archive that
    cannot be used, PlatformError. Until all of the archive has been read and checked, the state stays as it was.
    """
    if not source.is_file():
        raise InputError(f"there is no file {source}")
    with _told(paths.root), closing(_Held(paths)):
        if not force and not is_empty(paths):
            raise Conflict(
                f"the platform's state in {paths.root} is not empty",
                advice="Export it first if you need it, then import with --force, which replaces it.",
            )
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=paths.root))
        try:
            manifest = _unpack(source, folder)
            _check_database(folder / _DATABASE)
            _swap(paths.root, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return manifest


def is_empty(paths: PlatformPaths) -> bool:
    """Whether nothing is kept there that somebody might miss; a database that cannot be read counts as something."""
    if not paths.database.exists():
        return True
    try:
        with closing(_open(paths.database)) as database:
            return not any(database.execute(f"select 1 from {table} limit 1").fetchone() for table in _COUNTED)
    except sqlite3.Error:
        return False


class _Held(lock.InstanceLock):
    """The directory's lock, so that no platform starts in the middle."""

    def close(self) -> None:
        self.release()


@contextmanager
def _told(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PlatformError(f"the disk of {place} is full", advice="Free some space and try again.") from error
        raise PlatformError(f"{error.filename or place}: {error.strerror or error}") from error
    except sqlite3.Error as error:
        raise PlatformError(f"the platform's database cannot be read: {error}") from error


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)


def _snapshot(source: Path, target: Path) -> None:
    """A copy of a database as it is at one moment, whoever writes it."""
    with closing(_open(source)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy)
        copy.execute("pragma journal_mode = delete")


def _describe(snapshot: Path) -> Manifest:
    with closing(_open(snapshot)) as database:
        (state,) = database.execute("pragma user_version").fetchone()
        counts = {table: database.execute(f"select count(*) from {table}").fetchone()[0] for table in _COUNTED}
    return Manifest(version=__version__, state=state, created_at=time.time(), **counts)


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(data), 0o600, int(time.time())
    archive.addfile(entry, io.BytesIO(data))


def _add_folders(archive: tarfile.TarFile, root: Path, scratch: Path) -> set[str]:
    """Add what lies in the folders; the names of the data sets among it. What vanishes meanwhile is left out."""
    held: set[str] = set()
    for path in _sources(root):
        name = path.relative_to(root).as_posix()
        if name == _TRACES:
            _snapshot(path, scratch / "traces.db")
            path = scratch / "traces.db"
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            entry = archive.gettarinfo(arcname=name, fileobj=file)
            # No more than the file held just now: a log may grow while it is read.
            archive.addfile(entry, file)
        if name.startswith("files/"):
            held.add(path.name)
    return held


def _sources(root: Path) -> Iterator[Path]:
    """Every file worth keeping, an index before the text that it tells of: it may be short but never ahead."""
    for folder in _FOLDERS:
        found = [path for path in (root / folder).rglob("*") if path.is_file() and not path.is_symlink()]
        for path in sorted(found, key=lambda path: (path.suffix != ".idx", path)):
            relative = path.relative_to(root).as_posix()
            is_draft = any(part.startswith(".incoming-") for part in path.parts)
            is_companion = relative.startswith(_TRACES) and relative.endswith(_SQLITE_COMPANIONS)
            if not is_draft and not is_companion:
                yield path


def _forget_missing(snapshot: Path, held: set[str]) -> None:
    """Take the rows of data sets out of the snapshot that were deleted before they could be read."""
    with closing(sqlite3.connect(snapshot, isolation_level=None)) as database:
        known = {row[0] for row in database.execute("select file_id from files")}
        database.executemany("delete from files where file_id = ?", [(file_id,) for file_id in known - held])


def _unpack(source: Path, folder: Path) -> Manifest:
    manifest: Manifest | None = None
    try:
        with gzip.open(source) as raw, tarfile.open(fileobj=raw, mode="r|") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is None:
                    raise InputError(f"{source}: {entry.name[:200]!r} is no plain file; the archive is not used")
                if manifest is None:
                    manifest = _read_manifest(source, entry, content)
                else:
                    _write(folder / _inside(source, entry.name), content)
            while raw.read(_CHUNK_BYTES):
                # To the end, where the checksum of all that was read stands.
                pass
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{source} is damaged or no archive of a platform: {error}") from error
    if manifest is None or not (folder / _DATABASE).is_file():
        raise InputError(f"{source} is no whole archive of a platform; its end is missing")
    return manifest


def _read_manifest(source: Path, entry: tarfile.TarInfo, content: IO[bytes]) -> Manifest:
    """Check the first entry. Raises InputError."""
    if entry.name != _MANIFEST or entry.size > _CHUNK_BYTES:
        raise InputError(f"{source} is no archive of a platform")
    try:
        found = json.loads(content.read())
        told = (found["kind"], found["format"], found["state"])
        manifest = Manifest(**{name: found[name] for name in Manifest.__slots__})
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source} is no archive of a platform") from error
    if told[0] != _KIND:
        raise InputError(f"{source} is no archive of a platform")
    if told[1] > FORMAT or told[2] > schema.VERSION:
        raise InputError(
            f"{source} was written by agentic-rl-tui {manifest.version}, whose state this version cannot read",
            advice="Update agentic-rl-tui and import again.",
        )
    return manifest


def _inside(source: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    is_known = name == _DATABASE or (len(path.parts) > 1 and path.parts[0] in _FOLDERS)
    if path.is_absolute() or ".." in path.parts or not is_known or "\0" in name:
        raise InputError(f"{source}: {name[:200]!r} does not belong into a platform's state; the archive is not used")
    return path


def _write(path: Path, content: IO[bytes]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(content, file, _CHUNK_BYTES)


def _check_database(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path)) as database:
            (found,) = database.execute("pragma quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise InputError(f"the database in the archive is damaged: {error}") from error
    if found != "ok":
        raise InputError(f"the database in the archive is damaged: {found}")


def _swap(root: Path, folder: Path) -> None:
    """Exchange the state for the one in `folder`. A kill in between leaves the old one below ``.replaced-…``."""
    old = Path(tempfile.mkdtemp(prefix=".replaced-", dir=root))
    names = [_DATABASE, *(_DATABASE + suffix for suffix in _SQLITE_COMPANIONS), *_FOLDERS, "run"]
    for name in names:
        if (root / name).exists():
            os.rename(root / name, old / name)
    for name in (*_FOLDERS, _DATABASE):
        if (folder / name).exists():
            os.rename(folder / name, root / name)
    shutil.rmtree(old)
