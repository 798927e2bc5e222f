"""A zip writer for packages: the same bytes for the same input, fast deflate, little memory."""

import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from isal import igzip_lib, isal_zlib

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import PackageError

Progress = Callable[[int, int], None]
"""Called with (bytes read so far, bytes in all); raising from it stops the writer, which then cleans up."""

CHUNK_BYTES = 1 << 20
_STORED, _DEFLATED = 0, 8
_VERSION = 20
_MADE_BY_UNIX = 0x0300 | _VERSION
_UTF8_NAMES = 0x800
_EPOCH_DATE = 0x21  # 1980-01-01, so that file times do not change the bytes
_PROBE_BYTES = 32 << 10
_SHRINKS_BELOW = 0.97
_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_END64_LOCATOR = struct.Struct("<IIQI")
_MAX_16 = 0xFFFF
MAX_FILE_BYTES = 0xFFFF_FFFE
"""Larger members would need the 64-bit form of the archive; a package may not be that large anyway."""


class ZipSink:
    """Appends members to an archive at `path`; at most `limit_bytes` long, else PackageError.

    Use as a context manager: the archive appears under its name only when everything was written, and nothing is
    left behind otherwise.
    """

    def __init__(self, path: Path, *, limit_bytes: int) -> None:
        self._path = path
        self._limit = limit_bytes
        self._central: list[bytes] = []
        self._offset = 0
        self._partial: str = ""
        self._file: BinaryIO

    def __enter__(self) -> "ZipSink":
        handle, self._partial = tempfile.mkstemp(
            prefix=f".{self._path.name}.", suffix=".partial", dir=self._path.parent
        )
        self._file = os.fdopen(handle, "wb", buffering=CHUNK_BYTES)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
            self._file.close()
            if kind is None:
                os.replace(self._partial, self._path)
                self._partial = ""
        finally:
            if self._partial:
                self._file.close()
                os.unlink(self._partial)

    @property
    def size(self) -> int:
        return self._offset

    def add(self, name: str, data: bytes, *, is_executable: bool = False) -> None:
        """Add a member whose content is at hand."""
        packed = igzip_lib.compress(data, 1, igzip_lib.COMP_DEFLATE) if data else data
        method = _DEFLATED if len(packed) < len(data) else _STORED
        body = packed if method == _DEFLATED else data
        header, central = _headers(
            name, method, isal_zlib.crc32(data), len(body), len(data), is_executable, self._offset
        )
        self._write(header)
        self._write(body)
        self._central.append(central)

    @contextmanager
    def stream(
        self, name: str, size: int, *, shrinks: bool, is_executable: bool = False
    ) -> Iterator[Callable[[bytes], None]]:
        """Add a member piece by piece with the given function; the header is completed at the end of the block."""
        start = self._offset
        method = _DEFLATED if shrinks else _STORED
        header, _ = _headers(name, method, 0, 0, size, is_executable, start)
        self._write(header)
        crc = 0
        packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, -15) if shrinks else None

        def add(chunk: bytes) -> None:
            nonlocal crc
            crc = isal_zlib.crc32(chunk, crc)
            self._write(packer.compress(chunk) if packer else chunk)

        yield add
        if packer:
            self._write(packer.flush())
        packed = self._offset - start - len(header)
        header, central = _headers(name, method, crc, packed, size, is_executable, start)
        self._file.seek(start)
        self._file.write(header)
        self._file.seek(self._offset)
        self._central.append(central)

    def _write(self, data: bytes) -> None:
        self._offset += len(data)
        if self._offset > self._limit:
            raise too_large(self._offset, self._limit)
        self._file.write(data)

    def _finish(self) -> None:
        start, count = self._offset, len(self._central)
        directory = b"".join(self._central)
        self._write(directory)
        if count > _MAX_16:
            end64 = self._offset
            self._write(
                _END64.pack(0x06064B50, _END64.size - 12, _MADE_BY_UNIX, 45, 0, 0, count, count, len(directory), start)
            )
            self._write(_END64_LOCATOR.pack(0x07064B50, 0, end64, 1))
        shown = min(count, _MAX_16)
        self._write(_END.pack(0x06054B50, 0, 0, shown, shown, len(directory), start, 0))


def _headers(
    name: str, method: int, crc: int, packed: int, size: int, is_executable: bool, offset: int
) -> tuple[bytes, bytes]:
    raw = name.encode()
    common = (_VERSION, _UTF8_NAMES, method, 0, _EPOCH_DATE, crc, packed, size, len(raw), 0)
    mode = 0o100755 if is_executable else 0o100644
    local = _LOCAL.pack(0x04034B50, *common) + raw
    central = _CENTRAL.pack(0x02014B50, _MADE_BY_UNIX, *common, 0, 0, 0, mode << 16, offset) + raw
    return local, central


def shrinks(handle: int, size: int) -> bool:
    """Whether deflate gains anything on an open file, judged by its beginning, middle and end."""
    last = max(0, size - _PROBE_BYTES)
    for offset in sorted({0, last // 2, last}):
        piece = os.pread(handle, _PROBE_BYTES, offset)
        if piece and len(igzip_lib.compress(piece, 1, igzip_lib.COMP_DEFLATE)) < len(piece) * _SHRINKS_BELOW:
            return True
    return False


def packed_estimate(handle: int, size: int) -> int:
    """The size that an open file would have in the archive, judged by samples."""
    last = max(0, size - _PROBE_BYTES)
    raw = packed = 0
    for part in range(9):
        piece = os.pread(handle, _PROBE_BYTES, last * part // 8)
        raw += len(piece)
        packed += min(len(piece), len(igzip_lib.compress(piece, 1, igzip_lib.COMP_DEFLATE)) if piece else 0)
    return size * packed // raw if raw else 0


def too_large(size: int, limit: int) -> PackageError:
    mib = 1 << 20
    return PackageError(
        _("the package has {size:.1f} MiB or more, and the service takes at most {limit:.0f} MiB").format(
            size=size / mib, limit=limit / mib
        ),
        advice=_("Leave large files out with a line in .agenticignore; data sets are uploaded on their own."),
    )
