"""Jobs: create, list, get, cancel, delete, logs and events."""

import asyncio
import getpass
from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.models.status import JobStatus, is_terminal
from agentic_rl_tui.core.platform import crash, wire
from agentic_rl_tui.core.platform.store.jobs import StoredJob

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_MAX_LINES = 1000
_HEARTBEAT_S = 15.0


async def create(request: Request, platform: "Platform") -> dict[str, Any]:
    body = await wire.read_object(request)
    training_type = platform.job_check.training_type(body)
    # Checked in full here, so that the engine never meets a request it cannot read.
    _ = platform.parse_request(body)
    workspace = request.headers.get("x-dashscope-workspace")
    crash.point("submit.checked")
    job = await platform.jobs.create(body, training_type=training_type, workspace_id=workspace)
    crash.point("submit.stored")
    platform.scheduler.wake()
    return {"output": shown(job)}


async def list_jobs(request: Request, platform: "Platform") -> dict[str, Any]:
    page_no, page_size = wire.paging(request)
    query = request.query_params
    jobs, total = platform.jobs.page(
        page_no,
        page_size,
        model=query.get("model") or None,
        status=query.get("status") or None,
        name=query.get("job_name") or None,
    )
    return {
        "output": {"page_no": page_no, "page_size": page_size, "total": total, "jobs": [shown(job) for job in jobs]}
    }


async def get(request: Request, platform: "Platform") -> dict[str, Any]:
    return {"output": shown(found(request, platform))}


async def cancel(request: Request, platform: "Platform") -> dict[str, Any]:
    job = found(request, platform)
    crash.point("cancel.asked")
    if not await platform.scheduler.cancel(job.job_id):
        job = found(request, platform)
        if job.status != JobStatus.CANCELING:
            raise wire.unsupported(f"Job {job.job_id} is {job.status} and cannot be canceled")
    crash.point("cancel.taken")
    return {"output": {"status": "success"}}


async def delete(request: Request, platform: "Platform") -> dict[str, Any]:
    job = found(request, platform)
    if not await platform.delete_job(job.job_id):
        raise wire.unsupported(f"Job {job.job_id} is {found(request, platform).status}; cancel it before deleting it")
    return {"output": {"status": "success"}}


async def logs(request: Request, platform: "Platform") -> dict[str, Any]:
    job = found(request, platform)
    offset, count = wire.whole(request, "offset", 0), wire.whole(request, "line", 100)
    if offset < 0 or not 1 <= count <= _MAX_LINES:
        raise wire.invalid(f"offset starts at 0, line lies between 1 and {_MAX_LINES}")
    faults = platform.options.faults
    if (rule := faults.take("log-repeat")) is not None:
        offset = max(0, offset - int(rule.get("lines")))
    lines, total = await platform.job_logs.read(job.job_id, offset, count)
    crash.point("log.read")
    if not is_terminal(job.status) and (rule := faults.take("log-late")) is not None:
        total = max(0, total - int(rule.get("lines")))
        lines = lines[: max(0, total - offset)]
    return {"output": {"total": total, "logs": lines}}


async def stream(request: Request, platform: "Platform") -> Response:
    job = found(request, platform)
    return StreamingResponse(_events(platform, job.job_id), media_type="text/event-stream;charset=UTF-8")


async def _events(platform: "Platform", job_id: str) -> AsyncIterator[bytes]:
    """The job's state whenever it changes and each log line, until the job has ended and its last line was sent."""
    number = 0
    offset = 0
    last: dict[str, Any] | None = None
    while True:
        changed = asyncio.create_task(platform.bell.wait(job_id, _HEARTBEAT_S))
        # The state is read before the lines: a job that has ended writes no more of them.
        try:
            await asyncio.sleep(0)
            job = platform.jobs.stored(job_id)
            if job is None:
                return
            state = {"job_id": job_id, "status": job.status, "progress": job.progress}
            if state != last:
                last = state
                number += 1
                yield _event(number, state)
            lines, total = await platform.job_logs.read(job_id, offset, _MAX_LINES)
            for line in lines:
                offset += 1
                number += 1
                yield _event(number, {"job_id": job_id, "line": offset, "message": line})
            if offset < total:
                continue
            if is_terminal(job.status) or platform.is_stopping:
                return
            if not await changed:
                yield b":heartbeat\n\n"
        finally:
            changed.cancel()


def _event(number: int, value: dict[str, Any]) -> bytes:
    return b"id:%d\nevent:result\ndata:%s\n\n" % (number, msgspec.json.encode(value))


def found(request: Request, platform: "Platform") -> StoredJob:
    """The job that the path names. Raises NotFound."""
    job_id = wire.path_id(request, "job_id")
    job = platform.jobs.stored(job_id)
    if job is None:
        raise NotFound(f"Job {job_id} not found")
    return job


def shown(job: StoredJob) -> dict[str, Any]:
    """A job as the service writes it; what is unknown is left out, since clients stumble over nulls."""
    request = job.request
    optional: dict[str, Any] = {
        "finetuned_output": job.finetuned_output,
        "teacher_model": request.get("teacher_model"),
        "start_time": None if job.started_at is None else wire.clock_text(job.started_at),
        "end_time": None if job.ended_at is None else wire.clock_text(job.ended_at),
        "workspace_id": job.workspace_id,
        "code": job.code,
        "message": job.message,
        "progress": job.progress,
    }
    return {
        "job_id": job.job_id,
        "job_name": job.name or job.job_id,
        "status": job.status,
        "model": job.model,
        "base_model": job.base_model,
        "training_file_ids": _file_ids(request, "training"),
        "validation_file_ids": _file_ids(request, "validation"),
        "hyper_parameters": request.get("hyper_parameters") or {},
        "training_type": job.training_type,
        "create_time": wire.clock_text(job.created_at),
        "creator": _user(),
        "user_identity": _user(),
        "modifier": _user(),
        "group": "llm",
        "output_cnt": 1,
        "max_output_cnt": 1,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _file_ids(request: dict[str, Any], kind: str) -> list[str]:
    entries = request.get(f"{kind}_datasets") or []
    named = [entry["file_id"] for entry in entries if entry.get("file_id")]
    return named or list(request.get(f"{kind}_file_ids") or [])


@cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"


_PREFIX = "/api/v1/fine-tunes"

routes: list[BaseRoute] = [
    wire.endpoint(_PREFIX, post=create, get=list_jobs),
    wire.endpoint(f"{_PREFIX}/{{job_id}}", get=get, delete=delete),
    wire.endpoint(f"{_PREFIX}/{{job_id}}/cancel", post=cancel),
    wire.endpoint(f"{_PREFIX}/{{job_id}}/logs", get=logs),
    wire.endpoint(f"{_PREFIX}/{{job_id}}/stream", get=stream),
]
