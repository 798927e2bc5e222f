"""The token that TCP clients need."""

import hmac
import json
import os
from collections.abc import Iterable
from typing import Any

_OWN_KEYS = ("/oss/", "/functions/")
"""Routes with credentials of their own: a URL's signature, an instance's token."""


def new_request_id() -> str:
    """A random UUID of version 4, without an object for it: every answer has one."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"


async def send_json(
    send: Any, status: int, body: dict[str, Any], more_headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request with an object that holds its request_id, without any framework."""
    data = json.dumps(body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
        (b"x-request-id", body["request_id"].encode()),
        *more_headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


class TokenGuard:
    """Lets requests through that carry the token; for TCP, where any user of the machine can connect."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_OWN_KEYS) or self._is_allowed(scope["headers"]):
            await self._app(scope, receive, send)
            return
        body = {"request_id": new_request_id(), "code": "InvalidApiKey", "message": "Invalid API-key provided."}
        await send_json(send, 401, body)

    def _is_allowed(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        given = next((value for name, value in headers if name == b"authorization"), b"")
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)
