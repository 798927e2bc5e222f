"""`run --dry-run`: the real workflow against a stand-in of the service, so that every body is the one that is sent."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from agentic_rl_tui.core.sdk import AgenticRL
from agentic_rl_tui.core.sdk.journal import Journal
from agentic_rl_tui.core.sdk.origins import Origins
from agentic_rl_tui.core.sdk.registry import Registry
from agentic_rl_tui.core.sdk.session import Session
from agentic_rl_tui.core.settings import Settings

_HIDDEN = "••••"


@dataclass(frozen=True, slots=True)
class Planned:
    """One request that would be sent. body is JSON, or words that tell what the bytes are."""

    method: str
    url: str
    body: Any

    def data(self) -> dict[str, Any]:
        return {"method": self.method, "url": self.url, "body": self.body}


@dataclass
class Stage(httpx.AsyncBaseTransport):
    """Answers as a service would that takes everything. Ids that it would give are words in angle brackets."""

    requests: list[Planned] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        is_json = request.headers.get("content-type", "").startswith("application/json")
        body = json.loads(await request.aread()) if is_json else None
        head, size = (b"", 0) if is_json else await _measured(request)
        if request.method != "GET":
            self.requests.append(
                Planned(request.method, str(request.url), _shown(body) if is_json else _words(size, head))
            )
        return httpx.Response(200, json={"request_id": "dry-run", **_answer(request, body, head)}, request=request)


async def _measured(request: httpx.Request) -> tuple[bytes, int]:
    """The first piece of a body, and the length of it all, without keeping it."""
    head, size = b"", 0
    async for chunk in request.stream:  # type: ignore[union-attr]
        head = head or chunk
        size += len(chunk)
    return head, size


def _words(size: int, head: bytes) -> str:
    name = _file_name(head)
    return f"<form with {name}, {size:,} bytes>" if name else f"<{size:,} bytes>"


def _shown(body: Any) -> Any:
    """Values of environments are where users keep keys of their own services."""
    if isinstance(body, dict):
        return {
            key: dict.fromkeys(value, _HIDDEN) if key == "env" and isinstance(value, dict) else _shown(value)
            for key, value in body.items()
        }
    return [_shown(value) for value in body] if isinstance(body, list) else body


def _answer(request: httpx.Request, body: Any, head: bytes) -> dict[str, Any]:
    path = request.url.path
    if request.method == "PUT":
        return {}
    if path.endswith("/generate/faas/upload/url"):
        return {"output": {"url": f"https://package.invalid/{body['unique_key']}.zip"}}
    if path.endswith("/create/faas/layer"):
        return {"output": {"layer_code": "<layer of requirements.txt>"}}
    if path.endswith("/query/faas/layer/status"):
        return {"output": {"status": "SUCCESS"}}
    if "/fine-tunes/create/" in path:
        field_name = path.rpartition("/")[2].replace("-", "_") + "_id"
        return {"output": {field_name: f"<id of {body['func']}>"}}
    if path.endswith("/files"):
        return {"data": {"uploaded_files": [{"name": _file_name(head), "file_id": f"<id of {_file_name(head)}>"}]}}
    if request.method == "GET":
        return {"output": {"jobs": [], "total": 0}}
    return {"output": {"job_id": "dry-run", "job_name": body["job_name"], "status": "PENDING"}}


def _file_name(head: bytes) -> str:
    """The name in the first lines of a form."""
    name = head.partition(b'filename="')[2].partition(b'"')[0].decode("utf-8", "replace")
    return name.replace("%22", '"')


class _Rehearsal(Session):
    """Knows what was registered before, and forgets what it is told."""

    def __init__(self, settings: Settings, api_key: str | None, stage: Stage, scratch: Path) -> None:
        super().__init__(settings, api_key=api_key, http=stage)
        self._scratch = scratch

    def registry(self) -> Registry:
        known, copy = super().registry().path, self._scratch / "registry.json"
        if known.is_file() and not copy.exists():
            shutil.copyfile(known, copy)
        return Registry(copy)

    def journal(self) -> Journal:
        return Journal(self._scratch / "submissions")

    def origins(self) -> Origins:
        return Origins(self.scope(), self._scratch)


@contextmanager
def rehearsal(settings: Settings, api_key: str | None) -> Iterator[tuple[AgenticRL, Stage]]:
    """A client that reaches nobody and leaves no trace on disk, and what it would have sent."""
    stage = Stage()
    with tempfile.TemporaryDirectory(prefix="agentic-rl-") as scratch:
        client = AgenticRL(api_key, settings=settings)
        client.session = _Rehearsal(settings, api_key, stage, Path(scratch))
        yield client, stage
