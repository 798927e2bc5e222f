"""A local HTTP server for one function, for people who call it with curl.

It answers like the vendor's function server: ``POST /api/v1`` and ``GET /health``, client mistakes under ``detail``,
faults of the function under ``message``, and what is no answer of the function's kind as it is. What it adds: faults
carry ``type`` and ``traceback``, too.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import orjson
import uvicorn
import uvloop

from agentic_rl_tui.core.functions.asgi import Gone, Receive, Scope, Send, TooLarge, read_body, respond, until_hangup
from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.http_protocol import JoinedHttp
from agentic_rl_tui.core.functions.pool import FunctionPool
from agentic_rl_tui.core.functions.upstream import upstream_of

T = TypeVar("T")

CALL_PATH, HEALTH_PATH = "/api/v1", "/health"
MAX_BODY_BYTES = 64 << 20
BUSY = "Server is busy, please try again later."
_LEFT_EARLY = {"SystemExit", "CancelledError"}


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
            await self._serve(scope, receive, send)
        elif path == HEALTH_PATH and method in {"GET", "HEAD"}:
            await respond(send, 200, self._about)
        elif path in {CALL_PATH, HEALTH_PATH}:
            allowed = b"POST" if path == CALL_PATH else b"GET"
            await respond(send, 405, {"detail": "Method Not Allowed"}, (b"allow", allowed))
        elif path.rstrip("/") in {CALL_PATH, HEALTH_PATH}:
            await respond(send, 307, None, (b"location", path.rstrip("/").encode()))
        else:
            await respond(send, 404, {"detail": "Not Found"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            payload = _parse(await read_body(receive, MAX_BODY_BYTES))
            if self._pool.waiting >= self._queue_limit:
                raise _Refused(503, BUSY)
            result = await until_hangup(receive, self._pool.call(payload, upstream=upstream_of(scope["headers"])))
        except Gone:
            return
        except TooLarge:
            await respond(send, 413, {"detail": f"The body is larger than {MAX_BODY_BYTES >> 20} MB"})
        except _Refused as refusal:
            await respond(send, refusal.status, {"detail": refusal.detail})
        else:
            await respond(send, *_told(result))


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
        FunctionApp(pool, queue_limit=queue_limit),
        http=JoinedHttp,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=3,
    )
    sock = await asyncio.to_thread(listen, host, port)
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


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program that serves, on a loop that takes a third less time a call than asyncio's own."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def listen(host: str, port: int) -> socket.socket:
    """A TCP listener. Raises OSError when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=1024)
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, and without it the second of
    # two writes waits 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _parse(body: bytes) -> dict[str, Any]:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _Refused(400, f"Invalid JSON body: {error}") from None
    if not isinstance(payload, dict):
        raise _Refused(422, f"Request parsing error: expected a JSON object, got {type(payload).__name__}")
    return payload


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
