"""Unpacking of an archive that a stranger may have made."""

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic_rl_tui.core.functions.package_plan import FILES_LIMIT, UNPACKED_LIMIT_BYTES
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.models.text import plain

_CHUNK_BYTES = 1 << 20
_ENCRYPTED = 0x1
_LOCAL_HEADER_BYTES = 30


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """What an archive may grow to. The ratio counts for the whole archive, once it holds more than `free_bytes`."""

    total_bytes: int = UNPACKED_LIMIT_BYTES
    members: int = FILES_LIMIT + 1
    ratio: int = 200
    free_bytes: int = 100 << 20


def unpack(zip_path: Path, destination: Path, *, limits: UnpackLimits | None = None) -> None:
    """Unpack into `destination`, which must be absent or empty; nothing is left there when it fails.

    Names that leave the destination, links, duplicates, encrypted members and archives that grow beyond the limits
    are refused with a PackageError that names the member. Modes become 0644, or 0755 where an execute bit is set.
    """
    bounds = limits or UnpackLimits()
    if destination.is_symlink() or (destination.exists() and not _is_empty_dir(destination)):
        raise PackageError(
            _("{destination} is not empty").format(destination=destination), advice=_("Unpack into a new directory.")
        )
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", suffix=".partial", dir=destination.parent))
    try:
        with zipfile.ZipFile(zip_path) as archive:
            members = archive.infolist()
            _check_members(members, zip_path.stat().st_size, bounds)
            _extract(archive, members, partial, bounds)
        partial.chmod(0o755)
        partial.rename(destination)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise PackageError(
            _("{file} is no usable zip archive: {error}").format(file=zip_path.name, error=error)
        ) from error
    except OSError as error:
        raise PackageError(
            _("{file} cannot be unpacked: {error}").format(file=zip_path.name, error=error.strerror or error)
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _is_empty_dir(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _check_members(members: Sequence[zipfile.ZipInfo], archive_bytes: int, limits: UnpackLimits) -> None:
    if len(members) > limits.members:
        raise PackageError(
            _("the archive has {count} members, more than {limit}").format(count=len(members), limit=limits.members)
        )
    seen: set[str] = set()
    for member in members:
        _check_name(member)
        _check_kind(member)
        name = member.filename.rstrip("/")
        if name in seen:
            raise _refused(member, _("occurs twice"))
        seen.add(name)
    total = sum(member.file_size for member in members)
    biggest = max(members, key=lambda member: member.file_size, default=None)
    if biggest is None:
        return
    if total > limits.total_bytes:
        raise _refused(
            biggest,
            _("makes the archive unpack to {total} bytes, more than {limit}").format(
                total=total, limit=limits.total_bytes
            ),
        )
    if total > limits.free_bytes and total > limits.ratio * archive_bytes:
        raise _refused(biggest, _("makes the archive grow more than {ratio}-fold").format(ratio=limits.ratio))
    _check_overlap(members, archive_bytes)


def _check_name(member: zipfile.ZipInfo) -> None:
    # `orig_filename` is the name before zipfile cuts it at a NUL or swaps separators.
    name = member.orig_filename
    if "\0" in name:
        raise _refused(member, _("has a NUL in its name"))
    if "\\" in name:
        raise _refused(member, _("has a backslash in its name"))
    if name.startswith("/") or (len(name) > 1 and name[1] == ":" and name[0].isalpha()):
        raise _refused(member, _("has an absolute path"))
    parts = name.removesuffix("/").split("/")
    if ".." in parts:
        raise _refused(member, _("leaves the package with '..'"))
    if "" in parts or "." in parts:
        raise _refused(member, _("has an empty or '.' part in its path"))


def _check_kind(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise _refused(member, _("is a symbolic link"))
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(member, _("is neither a file nor a directory"))
    if member.flag_bits & _ENCRYPTED:
        raise _refused(member, _("is encrypted"))
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(member, _("uses compression method {method}").format(method=member.compress_type))


def _check_overlap(members: Sequence[zipfile.ZipInfo], archive_bytes: int) -> None:
    """Refuse members that share compressed bytes: that is how a small archive holds an endless one."""
    ordered = sorted(members, key=lambda member: member.header_offset)
    ends = [*(member.header_offset for member in ordered[1:]), archive_bytes]
    for member, end in zip(ordered, ends, strict=True):
        if member.header_offset + _LOCAL_HEADER_BYTES + member.compress_size > end:
            raise _refused(member, _("overlaps another member"))


def _extract(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], root: Path, limits: UnpackLimits) -> None:
    made: set[Path] = {root}
    left = limits.total_bytes
    for member in members:
        target = root / member.filename
        directory = target if member.is_dir() else target.parent
        try:
            if directory not in made:
                directory.mkdir(parents=True, exist_ok=True)
                made.add(directory)
            if not member.is_dir():
                left -= _extract_file(archive, member, target, left)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise _refused(member, _("has the same place as another member")) from error
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _refused(member, _("is damaged: {error}").format(error=error)) from error


def _extract_file(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, left: int) -> int:
    mode = 0o755 if (member.external_attr >> 16) & 0o111 else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    written = 0
    with archive.open(member) as source, open(os.open(target, flags, mode), "wb") as sink:
        while chunk := source.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > left:
                raise _refused(member, _("is larger than it says"))
            sink.write(chunk)
    return written


def _refused(member: zipfile.ZipInfo, why: str) -> PackageError:
    return PackageError(
        _("the archive's member {name!r} {why}").format(name=plain(member.orig_filename, keep_newlines=False), why=why),
        advice=_("Build the package again from the workspace; do not use an archive from elsewhere."),
    )
