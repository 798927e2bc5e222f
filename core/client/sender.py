"""Sending a large body from a thread: the event loop stays free, and a cancel breaks the connection at once."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from agentic_rl_tui.core.client.multipart import FileBody
from agentic_rl_tui.core.client.relay import Relay


class Canceled(Exception):
    """The caller gave up; raised inside the sending thread only."""


class Line:
    """What the two threads share of one exchange: its socket, and whether the caller still wants it."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None

    def use(self, connection: socket.socket | None) -> None:
        """Remember the socket, to be able to break it. Does not raise: the caller of this owns the socket."""
        self._socket = connection
        if self._stopped.is_set():
            self._break()

    def check(self) -> None:
        """Raises Canceled once the caller has given up."""
        if self._stopped.is_set():
            raise Canceled

    def stop(self) -> None:
        self._stopped.set()
        self._break()

    def _break(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed already
                self._socket.shutdown(socket.SHUT_RDWR)


Exchange = Callable[[FileBody, Line], httpx.Response]
"""Send a body and read the answer, blocking. Raises what httpx raises, InputError, Canceled."""


async def send(exchange: Exchange, body: FileBody) -> httpx.Response:
    """Run `exchange` in a thread of its own. Progress is told on the event loop's thread."""
    loop = asyncio.get_running_loop()
    progress = body.progress
    told = Relay(loop, progress) if progress is not None else None
    body.progress = told
    line = Line()
    future: asyncio.Future[httpx.Response] = loop.create_future()
    threading.Thread(target=_run, args=(exchange, body, line, future, loop), name="upload", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        line.stop()
        with contextlib.suppress(Exception):
            await future
        raise
    finally:
        body.progress = progress
        if told is not None:
            told.flush()


def through_httpx(connect: Callable[[], httpx.Client], build: Callable[[Iterator[bytes]], httpx.Request]) -> Exchange:
    """An exchange over TLS and proxies: blocking httpx, which costs half of what the event loop's does."""

    def exchange(body: FileBody, line: Line) -> httpx.Response:
        def chunks() -> Iterator[bytes]:
            for chunk in body:
                line.check()
                yield chunk

        def watch(event: str, info: dict[str, Any]) -> None:
            if event.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
                stream = info.get("return_value")
                line.use(stream.get_extra_info("socket") if stream is not None else None)

        with connect() as client:
            request = build(chunks())
            request.extensions["trace"] = watch
            return client.send(request)

    return exchange


def _run(
    exchange: Exchange,
    body: FileBody,
    line: Line,
    future: "asyncio.Future[httpx.Response]",
    loop: asyncio.AbstractEventLoop,
) -> None:
    result: httpx.Response | None = None
    failure: BaseException | None = None
    try:
        result = exchange(body, line)
    except BaseException as error:
        failure = error
    with contextlib.suppress(RuntimeError):  # the loop was closed under us; nobody waits for the answer
        loop.call_soon_threadsafe(_resolve, future, result, failure)


def _resolve(
    future: "asyncio.Future[httpx.Response]", result: httpx.Response | None, failure: BaseException | None
) -> None:
    if future.done():
        return
    if failure is not None:
        future.set_exception(failure)
    elif result is not None:
        future.set_result(result)
