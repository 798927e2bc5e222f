"""Data sets: upload, list, get, delete."""

import contextlib
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.models.status import ACTIVE
from agentic_rl_tui.core.platform import wire
from agentic_rl_tui.core.platform.multipart import FormReader, Part
from agentic_rl_tui.core.platform.store.files import StoredFile

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_MAX_NAME_CHARS = 512


async def upload(request: Request, platform: "Platform") -> dict[str, Any]:
    directory = platform.paths.files
    directory.mkdir(parents=True, exist_ok=True)

    def new_path() -> Path:
        return directory / f".incoming-{uuid.uuid4().hex}"

    reader = FormReader(
        request.headers.get("content-type", ""), new_path=new_path, max_file_bytes=platform.options.max_file_bytes
    )
    try:
        parts = await reader.read(request.stream())
        files = [part for part in parts if part.filename is not None]
        if not files:
            raise wire.invalid("The form has no file; send one in the part 'files'")
        fields = {part.name: part.value.decode("utf-8", "replace") for part in parts if part.filename is None}
        uploaded: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        for part in files:
            refused = _refusal(part, platform)
            if refused is None:
                stored = await _store(part, fields, platform)
                uploaded.append({"name": stored.name, "file_id": stored.file_id})
            else:
                failed.append({"name": part.filename, "code": refused[0], "message": refused[1]})
    finally:
        with contextlib.suppress(OSError):
            reader.discard()
    return {"data": {"uploaded_files": uploaded, "failed_uploads": failed}}


def _refusal(part: Part, platform: "Platform") -> tuple[str, str] | None:
    """The code and the sentence with which a received file is not taken."""
    options = platform.options
    name = part.filename or ""
    if not name or len(name) > _MAX_NAME_CHARS or name in (".", "..") or "/" in name or "\0" in name:
        return "BadRequest.InvalidName", "A file needs a plain name, without a path."
    if part.path is None:
        return "BadRequest.TooLarge", f"The file is larger than {options.max_file_bytes} bytes."
    if part.size == 0:
        return "BadRequest.EmptyFile", "The file is empty."
    count, total = platform.files.usage()
    if count >= options.max_files or options.faults.take("quota-full") is not None:
        return "BadRequest.TooMany", f"There are {count} files already; delete some first."
    if total + part.size > options.max_total_bytes:
        return "BadRequest.TooLarge", f"All files together would be larger than {options.max_total_bytes} bytes."
    return None


async def _store(part: Part, fields: dict[str, str], platform: "Platform") -> StoredFile:
    if part.path is None:
        raise ValueError("a refused part cannot be stored")
    stored = StoredFile(
        file_id=str(uuid.uuid4()),
        name=part.filename or "",
        size=part.size,
        md5=part.md5,
        description=fields.get("descriptions") or None,
        purpose=fields.get("purpose") or None,
        created_at=time.time(),
    )
    await platform.files.add(part.path, stored)
    part.path = None
    return stored


async def list_files(request: Request, platform: "Platform") -> dict[str, Any]:
    page_no, page_size = wire.paging(request)
    files, total = platform.files.page(page_no, page_size)
    return {
        "data": {
            "total": total,
            "page_no": page_no,
            "page_size": page_size,
            "files": [_shown(stored) for stored in files],
        }
    }


async def get(request: Request, platform: "Platform") -> dict[str, Any]:
    return {"data": _shown(_found(request, platform))}


async def delete(request: Request, platform: "Platform") -> dict[str, Any]:
    stored = _found(request, platform)
    user = platform.jobs.uses_file(stored.file_id, ACTIVE)
    if user is not None:
        raise wire.unsupported(f"File {stored.file_id} is in use by job {user}")
    await platform.files.delete(stored.file_id)
    return {}


def _found(request: Request, platform: "Platform") -> StoredFile:
    file_id = wire.path_id(request, "file_id")
    stored = platform.files.get(file_id)
    if stored is None:
        raise NotFound(f"File {file_id} not found")
    return stored


def _shown(stored: StoredFile) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "file_id": stored.file_id,
        "name": stored.name,
        "size": stored.size,
        "md5": stored.md5,
        "gmt_create": wire.clock_text(stored.created_at),
    }
    if stored.description is not None:
        shown["description"] = stored.description
    if stored.purpose is not None:
        shown["purpose"] = stored.purpose
    return shown


routes: list[BaseRoute] = [
    wire.endpoint("/api/v1/files", post=upload, get=list_files),
    wire.endpoint("/api/v1/files/{file_id}", get=get, delete=delete),
]
