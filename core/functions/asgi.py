"""What two bare ASGI applications have in common: a body read whole, a call that ends with its caller, an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

import orjson

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

_WATCH_AFTER_S = 0.02
_JSON = (b"content-type", b"application/json")


class Gone(Exception):
    """The client hung up."""


class TooLarge(Exception):
    """The body has more bytes than are read."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """Raises Gone, and TooLarge beyond `limit` bytes."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise TooLarge
        return body
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise TooLarge
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


async def until_hangup(receive: Receive, call: Coroutine[Any, Any, T]) -> T:
    """Await a call, and cancel it when the client hangs up first. Raises Gone then.

    The call runs in the task of its request, and only calls that last are watched: two tasks less a call.
    """
    me = asyncio.current_task()
    assert me is not None
    loop = asyncio.get_running_loop()
    watching: asyncio.Task[None] | None = None
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        me.cancel()

    def begin() -> None:
        nonlocal watching
        watching = loop.create_task(watch())

    soon = loop.call_later(_WATCH_AFTER_S, begin)
    try:
        return await call
    except asyncio.CancelledError:
        if gone and not me.uncancel():
            raise Gone from None
        raise
    finally:
        soon.cancel()
        if watching is not None:
            watching.cancel()


async def respond(
    send: Send, status: int, content: Any, *headers: tuple[bytes, bytes], encode: Callable[[Any], bytes] = orjson.dumps
) -> None:
    """Answer with JSON; content None is an answer without a body."""
    body = b"" if content is None else encode(content)
    fixed = [_JSON, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fixed})
    await send({"type": "http.response.body", "body": body})
