"""Large bodies streamed from disk, their length known beforehand: a file alone, or as multipart/form-data."""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agentic_rl_tui.core.i18n import _
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

    @property
    def head(self) -> bytes:
        """What goes before the file."""
        return b""

    @property
    def tail(self) -> bytes:
        """What goes after it."""
        return b""

    def __iter__(self) -> Iterator[bytes]:
        if self.head:
            yield self.head
        with self.opened() as descriptor:
            sent = 0
            while chunk := _read(self.path, descriptor, self._chunk_bytes):
                sent += len(chunk)
                if sent > self.size:
                    break
                yield chunk
                self.tell(sent)
        if sent != self.size:
            raise self.changed()
        if self.tail:
            yield self.tail

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the file. Raises InputError."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def tell(self, sent: int) -> None:
        if self.progress is not None:
            self.progress(sent, self.size)

    def changed(self) -> InputError:
        return InputError(
            _("{path} changed while it was sent").format(path=self.path),
            advice=_("Send it again once nothing writes to it."),
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

    @property
    def head(self) -> bytes:
        return self._head

    @property
    def tail(self) -> bytes:
        return self._tail


def _read(path: Path, descriptor: int, count: int) -> bytes:
    try:
        return os.read(descriptor, count)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(_("{path} cannot be read: {reason}").format(path=path, reason=error.strerror or error))


def _quoted(text: str) -> str:
    """As browsers write names: only quotes and line breaks are encoded, so that others arrive as they are."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
