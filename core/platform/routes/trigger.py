"""The address of an instance, answering as the service's function server does.

A bare ASGI application: rollouts and rewards are called here thousands of times, and a framework's router, request and
response would cost more than the function's own process.
"""

import hmac
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from agentic_rl_tui.core.functions.asgi import Gone, Receive, Scope, Send, TooLarge, read_body, respond, until_hangup
from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.upstream import upstream_of
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.platform.guard import new_request_id
from agentic_rl_tui.core.platform.instances import Busy

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform
    from agentic_rl_tui.core.platform.store.functions import StoredInstance

_log = logging.getLogger(__name__)

PREFIX = "/functions/"
_MAX_BODY_BYTES = 64 << 20
_METHODS = {"api/v1": "POST", "health": "GET"}
_PARSERS = {
    FunctionKind.ROLLOUT: "RolloutRequestParser",
    FunctionKind.REWARD: "RewardRequestParser",
    FunctionKind.GROUP_REWARD: "GroupRewardRequestParser",
}
Answer = tuple[int, Any]


class TriggerApp:
    """Serves what lies below `PREFIX`. platform gives the platform once it is there."""

    def __init__(self, platform: "Callable[[], Platform]") -> None:
        self._platform = platform

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, content, *headers = await self._answer(scope, receive)
        request_id = (b"x-request-id", new_request_id().encode())
        await respond(send, status, content, request_id, *headers, encode=msgspec.json.encode)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[Any, ...]:
        platform = self._platform()
        instance_id, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        instance = platform.functions.instance(instance_id)
        if instance is None or not rest:
            return _detail(404, "Not Found")
        if not _is_allowed(scope, instance.token.encode()):
            return _detail(401, "Invalid trigger token")
        if rest == "api/v1/":
            return 307, None, (b"location", scope["path"].rstrip("/").encode())
        wanted = _METHODS.get(rest)
        if wanted is None:
            return _detail(404, "Not Found")
        if scope["method"] != wanted:
            return *_detail(405, "Method Not Allowed"), (b"allow", wanted.encode())
        try:
            if wanted == "GET":
                return await _health(platform, instance)
            return await _invoke(scope, receive, platform, instance)
        except Gone:
            return _message(499, "Request cancelled.")
        except TooLarge:
            return _detail(413, "Request body too large")
        except Busy:
            return _detail(503, "Server is busy, please try again later.")
        except ArlError as error:
            return _message(500, error.message)
        except Exception:
            _log.exception("a call of %s failed inside the platform", instance_id)
            return _message(500, "The platform has a fault; its log says more.")


def _is_allowed(scope: Scope, token: bytes) -> bool:
    given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, told = given.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(told.strip(), token)


async def _health(platform: "Platform", instance: "StoredInstance") -> Answer:
    await platform.instances.start(instance)
    entity = platform.functions.entity(instance.entity_id)
    if entity is None:
        return _detail(404, "Not Found")
    return 200, {
        "status": "healthy",
        "func_type": entity.kind,
        "processor": entity.class_name,
        "parser": _PARSERS[entity.kind],
    }


async def _invoke(scope: Scope, receive: Receive, platform: "Platform", instance: "StoredInstance") -> Answer:
    try:
        payload = msgspec.json.decode(await read_body(receive, _MAX_BODY_BYTES))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _detail(400, f"Invalid JSON body: {error}")
    if not isinstance(payload, dict):
        return _detail(422, f"Request parsing error: expected a JSON object, got {type(payload).__name__}")
    call = platform.instances.call(instance, payload, upstream=upstream_of(scope["headers"]))
    return answer(await until_hangup(receive, call))


def answer(result: CallResult) -> Answer:
    """HTTP status and body: what the function server would say about a call."""
    message = result.error.message if result.error is not None else ""
    if result.status in (CallStatus.OK, CallStatus.FAILED):
        return 200, result.output
    if result.status is CallStatus.INVALID_OUTPUT and result.unchecked is not None:
        return 200, result.unchecked
    if result.status is CallStatus.INVALID_INPUT:
        return _detail(
            422, message if message.startswith("Request parsing error") else f"Request parsing error: {message}"
        )
    if result.status is CallStatus.CANCELED:
        return _message(499, "Request cancelled.")
    return _message(500, message or f"The call ended as {result.status}.")


def _detail(status: int, text: str) -> Answer:
    return status, {"detail": text}


def _message(status: int, text: str) -> Answer:
    return status, {"message": text}
