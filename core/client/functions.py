"""Function components on the service: package, layer, registration, instances, calls, logs."""

import itertools
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.client.answers import Answer
from agentic_rl_tui.core.client.files import byte_limit
from agentic_rl_tui.core.client.function_answers import (
    FunctionAnswer,
    call_error,
    instance_of,
    log_page_of,
    object_of,
    runtime_body,
    signature_of,
)
from agentic_rl_tui.core.client.multipart import FileBody, Progress
from agentic_rl_tui.core.client.transport import Request, Transport, checked_id
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import (
    BadResponse,
    DeploymentError,
    FunctionFailed,
    InputError,
    NotFound,
    PackageError,
    TimedOut,
    UploadError,
)
from agentic_rl_tui.core.models.functions import (
    FunctionKind,
    Instance,
    InstanceLogEntry,
    InstanceLogPage,
    InstanceState,
    Runtime,
)
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

MIB = 1 << 20
LAYER_S = 600.0
_LAYER_WORDS = ("message", "error", "error_message", "reason", "log", "build_log")
LAYER_FAILED = frozenset({"FAILED", "FAIL", "ERROR", "CANCELED", "CANCELLED"})

LayerProgress = Callable[[str, float], None]
"""The layer's status word and the seconds waited so far."""


class Functions:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def upload_url(self, kind: FunctionKind, *, unique_key: str | None = None) -> tuple[str, str]:
        """A signed address to PUT a package to, and the key that belongs to it in `register`."""
        key = unique_key or f"{kind.value}-{uuid.uuid4()}"
        answer = await self._post("/fine-tunes/generate/faas/upload/url", {"unique_key": key}, idempotent=True)
        url = answer.text("url")
        redact.add(*signature_of(url))
        return url, key

    async def put_package(self, url: str, package: Path, *, progress: Progress | None = None) -> None:
        """Stream a zip to a signed address. Repeating a PUT is harmless, so it is retried. Raises UploadError."""
        size = package.stat().st_size
        limit = byte_limit("FC_OSS_FILE_SIZE_WARNING", 200 * MIB)
        if size > limit:
            raise PackageError(
                _("the package has {size:,} bytes; the limit is {limit:,}").format(size=size, limit=limit),
                advice=_("Leave files out with .agenticignore, or raise FC_OSS_FILE_SIZE_WARNING (bytes)."),
            )
        request = Request(
            "PUT",
            url,
            body=FileBody(package, progress=progress),
            headers={"Accept": "*/*"},
            token="",
            idle_s=self._transport.seconds("upload_timeout_s", 600.0),
        )

        async def once() -> None:
            response = await self._transport.raw(request, idempotent=False)
            if response.is_success:
                return
            shown = redact(plain(response.text, keep_newlines=False))[:200]
            error = UploadError(
                _("the package was refused: HTTP {status_code} {shown}").format(
                    status_code=response.status_code, shown=shown
                ),
                advice=_("The signed address may have expired; try again."),
                status=response.status_code,
                request_id=response.headers.get("x-oss-request-id") or response.headers.get("x-request-id"),
                method="PUT",
                path=response.request.url.path,
                number=2003,
            )
            raise error

        await self._transport.retry.run(once)

    async def create_layer(self, requirements: str, *, name: str | None = None) -> str:
        """Ask for a layer with these requirements (the text of the file); the code to wait for with `wait_layer`."""
        body = {"layer_name": name or f"fc_layer-{uuid.uuid4().hex[:8]}", "requirements_content": requirements}
        answer = await self._post("/fine-tunes/create/faas/layer", body)
        return answer.text("layer_code")

    async def layer_status(self, layer_code: str) -> dict[str, Any]:
        """The service's answer; `status` is SUCCESS when the layer can be used."""
        answer = await self._transport.call(
            Request("GET", "/fine-tunes/query/faas/layer/status", query={"layer_code": layer_code})
        )
        return answer.part("output")

    async def wait_layer(
        self,
        layer_code: str,
        *,
        timeout_s: float = LAYER_S,
        interval_s: float = 2.0,
        progress: LayerProgress | None = None,
    ) -> None:
        """Wait until a layer is built. Raises DeploymentError with the build's words when it fails or is too slow."""
        started = time.monotonic()
        delay = min(0.2, interval_s)
        while True:
            output = await self.layer_status(layer_code)
            status = str(output.get("status") or "UNKNOWN")
            waited = time.monotonic() - started
            if progress is not None:
                progress(status, waited)
            if status == "SUCCESS":
                return
            if status.upper() in LAYER_FAILED:
                words = next(
                    (str(output[key]) for key in _LAYER_WORDS if output.get(key)), _("the service gave no reason")
                )
                raise DeploymentError(
                    _("the layer {layer_code} could not be built ({status}): {words}").format(
                        layer_code=layer_code, status=status, words=plain(words)
                    ),
                    advice=_("Check requirements.txt: names, versions, and wheels for the service's Python."),
                    number=1450,
                )
            if waited + delay > timeout_s:
                raise DeploymentError(
                    _("the layer {layer_code} is still {status} after {waited:.0f} s").format(
                        layer_code=layer_code, status=status, waited=waited
                    ),
                    advice=_("Wait longer with a greater layer timeout, or look for a slow requirement."),
                    number=1450,
                )
            await self._transport.retry.sleep(delay)
            delay = min(interval_s, delay * 2)

    async def register(self, kind: FunctionKind, *, path: str, class_name: str, code_url: str, unique_key: str) -> str:
        """Make an entity of a class in an uploaded package; path is the file inside it, with ``/``. Its id."""
        body = {"name": path, "unique_key": unique_key, "func": class_name, "code_url": code_url}
        answer = await self._post(f"/fine-tunes/create/{kind.route}", body)
        return answer.text(kind.entity_field)

    async def load(
        self, entity_id: str, *, runtime: Runtime | Mapping[str, Any] | None = None, job: str | None = None
    ) -> Instance:
        """Start an instance of an entity. `job` is the free part of the path, a fresh uuid unless given."""
        body = runtime_body(runtime)
        entity = checked_id(entity_id, N_("entity id"))
        tag = checked_id(job or str(uuid.uuid4()), N_("job tag"))
        answer = await self._post(f"/fine-tunes/online/faas/jobId-{tag}/{entity}", body)
        return instance_of(answer, None)

    async def query(self, instance_id: str) -> Instance:
        """Where an instance answers and how far it is. A query changes nothing and is retried."""
        answer = await self._post(
            f"/fine-tunes/query/faas/{checked_id(instance_id, N_('instance id'))}", {}, idempotent=True
        )
        return instance_of(answer, instance_id)

    async def wait_active(self, instance_id: str, *, timeout_s: float = 120.0, interval_s: float = 1.0) -> Instance:
        """The instance once it is deployed. Raises DeploymentError when it never is; unknown states count as active."""
        started = time.monotonic()
        delay = min(0.1, interval_s)
        while True:
            instance = await self.query(instance_id)
            if instance.status not in (InstanceState.INITIALISED, InstanceState.DEPLOYING):
                return instance
            waited = time.monotonic() - started
            if waited + delay > timeout_s:
                raise DeploymentError(
                    _("{instance_id} is still being deployed after {waited:.0f} s").format(
                        instance_id=instance_id, waited=waited
                    ),
                    advice=_("Read the instance's log, or try again later."),
                    number=1420,
                )
            await self._transport.retry.sleep(delay)
            delay = min(interval_s, delay * 2)

    async def health(self, instance: Instance) -> dict[str, Any]:
        """The function server's own words; ``status`` is ``healthy`` when it takes calls."""
        url = instance.trigger_url.rstrip("/") + "/health"
        response = await self._transport.raw(Request("GET", url, token=instance.trigger_token))
        body = object_of(response.content)
        if response.is_success and body is not None:
            return body
        raise call_error(response.status_code, body, response.content, instance)

    async def wait_healthy(self, instance: Instance, *, timeout_s: float = 120.0, interval_s: float = 1.0) -> None:
        """Wait until an instance takes calls. Raises DeploymentError with its last words."""
        started = time.monotonic()
        while True:
            try:
                body = await self.health(instance)
                last = str(body.get("status"))
                if last == "healthy":
                    return
            except (FunctionFailed, TimedOut, BadResponse) as error:
                last = error.message
            if time.monotonic() - started + interval_s > timeout_s:
                raise DeploymentError(
                    _("{instance_id} is not ready: {last}").format(instance_id=instance.instance_id, last=last),
                    number=1430,
                )
            await self._transport.retry.sleep(interval_s)

    async def call(
        self, instance: Instance, payload: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> FunctionAnswer:
        """Run a function once. Never retried: user code has effects. Raises FunctionFailed with the user's error.

        An answer whose own status is ``failed`` is an answer: see FunctionAnswer.is_ok.
        """
        url = instance.trigger_url.rstrip("/") + "/api/v1"
        limit_s = timeout_s if timeout_s is not None else self._transport.work_limit()
        started = time.monotonic()
        request = Request("POST", url, json=dict(payload), token=instance.trigger_token, limit_s=limit_s)
        response = await self._transport.raw(request, idempotent=False)
        body = object_of(response.content)
        if not response.is_success or body is None:
            raise call_error(response.status_code, body, response.content, instance)
        result = FunctionAnswer(body)
        result.latency_s = time.monotonic() - started
        return result

    async def logs(
        self,
        instance_id: str,
        *,
        page: int = 1,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
    ) -> InstanceLogPage:
        """One page of an instance's log; times in seconds since the epoch. Both spellings of the answer are read."""
        if page < 1 or page_size < 1:
            raise InputError(_("pages count from 1 and hold at least one entry"), number=2071)
        body: dict[str, Any] = {"pageNumber": page, "pageSize": page_size}
        if start_time is not None:
            body["startTime"] = int(start_time)
        if end_time is not None:
            body["endTime"] = int(end_time)
        if keywords:
            body["keywords"] = list(keywords)
        answer = await self._post(
            f"/fine-tunes/query/faas/log/{checked_id(instance_id, N_('instance id'))}", body, idempotent=True
        )
        return log_page_of(answer, page, page_size)

    async def iter_logs(
        self,
        instance_id: str,
        *,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
    ) -> AsyncIterator[InstanceLogEntry]:
        """Every entry, oldest page first, until the server's total or an empty page."""
        got = 0
        for page in itertools.count(1):
            found = await self.logs(
                instance_id,
                page=page,
                page_size=page_size,
                start_time=start_time,
                end_time=end_time,
                keywords=keywords,
            )
            for entry in found.entries:
                yield entry
            got += len(found.entries)
            if not found.entries or got >= found.total:
                return

    async def delete_instance(self, instance_id: str) -> dict[str, Any]:
        """Stop and remove an instance; what the service says of it."""
        instance = checked_id(instance_id, N_("instance id"))
        request = Request("POST", f"/fine-tunes/delete/faas/{instance}", json={}, limit_s=self._transport.work_limit())
        answer = await self._transport.settle(request, done=NotFound)
        data = answer.body.get("data") if answer is not None else None
        return data if isinstance(data, dict) else {}

    async def _post(self, target: str, body: dict[str, Any], *, idempotent: bool = False) -> Answer:
        request = Request("POST", target, json=body, limit_s=self._transport.work_limit())
        return await self._transport.call(request, idempotent=idempotent)
