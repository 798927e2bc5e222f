"""The address of an instance, answering as the service's function server does."""

import asyncio
import hmac
import logging
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.platform.instances import Busy
from agentic_rl_tui.core.platform.wire import json_response

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform
    from agentic_rl_tui.core.platform.store.functions import StoredInstance

_log = logging.getLogger(__name__)

_MAX_BODY_BYTES = 64 << 20
_PARSERS = {
    FunctionKind.ROLLOUT: "RolloutRequestParser",
    FunctionKind.REWARD: "RewardRequestParser",
    FunctionKind.GROUP_REWARD: "GroupRewardRequestParser",
}


async def serve(request: Request) -> Response:
    platform: Platform = request.app.state.platform
    rest = request.path_params["rest"]
    instance = platform.functions.instance(request.path_params["instance_id"])
    if instance is None:
        return _detail(404, "Not Found")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), instance.token.encode()):
        return _detail(401, "Invalid trigger token")
    if rest == "api/v1/":
        return RedirectResponse(str(request.url.replace(path=request.url.path.rstrip("/"))), 307)
    wanted = {"api/v1": "POST", "health": "GET"}.get(rest)
    if wanted is None:
        return _detail(404, "Not Found")
    if request.method != wanted:
        return json_response({"detail": "Method Not Allowed"}, 405, headers={"Allow": wanted})
    try:
        return await (_invoke if rest == "api/v1" else _health)(request, platform, instance)
    except ClientDisconnect:
        return Response(status_code=499)
    except Busy:
        return _detail(503, "Server is busy, please try again later.")
    except ArlError as error:
        return _message(500, error.message)
    except Exception:
        _log.exception("a call of %s failed inside the platform", instance.instance_id)
        return _message(500, "The platform has a fault; its log says more.")


async def _health(_request: Request, platform: "Platform", instance: "StoredInstance") -> Response:
    await platform.instances.start(instance)
    entity = platform.functions.entity(instance.entity_id)
    if entity is None:
        return _detail(404, "Not Found")
    return json_response(
        {
            "status": "healthy",
            "func_type": entity.kind,
            "processor": entity.class_name,
            "parser": _PARSERS[entity.kind],
        }
    )


async def _invoke(request: Request, platform: "Platform", instance: "StoredInstance") -> Response:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY_BYTES:
            return _detail(413, "Request body too large")
    try:
        payload = msgspec.json.decode(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _detail(400, f"Invalid JSON body: {error}")
    if not isinstance(payload, dict):
        return _detail(422, f"Request parsing error: expected a JSON object, got {type(payload).__name__}")
    call = asyncio.create_task(platform.instances.call(instance, payload))
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({call, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            return _message(499, "Request cancelled.")
        return answer(call.result())
    finally:
        for task in (call, gone):
            task.cancel()
        await asyncio.gather(call, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def answer(result: CallResult) -> Response:
    """What the function server would say about a call."""
    message = result.error.message if result.error is not None else ""
    if result.status in (CallStatus.OK, CallStatus.FAILED):
        return json_response(result.output)
    if result.status is CallStatus.INVALID_OUTPUT and result.unchecked is not None:
        return json_response(result.unchecked)
    if result.status is CallStatus.INVALID_INPUT:
        return _detail(
            422, message if message.startswith("Request parsing error") else f"Request parsing error: {message}"
        )
    if result.status is CallStatus.CANCELED:
        return _message(499, "Request cancelled.")
    return _message(500, message or f"The call ended as {result.status}.")


def _detail(status: int, text: str) -> Response:
    return json_response({"detail": text}, status)


def _message(status: int, text: str) -> Response:
    return json_response({"message": text}, status)


routes: list[BaseRoute] = [
    Route(
        "/functions/{instance_id}/{rest:path}",
        serve,
        methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    )
]
