"""A file as multipart/form-data, streamed from disk with its length known beforehand."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from agentic_rl_tui.core.models.errors import InputError

CHUNK_BYTES = 1 << 20

Progress = Callable[[int, int], None]
"""Bytes handed to the network so far, bytes in all."""


class FileBody:
    """The body of one upload: the file's part first, then the plain fields, as the service's own client orders them.

    The file must keep its size while it is sent; a change raises InputError in the middle, which breaks the request
    off rather than storing half a file.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        fields: Sequence[tuple[str, str]] = (),
        progress: Progress | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.path = path
        self.name = path.name if name is None else name
        self.size = path.stat().st_size
        self._progress = progress
        self._chunk_bytes = chunk_bytes
        self._boundary = secrets.token_hex(16)
        self._head = (
            f"--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="files"; filename="{_quoted(self.name)}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        tail = "".join(
            f"\r\n--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="{_quoted(key)}"\r\n'
            f"Content-Type: text/plain; charset=utf-8\r\n\r\n{value}"
            for key, value in fields
        )
        self._tail = f"{tail}\r\n--{self._boundary}--\r\n".encode()

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(len(self._head) + self.size + len(self._tail)),
        }

    async def stream(self) -> AsyncIterator[bytes]:
        yield self._head
        async for chunk in read_chunks(self.path, self.size, self._chunk_bytes, self._progress):
            yield chunk
        yield self._tail


async def read_chunks(
    path: Path, size: int, chunk_bytes: int = CHUNK_BYTES, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """The file's bytes, one chunk read ahead in a thread. Raises InputError when it is no longer `size` bytes long."""
    descriptor = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
    ahead: asyncio.Task[bytes] | None = None
    try:
        sent = 0
        ahead = asyncio.create_task(asyncio.to_thread(os.read, descriptor, chunk_bytes))
        while chunk := await ahead:
            ahead = asyncio.create_task(asyncio.to_thread(os.read, descriptor, chunk_bytes))
            sent += len(chunk)
            if sent > size:
                break
            yield chunk
            if progress is not None:
                progress(sent, size)
        if sent != size:
            raise InputError(f"{path} changed while it was sent", advice="Send it again when nothing writes to it.")
    finally:
        if ahead is not None and not ahead.done():
            await asyncio.wait([ahead])
        os.close(descriptor)


def _quoted(text: str) -> str:
    """As browsers write names: only quotes and line breaks are encoded, so that others arrive as they are."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
