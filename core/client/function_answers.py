"""What function components answer: instances, log pages, results and faults."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from agentic_rl_tui.core.client import answers
from agentic_rl_tui.core.client.answers import Answer
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import AuthError, DeploymentError, FunctionFailed
from agentic_rl_tui.core.models.functions import Instance, InstanceLogEntry, InstanceLogPage, InstanceState, Runtime
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain


class FunctionAnswer(dict[str, Any]):
    """What a function answered, as the dict it is; `is_ok` tells a success from ``status: failed``."""

    latency_s: float = 0.0

    @property
    def is_ok(self) -> bool:
        return bool(self.get("status", "success") == "success")

    @property
    def error(self) -> str | None:
        """The function's own words for a failure."""
        found = self.get("error")
        return None if found is None else str(found)


def runtime_body(runtime: Runtime | Mapping[str, Any] | None) -> dict[str, Any]:
    """A runtime as the service takes it: unset fields left out, environment values as text.

    Booleans become ``true`` and ``false``; every other value keeps its meaning as text in the process environment.
    """
    if runtime is None:
        return {}
    values = runtime.model_dump(exclude_none=True) if isinstance(runtime, Runtime) else dict(runtime)
    body = {key: value for key, value in values.items() if value is not None}
    if isinstance(body.get("env"), Mapping):
        body["env"] = {str(key): environment_value(value) for key, value in body["env"].items()}
    return body


def environment_value(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


def instance_of(answer: Answer, instance_id: str | None) -> Instance:
    output = dict(answer.part("output"))
    found = output.pop("instanceId", None) or output.get("instance_id") or instance_id
    url = output.get("trigger_url")
    words = output.get("message") or answer.body.get("message")
    if not found or not isinstance(url, str) or not url.strip() or output.get("status") == InstanceState.UNKNOWN:
        if words:
            raise DeploymentError(
                _("the instance does not answer: {words}").format(words=plain(str(words))),
                request_id=answer.request_id,
                number=1440,
            )
        raise answer.bad(_("the answer has no instance with a trigger_url"))
    token = output.get("trigger_token")
    redact.add(token if isinstance(token, str) else None)
    return answer.model(Instance, {**output, "instance_id": str(found), "trigger_token": token or ""})


def log_page_of(answer: Answer, page: int, page_size: int) -> InstanceLogPage:
    data = answer.part("output", "data")
    rows = data.get("log_entries", data.get("logEntries"))
    entries = []
    for row in rows if isinstance(rows, list) else []:
        fields = row if isinstance(row, dict) else {"message": str(row)}
        if "instanceId" in fields:
            fields = {**fields, "instance_id": fields["instanceId"]}
        entries.append(answers.tolerant(InstanceLogEntry, fields))
    total = data.get("total_count", data.get("totalCount"))
    return InstanceLogPage(
        entries=tuple(entries),
        page_number=page,
        page_size=page_size,
        total=total if isinstance(total, int) else len(entries),
    )


def object_of(content: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


_CALL_KINDS = {400: "invalid_input", 422: "invalid_input", 499: "canceled", 502: "died", 503: "busy", 504: "timeout"}


def call_error(
    status: int, body: dict[str, Any] | None, content: bytes, instance: Instance
) -> FunctionFailed | AuthError:
    """What a function server's error answer says, with the user's message and traceback where it has them."""
    words: Any = None
    if body is not None:
        words = next((body[key] for key in ("detail", "message", "Message", "error") if body.get(key)), None)
    if isinstance(words, list):
        parts = [
            f"{'.'.join(map(str, item.get('loc', ())))}: {item.get('msg', '?')}"
            if isinstance(item, dict)
            else str(item)
            for item in words
        ]
        words = "; ".join(parts)
    if words is None:
        words = content[:300].decode("utf-8", "replace").strip() or _("an empty answer")
    message = plain(str(words))
    facts: dict[str, Any] = {"status": status, "method": "POST", "path": f"/{instance.instance_id}"}
    if status in (401, 403):
        return AuthError(
            _("the function refused its token: {message}").format(message=message),
            advice=_("Query the instance again."),
            **facts,
        )
    kind = _CALL_KINDS.get(status, "raised" if status >= 500 else "invalid_output" if status < 300 else "refused")
    if body is not None and isinstance(body.get("kind"), str):
        kind = body["kind"]
    traceback = body.get("traceback") if body is not None else None
    return FunctionFailed(
        message,
        kind=kind,
        traceback=traceback if isinstance(traceback, str) else None,
        advice=_(_CALL_ADVICE.get(kind, N_("Read the instance's log for the traceback."))),
        **facts,
    )


_CALL_ADVICE = {
    "invalid_input": N_("Correct the field that the message names in the test input."),
    "busy": N_("The function has no free worker; try again, or raise concurrency and capacity."),
    "invalid_output": N_("The function must answer with a JSON object."),
}


def signature_of(url: str) -> list[str]:
    """The secret parts of a signed address."""
    return [
        value
        for key, value in parse_qsl(urlsplit(url).query)
        if key.lower() in ("signature", "x-oss-signature", "security-token", "x-oss-security-token", "token")
    ]
