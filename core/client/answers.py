"""Reading answers: what counts as success, and one clear error for everything else."""

import html
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import orjson
from pydantic import BaseModel, ValidationError

from agentic_rl_tui.core.client.retry import parse_retry_after
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.models.text import plain

M = TypeVar("M", bound=BaseModel)

_FINE = (None, "", 0, 200, "0", "200", "success", "Success", "SUCCESS", "OK", "ok")
_EXCERPT = 200
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object with a 2xx status in which the service claims no error."""

    body: dict[str, Any]
    status: int
    request_id: str | None
    method: str
    path: str

    def part(self, *names: str) -> dict[str, Any]:
        """The first of `names` (``output``, ``data``) that holds an object. Raises BadResponse with the facts."""
        for name in names:
            value = self.body.get(name)
            if isinstance(value, dict):
                return value
        raise self.bad(_("the answer has no {names} object").format(names=", ".join(repr(name) for name in names)))

    def text(self, name: str, *, part: str = "output") -> str:
        """A field that must be a text with something in it."""
        value = self.part(part).get(name)
        if isinstance(value, str) and value.strip():
            return value
        raise self.bad(_("the answer has no {part}.{name}").format(part=part, name=name))

    def model(self, kind: type[M], value: Any) -> M:
        """`value` as a model; fields of an unexpected type are set aside rather than failing the whole."""
        if not isinstance(value, dict):
            raise self.bad(_("the answer holds no {kind} object").format(kind=kind.__name__))
        try:
            return tolerant(kind, value)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"])) or kind.__name__
            raise self.bad(_("the answer's {where} is missing or unusable").format(where=where)) from error

    def bad(self, message: str) -> errors.BadResponse:
        excerpt = plain(orjson.dumps(self.body).decode("utf-8", "replace"), keep_newlines=False)[:_EXCERPT]
        error = errors.BadResponse(
            f"{message}: {excerpt}",
            advice=_("The service answered in a way this program does not know; quote the request id."),
            status=self.status,
            request_id=self.request_id,
            method=self.method,
            path=self.path,
        )
        error.outcome_unknown = True
        return error


def tolerant(kind: type[M], data: dict[str, Any]) -> M:
    """Validate; a known field of a wrong type becomes text where the field is one, else it is set aside.

    What was set aside is kept as the extra ``<field>_raw``. Raises ValidationError when a required field is missing.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        fixed = dict(data)
        for problem in error.errors():
            name = str(problem["loc"][0]) if problem["loc"] else ""
            if name not in fixed:
                continue
            value = fixed.pop(name)
            if problem["type"] == "string_type" and isinstance(value, int | float):
                fixed[name] = str(value)
            else:
                fixed[f"{name}_raw"] = value
        return kind.model_validate(fixed)


def read(response: httpx.Response) -> Answer:
    """Judge a read response: HTTP status first, then what the body says of itself. Raises the matching ArlError."""
    request = response.request
    method, path = request.method, request.url.path
    request_id = response.headers.get("x-request-id")
    content = response.content
    if response.is_redirect:
        raise errors.BadResponse(
            _("the server sends this request elsewhere: {address}").format(
                address=plain(response.headers.get("location", "?"))
            ),
            advice=_("Correct the base URL; requests with a key are not forwarded."),
            status=response.status_code,
            method=method,
            path=path,
        )
    if response.status_code == 204 or (not content and response.is_success and method == "DELETE"):
        return Answer({}, response.status_code, request_id, method, path)
    body = _decode(content)
    if response.is_success:
        if not isinstance(body, dict):
            raise _unreadable(response, content, body)
        request_id = _first_text(body, "request_id", "RequestId", "requestId") or request_id
        answer = Answer(body, response.status_code, request_id, method, path)
        _refuse_error_inside(answer)
        return answer
    raise _failure(response, content, body)


class _Undecodable:
    pass


_UNDECODABLE = _Undecodable()


def _decode(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return _UNDECODABLE


def _unreadable(response: httpx.Response, content: bytes, body: Any) -> errors.BadResponse:
    if not content.strip():
        what = _("an empty answer")
    elif _is_html(response, content):
        what = _("an HTML page{title} instead of the service's answer, probably from a proxy").format(
            title=_title(content)
        )
    elif isinstance(body, _Undecodable):
        what = _("an answer that is not JSON: {content}").format(content=_excerpt(content))
    else:
        what = _("a JSON {kind} where an object was expected: {content}").format(
            kind=_json_name(body), content=_excerpt(content)
        )
    error = errors.BadResponse(
        _("{host} sent {what}").format(host=response.request.url.host, what=what),
        status=response.status_code,
        request_id=response.headers.get("x-request-id"),
        method=response.request.method,
        path=response.request.url.path,
    )
    error.outcome_unknown = True
    return error


def _failure(response: httpx.Response, content: bytes, body: Any) -> errors.ArlError:
    status = response.status_code
    code = message = None
    request_id = response.headers.get("x-request-id")
    if isinstance(body, dict):
        inner = body.get("error") if isinstance(body.get("error"), dict) else {}
        code = _first_text(body, "code", "Code") or _first_text(inner, "code", "type")
        message = _first_text(body, "message", "Message", "detail") or _first_text(inner, "message")
        request_id = _first_text(body, "request_id", "RequestId", "requestId") or request_id
        if message is None and body.get("detail") is not None:
            message = _detail(body["detail"])
    elif _is_html(response, content):
        if status < 500:
            return _unreadable(response, content, body)
        message = _("HTTP {status} with an HTML page{title} from a proxy or gateway").format(
            status=status, title=_title(content)
        )
    if message is None:
        shown = _excerpt(content) if content.strip() and not isinstance(body, dict) else ""
        reason = response.reason_phrase or _("no reason given")
        message = f"{reason}: {shown}" if shown else reason
    return by_status(
        status,
        message,
        code=code,
        request_id=request_id,
        method=response.request.method,
        path=response.request.url.path,
        retry_after_s=_retry_after(response),
    )


def by_status(
    status: int,
    message: str,
    *,
    code: str | None = None,
    request_id: str | None = None,
    method: str | None = None,
    path: str | None = None,
    retry_after_s: float | None = None,
) -> errors.ArlError:
    """The error class of an HTTP status; the service's own code wins where it is more exact."""
    kind = _BY_CODE.get((code or "").partition(".")[0]) or _BY_STATUS.get(status)
    if kind is None:
        kind = errors.ServerError if status >= 500 else errors.Rejected
    text = plain(message[:_LONGEST], keep_newlines=False)
    error: errors.ArlError = kind(text, status=status, code=code, request_id=request_id, method=method, path=path)
    error.retry_after_s = retry_after_s
    error.outcome_unknown = status >= 500 or status == 408
    if code == "Arrearage":
        error.advice = _("The account has unpaid bills; pay them in the console, then try again.")
    return error


_BY_STATUS: dict[int, type[errors.ArlError]] = {
    401: errors.AuthError,
    403: errors.AccessDenied,
    404: errors.NotFound,
    408: errors.TimedOut,
    409: errors.Conflict,
    429: errors.RateLimited,
}
_BY_CODE: dict[str, type[errors.ArlError]] = {
    "InvalidApiKey": errors.AuthError,
    "AccessDenied": errors.AccessDenied,
    "NotFound": errors.NotFound,
    "Conflict": errors.Conflict,
    "UnsupportedOperation": errors.Conflict,
    "Throttling": errors.RateLimited,
    "InvalidParameter": errors.Rejected,
    "Arrearage": errors.AccessDenied,
    "InternalError": errors.ServerError,
}


_LOCAL = "/local/v1/"


def _refuse_error_inside(answer: Answer) -> None:
    """Raise for an error that a 2xx body carries: an own status, ``success: false``, or a code without a result.

    What only the local platform tells is not searched for one: it tells errors by the status alone, and the code in
    the report of a job that failed is the job's.
    """
    if answer.path.startswith(_LOCAL):
        return
    body = answer.body
    facts: dict[str, Any] = {"request_id": answer.request_id, "method": answer.method, "path": answer.path}
    message = _first_text(body, "message", "Message") or ""
    own = body.get("status")
    if isinstance(own, dict):
        inner = own.get("code")
        if inner not in _FINE:
            number = inner if isinstance(inner, int) and 400 <= inner < 600 else answer.status
            text = _first_text(own, "message") or message or _("the service reports an error inside its answer")
            raise by_status(number, text, code=_first_text(body, "code") or str(inner), **facts)
    has_result = any(body.get(name) for name in ("output", "data"))
    code = body.get("code", body.get("Code"))
    if body.get("success") is False or (code not in _FINE and not has_result):
        text = message or _("the service refused the request without saying why")
        number = code if isinstance(code, int) and 400 <= code < 600 else answer.status
        raise by_status(number, text, code=None if code in _FINE else str(code), **facts)


def _retry_after(response: httpx.Response) -> float | None:
    exact = response.headers.get("retry-after-ms")
    if exact is not None and exact.strip().isdigit():
        return int(exact) / 1000
    return parse_retry_after(response.headers.get("retry-after"))


def _first_text(body: dict[str, Any] | None, *names: str) -> str | None:
    for name in names:
        value = (body or {}).get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def _detail(detail: Any) -> str:
    """A FastAPI-style list of field problems as one sentence."""
    if isinstance(detail, list):
        parts = []
        for item in detail:
            if isinstance(item, dict):
                where = ".".join(str(step) for step in item.get("loc", ()))
                parts.append(f"{where}: {item.get('msg', '?')}" if where else str(item.get("msg", item)))
            else:
                parts.append(str(item))
        return "; ".join(parts)
    return str(detail)


def _is_html(response: httpx.Response, content: bytes) -> bool:
    kind = response.headers.get("content-type", "")
    return "html" in kind or content.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))


def _title(content: bytes) -> str:
    found = re.search(rb"<title[^>]*>(.*?)</title>", content[:20_000], re.IGNORECASE | re.DOTALL)
    if found is None:
        return ""
    title = " ".join(html.unescape(found[1].decode("utf-8", "replace")).split())
    return f" (“{plain(title, keep_newlines=False)[:80]}”)"


def _excerpt(content: bytes) -> str:
    text = plain(content[: 4 * _EXCERPT].decode("utf-8", "replace"), keep_newlines=False)
    return text[:_EXCERPT] + ("…" if len(text) > _EXCERPT else "")


def _json_name(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "array", str: "text", bool: "boolean", int: "number", float: "number"}.get(type(value), "value")
