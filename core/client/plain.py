"""Uploads without TLS, to loopback and the local platform's socket: the kernel moves the file by itself."""

import http.client
import os
import socket
from pathlib import Path

import httpx

from agentic_rl_tui.core.client.multipart import FileBody
from agentic_rl_tui.core.client.sender import Exchange, Line

SLICE_BYTES = 1 << 22


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(str(self._path))
        except OSError:
            self.sock.close()
            raise


def through_kernel(request: httpx.Request, *, idle_s: float, connect_s: float, unix: Path | None) -> Exchange:
    """An exchange by sendfile(2). `request` gives method, address and headers; idle_s limits every single wait."""

    def exchange(body: FileBody, line: Line) -> httpx.Response:
        url = request.url
        connection = (
            _UnixConnection(unix, connect_s)
            if unix is not None
            else http.client.HTTPConnection(url.host, url.port or 80, timeout=connect_s)
        )
        try:
            _connect(connection, idle_s, line)
            _send(connection, request, body, line)
            return _answer(connection, request)
        finally:
            connection.close()

    return exchange


def _connect(connection: http.client.HTTPConnection, idle_s: float, line: Line) -> None:
    try:
        connection.connect()
    except TimeoutError as error:
        raise httpx.ConnectTimeout("timed out") from error
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error
    connection.sock.settimeout(idle_s)
    line.use(connection.sock)


def _send(connection: http.client.HTTPConnection, request: httpx.Request, body: FileBody, line: Line) -> None:
    """Send everything. A server that closes early may have answered: a broken pipe is left to the reading."""
    connection.putrequest(request.method, request.url.raw_path.decode(), skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers.raw:
        connection.putheader(name, value)
    try:
        connection.endheaders()
        if body.head:
            connection.sock.sendall(body.head)
        _send_file(connection.sock, body, line)
        if body.tail:
            connection.sock.sendall(body.tail)
    except TimeoutError as error:
        raise httpx.WriteTimeout("timed out") from error
    except (BrokenPipeError, ConnectionResetError):
        line.check()


def _send_file(sock: socket.socket, body: FileBody, line: Line) -> None:
    with body.opened() as descriptor, open(descriptor, "rb", buffering=0, closefd=False) as file:
        sent = 0
        while sent < body.size:
            line.check()
            if os.fstat(descriptor).st_size != body.size:
                raise body.changed()
            moved = sock.sendfile(file, sent, min(SLICE_BYTES, body.size - sent))
            if not moved:
                raise body.changed()
            sent += moved
            body.tell(sent)


def _answer(connection: http.client.HTTPConnection, request: httpx.Request) -> httpx.Response:
    try:
        answer = connection.getresponse()
        content = answer.read()
    except TimeoutError as error:
        raise httpx.ReadTimeout("timed out") from error
    except http.client.IncompleteRead as error:
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body") from error
    except (http.client.BadStatusLine, http.client.LineTooLong) as error:
        # An empty status line is a connection that was closed without an answer.
        if isinstance(error, http.client.RemoteDisconnected):
            raise httpx.ReadError(str(error)) from error
        raise httpx.RemoteProtocolError(f"illegal status line: {error}") from error
    except (OSError, http.client.HTTPException) as error:
        raise httpx.ReadError(str(error)) from error
    headers = [(name, value) for name, value in answer.getheaders() if name.lower() != "transfer-encoding"]
    return httpx.Response(answer.status, headers=headers, content=content, request=request)
