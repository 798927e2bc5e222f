"""Requests and answers in the service's shapes."""

import errno
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from agentic_rl_tui.core.models.errors import (
    AccessDenied,
    ArlError,
    AuthError,
    Conflict,
    InputError,
    NotFound,
    PackageError,
    PlatformError,
    RateLimited,
    Rejected,
)
from agentic_rl_tui.core.platform import ids
from agentic_rl_tui.core.platform.guard import new_request_id

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_log = logging.getLogger(__name__)

MAX_JSON_BYTES = 16 << 20
_SHOWN_CHARS = 200
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_DEFAULT_HOST = "platform.local"

_STATUS_OF: tuple[tuple[type[ArlError], int, str], ...] = (
    (NotFound, 404, "NotFound"),
    (AuthError, 401, "InvalidApiKey"),
    (AccessDenied, 403, "AccessDenied"),
    (Conflict, 409, "Conflict"),
    (RateLimited, 429, "Throttling"),
    (Rejected, 400, "InvalidParameter"),
    (PackageError, 400, "InvalidParameter"),
    (InputError, 400, "InvalidParameter"),
)
_CODE_OF = {404: "NotFound", 405: "MethodNotAllowed", 413: "PayloadTooLarge"}

Handler = Callable[[Request, "Platform"], Awaitable["dict[str, Any] | Response"]]


def invalid(message: str) -> Rejected:
    return Rejected(message, status=400, code="InvalidParameter")


def unsupported(message: str) -> Conflict:
    """The object's state forbids what was asked for."""
    return Conflict(message, status=400, code="UnsupportedOperation")


def too_large(message: str) -> Rejected:
    return Rejected(message, status=413, code="PayloadTooLarge")


def endpoint(path: str, **handlers: Handler) -> Route:
    """A route that serves each method, named in lower case, with its handler.

    A handler answers a JSON object, which gets the request's id in front, or a whole response.
    """
    by_method = {method.upper(): handler for method, handler in handlers.items()}

    async def serve(request: Request) -> Response:
        handler = by_method["GET" if request.method == "HEAD" else request.method]
        try:
            answer = await handler(request, request.app.state.platform)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            if _is_out_of_space(error):
                return refusal(request, PlatformError("The platform's disk is full; free some space and try again."))
            if isinstance(error, ArlError):
                return refusal(request, error)
            _log.exception("%s %s failed, request %s", request.method, request.url.path, request_id(request))
            return envelope(
                request, {"code": "InternalError", "message": "The platform has a fault; its log says more."}, 500
            )
        return answer if isinstance(answer, Response) else envelope(request, answer)

    return Route(path, serve, methods=list(by_method))


def _is_out_of_space(error: BaseException | None) -> bool:
    """Whether a full disk is behind an error, whatever it was made of."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False


def envelope(request: Request, body: Mapping[str, Any], status: int = 200) -> Response:
    return json_response({"request_id": request_id(request), **body}, status)


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


def refusal(request: Request, error: ArlError) -> Response:
    """The service's error body for an error of ours."""
    status, code = next(
        ((status, code) for kind, status, code in _STATUS_OF if isinstance(error, kind)), (500, "InternalError")
    )
    status = error.status or status
    if status >= 500:
        _log.error("%s %s: %s", request.method, request.url.path, error)
    return envelope(request, {"code": error.code or code, "message": error.message}, status)


async def http_exception(request: Request, error: Exception) -> Response:
    """Unknown routes and methods, in the service's error body."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 404:
        message = f"There is no route {request.method} {request.url.path[:_SHOWN_CHARS]}"
    elif error.status_code == 405:
        message = f"{request.url.path[:_SHOWN_CHARS]} does not take {request.method}"
    else:
        message = error.detail
    code = _CODE_OF.get(error.status_code, "InvalidParameter")
    response = envelope(request, {"code": code, "message": message}, error.status_code)
    response.headers.update(error.headers or {})
    return response


def request_id(request: Request) -> str:
    """The id of this request, made at its first use."""
    state = request.scope.setdefault("state", {})
    if "request_id" not in state:
        state["request_id"] = new_request_id()
    return str(state["request_id"])


async def read_object(request: Request, *, limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The body as a JSON object; an empty body is an empty object. Raises Rejected (400, 413)."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(f"The body is larger than {limit} bytes")
    if not body.strip():
        return {}
    try:
        value = msgspec.json.decode(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(f"The body is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise invalid("The body must be a JSON object")
    return value


def path_id(request: Request, name: str) -> str:
    """An id from the path. Raises Rejected for characters that no id has."""
    value = str(request.path_params[name])
    if not ids.is_plain(value):
        raise invalid(f"{name} {value[:_SHOWN_CHARS]!r} is not a valid id")
    return value


def text(body: Mapping[str, Any], key: str, *, limit: int = 1 << 20) -> str:
    """A required, non-empty text of a body. Raises Rejected."""
    value = body.get(key)
    if not isinstance(value, str) or not value.strip():
        raise invalid(f"{key} is required and must be a text")
    if len(value) > limit:
        raise invalid(f"{key} is longer than {limit} characters")
    return value


def whole(request: Request, key: str, default: int) -> int:
    """A whole number of the query string. Raises Rejected."""
    value = request.query_params.get(key)
    if value is None or value == "":
        return default
    try:
        return int(value)
    except ValueError:
        raise invalid(f"{key} must be a whole number, not {value[:40]!r}") from None


def paging(request: Request, *, default_size: int = 10, max_size: int = 100) -> tuple[int, int]:
    """page_no and page_size of the query string, within the service's limits. Raises Rejected."""
    page_no, page_size = whole(request, "page_no", 1), whole(request, "page_size", default_size)
    if not 1 <= page_no <= 1 << 40:
        raise invalid("page_no must be at least 1")
    if not 1 <= page_size <= max_size:
        raise invalid(f"page_size must lie between 1 and {max_size}")
    return page_no, page_size


def own_url(request: Request, path: str) -> str:
    """A URL of ours that the caller can reach: on the host it called."""
    host = request.headers.get("host", "")
    return f"http://{host if _HOST.fullmatch(host) else _DEFAULT_HOST}{path}"


def clock_text(moment_s: float) -> str:
    """A time as the service writes it, in the machine's own zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment_s))
