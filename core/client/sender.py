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


class BodySender:
    """One request with a body that is read while it is sent. Blocking reads and sends cost half of what the event
    loop's do, and a slow disk does not hold up anything else.
    """

    def __init__(self, connect: Callable[[], httpx.Client], build: Callable[[Iterator[bytes]], httpx.Request]) -> None:
        self._connect = connect
        self._build = build
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None

    async def send(self, body: FileBody) -> httpx.Response:
        """The read response. Progress is told on the event loop's thread. Raises what httpx raises."""
        loop = asyncio.get_running_loop()
        progress = body.progress
        told = Relay(loop, progress) if progress is not None else None
        body.progress = told
        future: asyncio.Future[httpx.Response] = loop.create_future()
        thread = threading.Thread(target=self._run, args=(body, future, loop), name="upload", daemon=True)
        thread.start()
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self._stop()
            with contextlib.suppress(Exception):
                await future
            raise
        finally:
            body.progress = progress
            if told is not None:
                told.flush()

    def _run(self, body: FileBody, future: "asyncio.Future[httpx.Response]", loop: asyncio.AbstractEventLoop) -> None:
        result: httpx.Response | None = None
        failure: BaseException | None = None
        try:
            with self._connect() as client:
                request = self._build(self._chunks(body))
                request.extensions["trace"] = self._watch
                result = client.send(request)
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop was closed under us; nobody waits for the answer
            loop.call_soon_threadsafe(_resolve, future, result, failure)

    def _chunks(self, body: FileBody) -> Iterator[bytes]:
        for chunk in body:
            if self._stopped.is_set():
                raise Canceled
            yield chunk

    def _watch(self, event: str, info: dict[str, Any]) -> None:
        """Remember the socket of the connection, to be able to break it. Must not raise: the socket would be lost."""
        if not event.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
            return
        stream = info.get("return_value")
        self._socket = stream.get_extra_info("socket") if stream is not None else None
        if self._stopped.is_set():
            self._break()

    def _stop(self) -> None:
        self._stopped.set()
        self._break()

    def _break(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed already
                self._socket.shutdown(socket.SHUT_RDWR)


def _resolve(
    future: "asyncio.Future[httpx.Response]", result: httpx.Response | None, failure: BaseException | None
) -> None:
    if future.done():
        return
    if failure is not None:
        future.set_exception(failure)
    elif result is not None:
        future.set_result(result)
