"""Files on the service: upload, list, get, delete."""

import asyncio
import hashlib
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.client.answers import Answer
from agentic_rl_tui.core.client.multipart import CHUNK_BYTES, FormBody, Progress
from agentic_rl_tui.core.client.transport import Request, Transport, checked_id
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError, InputError, NotFound, UploadError
from agentic_rl_tui.core.models.files import FailedUpload, FilePage, RemoteFile

GIB = 1 << 30
IDLE_S = 600.0
"""Limit of silence during an upload where BAILIAN_FILE_TIMEOUT sets none."""
LOOK_BACK_PAGES = 5

FileProgress = Callable[[Path, int, int], None]
"""The file, bytes sent, bytes in all."""


RemoteFiles = list[RemoteFile]


class Files:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(self, *, page_no: int = 1, page_size: int = 10) -> FilePage:
        """One page; page_no from 1, page_size 1 to 100."""
        check_page(page_no, page_size)
        answer = await self._transport.call(
            Request("GET", "/files", query={"page_no": page_no, "page_size": page_size})
        )
        data = answer.part("data", "output")
        rows = data.get("files") if isinstance(data.get("files"), list) else []
        files = tuple(answer.model(RemoteFile, row) for row in rows or [] if isinstance(row, dict) and "file_id" in row)
        return answer.model(FilePage, {"page_no": page_no, "page_size": page_size, **data, "files": files})

    async def iter(self, *, page_size: int = 100) -> AsyncIterator[RemoteFile]:
        """Every file once, in the server's order."""
        seen: set[str] = set()
        for page_no in itertools.count(1):
            page = await self.list(page_no=page_no, page_size=page_size)
            fresh = [file for file in page.files if file.file_id not in seen]
            for file in fresh:
                seen.add(file.file_id)
                yield file
            if not fresh or len(page.files) < page_size:
                return

    async def get(self, file_id: str) -> RemoteFile:
        answer = await self._transport.call(Request("GET", f"/files/{checked_id(file_id, N_('file id'))}"))
        data = answer.part("data", "output")
        return answer.model(RemoteFile, {"file_id": file_id, **data})

    async def delete(self, file_id: str) -> None:
        request = Request("DELETE", f"/files/{checked_id(file_id, N_('file id'))}")
        await self._transport.settle(request, done=NotFound)

    async def upload(
        self,
        path: Path | str,
        *,
        purpose: str | None = "fine-tune",
        description: str | None = None,
        progress: Progress | None = None,
    ) -> RemoteFile:
        """Send one file from disk in constant memory.

        Refuses beforehand what cannot succeed: no regular file, empty, larger than DATASETS_FILE_SIZE_WARNING
        (default 1 GiB). BAILIAN_FILE_TIMEOUT (default 600 s) limits how long nothing may move. When the outcome is
        unknown the file is looked for by name, size and MD5 and adopted where it arrived; only otherwise is it sent
        again.
        """
        file = self.checked(path)
        size = file.stat().st_size
        attempts = max(1, self._transport.retry.attempts - 1)
        for attempt in itertools.count(1):
            try:
                return await self._send(file, purpose, description, progress)
            except ArlError as error:
                if error.outcome_unknown and (arrived := await self._find(file, size)) is not None:
                    return arrived
                if attempt >= attempts or not self._transport.retry.may_retry(error):
                    raise
                await self._transport.retry.sleep(self._transport.retry.wait_s(attempt, error))
        raise AssertionError("unreachable")

    async def upload_many(
        self,
        paths: Sequence[Path | str],
        *,
        at_once: int = 3,
        purpose: str | None = "fine-tune",
        progress: FileProgress | None = None,
    ) -> RemoteFiles:
        """Send several files, `at_once` of them side by side; results in the order given.

        All are checked before the first is sent. When one fails the others still finish, and the UploadError holds
        the ids of those that arrived.
        """
        files = [self.checked(path) for path in paths]
        gate = asyncio.Semaphore(max(1, at_once))

        async def one(file: Path) -> RemoteFile:
            def tell(done: int, total: int) -> None:
                if progress is not None:
                    progress(file, done, total)

            async with gate:
                return await self.upload(file, purpose=purpose, progress=tell)

        results = await asyncio.gather(*(one(file) for file in files), return_exceptions=True)
        arrived = [result for result in results if isinstance(result, RemoteFile)]
        if len(arrived) == len(files):
            return arrived
        raise self._partly(files, results)

    def checked(self, path: Path | str) -> Path:
        """The path when it names a file that may be sent. Raises InputError naming it."""
        file = Path(path)
        if not file.exists():
            raise InputError(_("{file} does not exist").format(file=file), number=4011)
        if not file.is_file():
            raise InputError(_("{file} is not a file").format(file=file), number=4012)
        size = file.stat().st_size
        if size == 0:
            raise InputError(_("{file} is empty").format(file=file), number=4031)
        limit = byte_limit("DATASETS_FILE_SIZE_WARNING", GIB)
        if size > limit:
            raise InputError(
                _("{file} has {size:,} bytes; the limit is {limit:,}").format(file=file, size=size, limit=limit),
                advice=_("Split the file, or raise DATASETS_FILE_SIZE_WARNING (bytes) where the service takes more."),
                number=4035,
            )
        return file

    async def _send(
        self, file: Path, purpose: str | None, description: str | None, progress: Progress | None
    ) -> RemoteFile:
        fields = [("purpose", purpose), ("descriptions", description)]
        body = FormBody(file, fields=[(key, text) for key, text in fields if text is not None], progress=progress)
        request = Request(
            "POST",
            "/files",
            body=body,
            idle_s=self._transport.seconds("upload_timeout_s", IDLE_S),
        )
        answer = await self._transport.call(request, idempotent=False)
        return _uploaded(answer, body)

    async def _find(self, file: Path, size: int) -> RemoteFile | None:
        """The newest file on the service with this name, size and MD5, within the first pages of its list."""
        digest: str | None = None
        for page_no in range(1, LOOK_BACK_PAGES + 1):
            page = await self.list(page_no=page_no, page_size=100)
            for remote in page.files:
                if remote.name != file.name or remote.size not in (None, size) or not remote.md5:
                    continue
                digest = digest or await asyncio.to_thread(md5, file)
                if remote.md5.lower() == digest:
                    return remote
            if len(page.files) < 100:
                return None
        return None

    def _partly(self, files: Iterable[Path], results: Sequence[RemoteFile | BaseException]) -> BaseException:
        pairs = list(zip(files, results, strict=True))
        failed = [(file, result) for file, result in pairs if isinstance(result, BaseException)]
        for _file, result in failed:
            if not isinstance(result, ArlError):
                return result
        uploaded = {str(file): result.file_id for file, result in pairs if isinstance(result, RemoteFile)}
        reasons = "; ".join(f"{file}: {result}" for file, result in failed)
        first = failed[0][1]
        assert isinstance(first, ArlError)
        return UploadError(
            _("{count} of {total} files did not arrive: {reasons}").format(
                count=len(failed), total=len(pairs), reasons=reasons
            ),
            uploaded=uploaded,
            advice=_already(uploaded, first.advice),
            status=first.status,
            code=first.code,
            request_id=first.request_id,
            method=first.method,
            path=first.path,
        )


def byte_limit(variable: str, default: int) -> int:
    """A size limit from the environment, read now; these variables are limits in spite of their names."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not text.isdigit():
        raise ConfigError(
            _("{text!r} from environment {variable} is no size").format(text=text, variable=variable),
            advice=_("Give a number of bytes."),
        )
    return int(text)


def check_page(page_no: int, page_size: int) -> None:
    if page_no < 1 or not 1 <= page_size <= 100:
        raise InputError(
            _("page {page_no} with {page_size} entries cannot be asked for").format(
                page_no=page_no, page_size=page_size
            ),
            advice=_("Pages count from 1 and hold 1 to 100 entries."),
        )


def md5(path: Path) -> str:
    """The file's MD5 in lower-case hex, as the service reports it."""
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _already(uploaded: Mapping[str, str], advice: str) -> str:
    if not uploaded:
        return advice
    files = ", ".join(_("{name} as {file_id}").format(name=name, file_id=file_id) for name, file_id in uploaded.items())
    return f"{_('Already on the service: {files}.').format(files=files)} {advice}".strip()


def _uploaded(answer: Answer, body: FormBody) -> RemoteFile:
    """The one uploaded file of an answer. Raises UploadError for what the service lists under ``failed_uploads``."""
    data = answer.part("data", "output")
    facts: dict[str, Any] = {
        "status": answer.status,
        "request_id": answer.request_id,
        "method": "POST",
        "path": answer.path,
    }
    failed = data.get("failed_uploads")
    if isinstance(failed, list) and failed:
        problem = answer.model(FailedUpload, failed[0] if isinstance(failed[0], dict) else {"message": str(failed[0])})
        raise UploadError(
            _("{name} was refused: {message}").format(
                name=body.name, message=problem.message or problem.code or _("no reason given")
            ),
            code=problem.code,
            advice=_(_UPLOAD_ADVICE.get(problem.code or "", "")),
            **facts,
        )
    uploaded = data.get("uploaded_files")
    if not isinstance(uploaded, list) or not uploaded:
        raise answer.bad(_("the answer names no uploaded file"))
    remote = answer.model(RemoteFile, uploaded[0])
    if not remote.file_id.strip():
        raise answer.bad(_("the answer has an empty file_id"))
    return remote.model_copy(update={"size": remote.size or body.size, "name": remote.name or body.name})


_UPLOAD_ADVICE = {
    "BadRequest.TooLarge": N_("Split the file: the service takes 300 MB to 1 GB a file, depending on the account."),
    "BadRequest.TooMany": N_("Delete files that are no longer needed: an account holds about 100."),
}
