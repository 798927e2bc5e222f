"""Large bodies streamed from disk, their length known beforehand: a file alone, or as multipart/form-data."""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentic_rl_tui.core.models.errors import InputError

CHUNK_BYTES = 1 << 19

Progress = Callable[[int, int], None]
"""Bytes of the file handed to the network so far, bytes in all."""


class FileBody:
    """The bytes of one file. Every iteration reads it anew, so that a request can be sent again.

    The file must keep its size while it is sent; a change raises InputError in the middle, which breaks the request
    off rather than storing half a file.
    """

    def __init__(self, path: Path, *, progress: Progress | None = None, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.progress = progress
        self._chunk_bytes = chunk_bytes

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Length": str(self.size)}

    def __iter__(self) -> Iterator[bytes]:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            sent = 0
            while chunk := os.read(descriptor, self._chunk_bytes):
                sent += len(chunk)
                if sent > self.size:
                    break
                yield chunk
                if self.progress is not None:
                    self.progress(sent, self.size)
        finally:
            os.close(descriptor)
        if sent != self.size:
            raise InputError(
                f"{self.path} changed while it was sent", advice="Send it again once nothing writes to it."
            )


class FormBody(FileBody):
    """A form with the file's part first, then the plain fields, in the order of the service's own client."""

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        fields: Sequence[tuple[str, str]] = (),
        progress: Progress | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        super().__init__(path, progress=progress, chunk_bytes=chunk_bytes)
        self.name = path.name if name is None else name
        self._boundary = secrets.token_hex(16)
        self._head = (
            f"--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="files"; filename="{_quoted(self.name)}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        plain = "".join(
            f"\r\n--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="{_quoted(key)}"\r\n'
            f"Content-Type: text/plain; charset=utf-8\r\n\r\n{value}"
            for key, value in fields
        )
        self._tail = f"{plain}\r\n--{self._boundary}--\r\n".encode()

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(len(self._head) + self.size + len(self._tail)),
        }

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        yield from super().__iter__()
        yield self._tail


def _quoted(text: str) -> str:
    """As browsers write names: only quotes and line breaks are encoded, so that others arrive as they are."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
