"""A local HTTP server for one function, for people who call it with curl.

It answers like the vendor's function server: ``POST /api/v1`` and ``GET /health``, client mistakes under ``detail``,
faults of the function under ``message``, and what is no answer of the function's kind as it is. What it adds: faults
carry ``type`` and ``traceback``, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
import uvicorn

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.pool import FunctionPool

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

CALL_PATH, HEALTH_PATH = "/api/v1", "/health"
MAX_BODY_BYTES = 64 << 20
BUSY = "Server is busy, please try again later."
_LEFT_EARLY = {"SystemExit", "CancelledError"}


class _Gone(Exception):
    """The client hung up."""


class _Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class FunctionApp:
    """ASGI. pool must be running. queue_limit: how many requests may wait for a free place; more are refused (503)."""

    def __init__(self, pool: FunctionPool, *, queue_limit: int = 1000) -> None:
        self._pool = pool
        self._queue_limit = queue_limit
        kind = pool.spec.kind.value
        self._about = {
            "status": "healthy",
            "func_type": kind,
            "processor": pool.spec.classpath.class_name,
            "parser": "".join(part.title() for part in kind.split("_")) + "RequestParser",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        if path == CALL_PATH and method == "POST":
            await self._serve(receive, send)
        elif path == HEALTH_PATH and method in {"GET", "HEAD"}:
            await _answer(send, 200, self._about)
        elif path in {CALL_PATH, HEALTH_PATH}:
            allowed = b"POST" if path == CALL_PATH else b"GET"
            await _answer(send, 405, {"detail": "Method Not Allowed"}, (b"allow", allowed))
        elif path.rstrip("/") in {CALL_PATH, HEALTH_PATH}:
            await _answer(send, 307, None, (b"location", path.rstrip("/").encode()))
        else:
            await _answer(send, 404, {"detail": "Not Found"})

    async def _serve(self, receive: Receive, send: Send) -> None:
        try:
            payload = _parse(await _body(receive))
            if self._pool.waiting >= self._queue_limit:
                raise _Refused(503, BUSY)
            result = await self._call(payload, receive)
        except _Gone:
            return
        except _Refused as refusal:
            await _answer(send, refusal.status, {"detail": refusal.detail})
            return
        await _answer(send, *_told(result))

    async def _call(self, payload: dict[str, Any], receive: Receive) -> CallResult:
        """Call the function, and cancel that when the client hangs up first."""
        call = asyncio.ensure_future(self._pool.call(payload))
        hangup = asyncio.ensure_future(_hangup(receive))
        try:
            await asyncio.wait({call, hangup}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise _Gone
            return call.result()
        finally:
            for task in (call, hangup):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hangup


async def serve(
    pool: FunctionPool,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    queue_limit: int = 1000,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a running pool until the task is canceled or the process gets SIGINT or SIGTERM.

    port 0 takes a free one; on_ready gets the base URL. Raises OSError when the port is taken.
    """
    config = uvicorn.Config(
        FunctionApp(pool, queue_limit=queue_limit), log_config=None, lifespan="off", timeout_graceful_shutdown=3
    )
    sock = await asyncio.to_thread(_listen, host, port)
    if on_ready is not None:
        on_ready(f"http://{host}:{sock.getsockname()[1]}")
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
        sock.close()


def _listen(host: str, port: int) -> Any:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise _Refused(413, f"The body is larger than {MAX_BODY_BYTES >> 20} MB")
        if not message.get("more_body"):
            return b"".join(parts)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            payload = json.loads(body)
        except ValueError as error:
            raise _Refused(400, f"Invalid JSON body: {error}") from None
    if not isinstance(payload, dict):
        raise _Refused(422, f"Request parsing error: expected a JSON object, got {type(payload).__name__}")
    return payload


async def _hangup(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _told(result: CallResult) -> tuple[int, dict[str, Any]]:
    """HTTP status and body of a result."""
    answer = result.output if result.output is not None else result.unchecked
    if answer is not None:
        return 200, answer
    error = result.error
    assert error is not None
    if result.status is CallStatus.INVALID_INPUT:
        return 422, {"detail": f"Request parsing error: {error.message}"}
    if result.status is CallStatus.CANCELED or error.type in _LEFT_EARLY:
        return 499, {"message": "Request cancelled."}
    return 500, {"message": error.message, "type": error.type, "traceback": error.traceback}


async def _answer(send: Send, status: int, content: dict[str, Any] | None, *headers: tuple[bytes, bytes]) -> None:
    body = b"" if content is None else orjson.dumps(content)
    fixed = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
