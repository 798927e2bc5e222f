"""The OpenAI-compatible address at which rollouts find the model, each with a key of its own."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agentic_rl_tui.core.platform.engine import chat_request, chat_wire
from agentic_rl_tui.core.platform.engine.policy import ModelFault, ModelReply, ModelRequest, Place, Policy
from agentic_rl_tui.core.platform.engine.session import Session

_log = logging.getLogger(__name__)

_MAX_BODY_BYTES = 32 * 1024 * 1024
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
"""The header by which a traced client names its span, as the W3C has it."""


class Gateway:
    """Serves ``POST /v1/chat/completions`` and ``GET /v1/models``.

    base_url is where `app` can be reached, with or without ``/v1``; it is set once the port is known. A key works
    from `open` to `close` of its session and finds the session's data row and policy.
    """

    def __init__(self, *, base_url: str = "", timer: Callable[[], float] = time.perf_counter) -> None:
        self.base_url = base_url
        self._timer = timer
        self._sessions: dict[str, Session] = {}
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._models, methods=["GET"]),
                Route("/v1/models/{name:path}", self._model, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _http_error},
        )

    @property
    def model_url(self) -> str:
        """What goes into ``model_resource.base_url``."""
        url = self.base_url.rstrip("/")
        return url if url.endswith("/v1") else f"{url}/v1"

    @property
    def open_sessions(self) -> int:
        return len(self._sessions)

    def open(self, policy: Policy, place: Place, *, keeps_drafts: bool = False) -> Session:
        session = Session(policy, place, keeps_drafts=keeps_drafts)
        self._sessions[session.key] = session
        return session

    def find(self, key: str) -> Session | None:
        """The open session that `key` belongs to."""
        return self._sessions.get(key)

    def close(self, session: Session) -> None:
        session.is_open = False
        self._sessions.pop(session.key, None)

    async def ask(
        self, session: Session, request: ModelRequest, *, streamed: bool = False, span: str = ""
    ) -> ModelReply:
        """Answer one call for a session and note it, with the span it was made in. Raises ModelFault."""
        began = self._timer()
        try:
            reply = await session.policy.answer(request, session.place, session.call_path(request.messages))
        except ModelFault as fault:
            session.note_fault(request, fault.message, self._timer() - began, span=span)
            raise
        if session.is_open:
            session.note(request, reply, self._timer() - began, streamed=streamed, span=span)
        return reply

    async def _chat(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return _unauthorised(request)
        try:
            chat, is_stream, wants_usage = chat_request.parse(await _body(request))
            reply = await self.ask(session, chat, streamed=is_stream, span=_span_of(request))
        except ModelFault as fault:
            return _fault(fault)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception:
            _log.exception("a model call failed inside the platform")
            return _error(500, "The platform has a fault; its log says more.", kind="server_error")
        reply_id, created = f"chatcmpl-{uuid.uuid4().hex[:24]}", int(time.time())
        if not is_stream:
            return _json(chat_wire.completion_body(reply, reply_id, created))
        events = chat_wire.stream_events(reply, reply_id, created, with_usage=wants_usage)
        return StreamingResponse(_each(events), media_type="text/event-stream")

    async def _models(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return _unauthorised(request)
        return _json({"object": "list", "data": [_model_object(session.policy.name)]})

    async def _model(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return _unauthorised(request)
        name = request.path_params["name"]
        if name != session.policy.name:
            message = f"The model '{name}' does not exist; this gateway serves '{session.policy.name}'."
            return _error(404, message, code="model_not_found")
        return _json(_model_object(name))

    def _session(self, request: Request) -> Session | None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return self.find(key.strip()) if scheme.lower() == "bearer" else None


def _span_of(request: Request) -> str:
    """Id of the span that the client says it calls from; empty without one."""
    found = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return "" if found is None else found[1]


async def _each(events: Any) -> Any:
    for event in events:
        yield event


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY_BYTES:
            raise ModelFault("The body of the request is larger than 32 MB.", status=413)
        parts.append(part)
    return b"".join(parts)


def _model_object(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "agentic-rl-tui"}


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> Response:
    return _json({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


def _fault(fault: ModelFault) -> Response:
    return _error(fault.status, fault.message, kind=fault.kind, param=getattr(fault, "param", None), code=fault.code)


def _unauthorised(request: Request) -> Response:
    if not request.headers.get("authorization"):
        message = "You didn't provide an API key: pass model_resource.api_key as a bearer token."
    elif request.headers["authorization"].endswith("**"):
        message = "Incorrect API key provided: it is masked. Pass model_resource.api_key.get_secret_value()."
    else:
        message = "Incorrect API key provided: it belongs to no rollout that runs now."
    return _error(401, message, code="invalid_api_key")


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        message = f"Unknown request URL: {request.method} {request.url.path}. Only chat completions are served here."
        return _error(404, message, code="unknown_url")
    if status == 405:
        return _error(405, f"Method {request.method} is not allowed for {request.url.path}.", code="method_not_allowed")
    return _error(status, str(getattr(error, "detail", error)), kind="server_error")
