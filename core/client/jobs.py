"""Jobs: create, get, list, cancel, delete, logs, events, wait, follow."""

import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from agentic_rl_tui.core.client.answers import Answer, by_status
from agentic_rl_tui.core.client.files import check_page
from agentic_rl_tui.core.client.sse import ServerEvent, SseParser
from agentic_rl_tui.core.client.transport import Request, Transport, checked_id
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, Conflict, InputError, NotFound, TimedOut
from agentic_rl_tui.core.models.jobs import Job, JobPage, LogPage

LINES_MAX = 1000
DAY_S = 24 * 3600.0
_FIND_PAGE = 100
STREAM_IDLE_S = 300.0
LOCAL_POLL_S = (0.1, 0.5)
REMOTE_POLL_S = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class FollowNote:
    """Something about the connection rather than a line of the log. kind: ``reconnecting`` or ``connected``."""

    kind: str
    text: str
    attempt: int = 0
    wait_s: float = 0.0

    def __str__(self) -> str:
        return _("reconnecting: {text}").format(text=self.text) if self.kind == "reconnecting" else self.text


class Jobs:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, body: Mapping[str, Any]) -> Job:
        """Create a job. Sent once: where `error.outcome_unknown` is set, look the name up before sending again."""
        request = Request("POST", "/fine-tunes", json=dict(body), limit_s=self._transport.work_limit())
        answer = await self._transport.call(request, idempotent=False)
        return answer.model(Job, answer.part("output"))

    async def get(self, job_id: str) -> Job:
        answer = await self._transport.call(Request("GET", _path(job_id)))
        return answer.model(Job, {"job_id": job_id, **answer.part("output")})

    async def list(
        self,
        *,
        page_no: int = 1,
        page_size: int = 10,
        model: str | None = None,
        status: str | None = None,
        name: str | None = None,
    ) -> JobPage:
        """One page, newest first. `model` is a filter of the service; `status` and a part of the `name` are matched
        here, within the page.
        """
        check_page(page_no, page_size)
        query: dict[str, Any] = {"page_no": page_no, "page_size": page_size}
        if model:
            query["model"] = model
        answer = await self._transport.call(Request("GET", "/fine-tunes", query=query))
        output = answer.part("output")
        rows = output.get("jobs")
        jobs = [
            answer.model(Job, row)
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict) and row.get("job_id")
        ]
        kept = tuple(
            job
            for job in jobs
            if (status is None or job.status == status.upper()) and (name is None or name in (job.job_name or ""))
        )
        return answer.model(JobPage, {"page_no": page_no, "page_size": page_size, **output, "jobs": kept})

    async def iter(
        self, *, page_size: int = 100, model: str | None = None, status: str | None = None, name: str | None = None
    ) -> AsyncIterator[Job]:
        """Every job at most once: page numbers drift while jobs come and go, so ids are remembered."""
        seen: set[str] = set()
        for page_no in itertools.count(1):
            page = await self.list(page_no=page_no, page_size=page_size, model=model)
            fresh = [job for job in page.jobs if job.job_id not in seen]
            seen.update(job.job_id for job in fresh)
            for job in fresh:
                if (status is None or job.status == status.upper()) and (name is None or name in (job.job_name or "")):
                    yield job
            if not page.jobs or len(page.jobs) < page_size or not fresh:
                return

    async def find(self, job_name: str, *, made_after: float | None = None) -> Job | None:
        """The job of exactly this name, the newest where there are several.

        made_after: seconds since the epoch; the newest-first list is left where a whole page is older than that by
        more than two days, which covers any time zone the service may write times in.
        """
        for page_no in itertools.count(1):
            page = await self.list(page_no=page_no, page_size=_FIND_PAGE)
            for job in page.jobs:
                if job.job_name == job_name:
                    return job
            times = [_seconds(job.create_time) for job in page.jobs]
            is_old = made_after is not None and all(
                time is not None and time < made_after - 2 * DAY_S for time in times
            )
            if len(page.jobs) < _FIND_PAGE or is_old:
                return None
        raise AssertionError("unreachable")

    async def cancel(self, job_id: str) -> None:
        """Ask for a stop. Raises Conflict when the job's state forbids it. Repeated where the answer was lost."""
        await self._transport.settle(Request("POST", f"{_path(job_id)}/cancel", content=b""), done=Conflict)

    async def delete(self, job_id: str) -> None:
        await self._transport.settle(Request("DELETE", _path(job_id)), done=NotFound)

    async def logs(self, job_id: str, *, offset: int = 0, lines: int = LINES_MAX) -> LogPage:
        """Lines offset+1 .. offset+lines, oldest first; lines 1 to 1000. An offset past the end gives no lines."""
        if offset < 0 or not 1 <= lines <= LINES_MAX:
            raise InputError(
                _("{lines} lines from offset {offset} cannot be asked for").format(lines=lines, offset=offset),
                advice=_("Offsets count from 0; a page holds 1 to {most} lines.").format(most=LINES_MAX),
            )
        answer = await self._transport.call(
            Request("GET", f"{_path(job_id)}/logs", query={"offset": offset, "line": lines})
        )
        return _log_page(answer, offset)

    async def iter_logs(self, job_id: str, *, offset: int = 0) -> AsyncIterator[LogPage]:
        """Every page from `offset` to the end that the log has now."""
        while True:
            page = await self.logs(job_id, offset=offset)
            if not page.lines:
                return
            yield page
            offset += len(page.lines)
            if offset >= page.total:
                return

    async def follow(
        self,
        job_id: str,
        *,
        offset: int = 0,
        interval_s: float | None = None,
        slowest_s: float | None = None,
        patience_s: float | None = None,
        on_status: Callable[[Job], None] | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> AsyncIterator[LogPage | FollowNote]:
        """Pages of new lines until the job has ended and its last line was read; no line twice, none left out.

        Polls every `interval_s`, slower up to `slowest_s` while nothing comes; unless given, several times a second
        on the local platform and every few seconds elsewhere. A lost connection gives a note and is
        tried again until `patience_s` have passed without an answer (None: for ever); errors that a repeat cannot
        mend are raised. on_status hears of every state that is read. pause waits the seconds between two polls, or
        more or less of them, as the caller sees fit.
        """
        fast, slow = self._pace(interval_s, slowest_s)
        delay = fast
        pause = pause or self._transport.retry.sleep
        ended = False
        failures = 0
        lost_at = 0.0
        while True:
            try:
                page = await self.logs(job_id, offset=offset)
                job = None if page.lines or ended else await self.get(job_id)
            except ArlError as error:
                if not self._transport.retry.may_retry(error):
                    raise
                failures += 1
                lost_at = lost_at or time.monotonic()
                if patience_s is not None and time.monotonic() - lost_at >= patience_s:
                    raise
                wait_s = self._transport.retry.wait_s(failures, error)
                yield FollowNote("reconnecting", error.message, failures, wait_s)
                await self._transport.retry.sleep(wait_s)
                continue
            if failures:
                yield FollowNote("connected", _("connected again"), failures)
                failures, lost_at = 0, 0.0
            if page.lines:
                offset += len(page.lines)
                delay = fast
                yield page
                if offset < page.total or ended:
                    continue
            elif ended:
                return
            if job is not None:
                if on_status is not None:
                    on_status(job)
                if job.is_terminal:
                    ended = True  # lines written between the two answers are still to be read
                    continue
            await pause(delay)
            delay = min(slow, delay * 1.5)

    async def stream(self, job_id: str) -> AsyncIterator[ServerEvent]:
        """The job's event stream. An event named ``error`` is raised with its code and message.

        A server that answers with JSON instead gives one event ``message`` with the whole body.
        """
        request = Request(
            "GET",
            f"{_path(job_id)}/stream",
            headers={"Accept": "text/event-stream"},
            idle_s=self._transport.seconds("timeout_s", STREAM_IDLE_S),
        )
        async with self._transport.stream(request) as response:
            if "json" in response.headers.get("content-type", ""):
                yield ServerEvent("message", (await response.aread()).decode("utf-8", "replace"))
                return
            parser = SseParser()
            try:
                async for chunk in response.aiter_raw():
                    for event in parser.feed(chunk):
                        yield _checked(event, request)
                for event in parser.close():
                    yield _checked(event, request)
            except httpx.HTTPError as error:
                raise self._transport.translated(error, response.request, request) from error

    async def wait(
        self,
        job_id: str,
        *,
        timeout_s: float | None = None,
        interval_s: float | None = None,
        slowest_s: float | None = None,
        on_status: Callable[[Job], None] | None = None,
    ) -> Job:
        """The job once it has ended, well or not. Short losses of the connection are waited out.

        Polls every `interval_s`, slower up to `slowest_s`; unless given, as `follow` does.
        Raises TimedOut after `timeout_s`; the job goes on.
        """
        fast, slow = self._pace(interval_s, slowest_s)
        started = time.monotonic()
        delay = fast
        failures = 0
        status = "unknown"
        while True:
            wait_s = delay
            try:
                job = await self.get(job_id)
            except ArlError as error:
                if not self._transport.retry.may_retry(error):
                    raise
                failures += 1
                wait_s = max(delay, self._transport.retry.wait_s(failures, error))
            else:
                failures = 0
                status = job.status
                if on_status is not None:
                    on_status(job)
                if job.is_terminal:
                    return job
            waited = time.monotonic() - started
            if timeout_s is not None and waited + wait_s > timeout_s:
                raise TimedOut(
                    _("{job_id} is still {status} after {waited:.0f} s").format(
                        job_id=job_id, status=status, waited=waited
                    ),
                    advice=_("The job goes on; wait again, or with a greater limit."),
                )
            await self._transport.retry.sleep(wait_s)
            delay = min(slow, delay * 1.5)

    def _pace(self, interval_s: float | None, slowest_s: float | None) -> tuple[float, float]:
        """Shortest and longest time between two questions about a job."""
        usual = LOCAL_POLL_S if self._transport.profile.is_local else REMOTE_POLL_S
        fast = usual[0] if interval_s is None else interval_s
        return fast, max(fast, usual[1] if slowest_s is None else slowest_s)


def _seconds(text: str | None) -> float | None:
    """A time of the service, read as UTC; None for anything else."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else None
    except ValueError:
        return None


def _path(job_id: str) -> str:
    return f"/fine-tunes/{checked_id(job_id, N_('job id'))}"


def _log_page(answer: Answer, offset: int) -> LogPage:
    output = answer.body.get("output")
    if isinstance(output, str):
        output = {"logs": output}
    if not isinstance(output, dict):
        raise answer.bad(_("the answer has no 'output' object"))
    logs = output.get("logs")
    lines = tuple(logs.splitlines()) if isinstance(logs, str) else ()
    if isinstance(logs, list):
        lines = tuple(line if isinstance(line, str) else orjson.dumps(line).decode() for line in logs)
    total = output.get("total")
    return LogPage(offset=offset, lines=lines, total=total if isinstance(total, int) else offset + len(lines))


def _checked(event: ServerEvent, request: Request) -> ServerEvent:
    if event.event != "error":
        return event
    code = request_id = None
    message = event.data
    status = 500
    try:
        body = orjson.loads(event.data)
    except orjson.JSONDecodeError:
        body = None
    if isinstance(body, dict):
        message = str(body.get("message") or message)
        code = str(body["code"]) if body.get("code") else None
        request_id = str(body["request_id"]) if body.get("request_id") else None
        status = body["status"] if isinstance(body.get("status"), int) else status
    raise by_status(status, message, code=code, request_id=request_id, method=request.method, path=request.target)
