"""Multipart forms read as they arrive: parts with a file name go to disk, the others are short texts."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from agentic_rl_tui.core.platform import wire

_FLUSH_BYTES = 1 << 20
_MAX_FIELD_BYTES = 64 << 10
_MAX_PARTS = 1000


@dataclass(slots=True)
class Part:
    """A part of a form. For a file, `path` holds its bytes, or is None where they were more than the limit."""

    name: str
    filename: str | None
    path: Path | None = None
    size: int = 0
    md5: str = ""
    value: bytearray = field(default_factory=bytearray)


class FormReader:
    """Reads one form with constant memory.

    new_path makes the place of a file. A file beyond max_file_bytes is read to its end but not kept, since a client
    in the middle of sending listens to no answer.
    """

    def __init__(self, content_type: str, *, new_path: Callable[[], Path], max_file_bytes: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise wire.invalid("The body must be multipart/form-data with a boundary")
        self.parts: list[Part] = []
        self._new_path = new_path
        self._max_file_bytes = max_file_bytes
        self._headers: dict[str, str] = {}
        self._header = (bytearray(), bytearray())
        self._sink: _Sink | None = None
        self._is_complete = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": self._data,
                "on_part_end": self._part_ends,
                "on_end": self._form_ends,
            },
        )

    async def read(self, chunks: AsyncIterator[bytes]) -> list[Part]:
        """All parts, in order. Raises Rejected for a form that is malformed or cut off, OSError when a disk is full."""
        try:
            async for chunk in chunks:
                self._parser.write(chunk)
                if self._sink is not None and self._sink.held >= _FLUSH_BYTES:
                    await asyncio.to_thread(self._sink.flush)
            self._parser.finalize()
        except MultipartParseError as error:
            raise wire.invalid(f"The form cannot be read: {error}") from error
        finally:
            if self._sink is not None:
                self._sink.close()
        if not self._is_complete:
            raise wire.invalid("The form ends before its last boundary")
        return self.parts

    def discard(self) -> None:
        """Delete the files that were received."""
        for part in self.parts:
            if part.path is not None:
                part.path.unlink(missing_ok=True)

    def _part_begins(self) -> None:
        if len(self.parts) >= _MAX_PARTS:
            raise wire.invalid(f"The form has more than {_MAX_PARTS} parts")
        self._headers = {}
        self._header = (bytearray(), bytearray())

    def _header_ends(self) -> None:
        name, value = self._header
        self._headers[name.decode("latin-1").lower()] = value.decode("utf-8", "replace")
        self._header = (bytearray(), bytearray())

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition", "").encode())
        name = options.get(b"name", b"").decode("utf-8", "replace")
        filename = options.get(b"filename")
        part = Part(name, None if filename is None else unquote(filename.decode("utf-8", "replace")))
        self.parts.append(part)
        if part.filename is not None:
            part.path = self._new_path()
            self._sink = _Sink(part, self._max_file_bytes)

    def _data(self, data: bytes, start: int, end: int) -> None:
        part = self.parts[-1]
        if self._sink is not None:
            self._sink.add(data[start:end])
        elif len(part.value) + end - start > _MAX_FIELD_BYTES:
            raise wire.invalid(f"The form's field {part.name!r} is longer than {_MAX_FIELD_BYTES} bytes")
        else:
            part.value += data[start:end]

    def _part_ends(self) -> None:
        if self._sink is not None:
            self._sink.finish()
            self._sink = None

    def _form_ends(self) -> None:
        self._is_complete = True


class _Sink:
    """Where the bytes of one file go."""

    def __init__(self, part: Part, limit: int) -> None:
        self._part = part
        self._limit = limit
        self._digest = hashlib.md5(usedforsecurity=False)
        self._pieces: list[bytes] = []
        self.held = 0
        if part.path is None:
            raise ValueError("a file part needs a path")
        descriptor = os.open(part.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - closed by finish or close

    def add(self, data: bytes) -> None:
        self._part.size += len(data)
        if self._part.size > self._limit:
            self._drop()
            return
        self._pieces.append(data)
        self.held += len(data)

    def flush(self) -> None:
        for piece in self._pieces:
            self._digest.update(piece)
            self._file.write(piece)
        self._pieces.clear()
        self.held = 0

    def finish(self) -> None:
        self.flush()
        self._file.close()
        self._part.md5 = self._digest.hexdigest()

    def close(self) -> None:
        """Give up what was not finished."""
        self._pieces.clear()
        self._file.close()

    def _drop(self) -> None:
        self._pieces.clear()
        self.held = 0
        if self._part.path is not None:
            self._file.truncate(0)
            self._part.path.unlink(missing_ok=True)
            self._part.path = None
