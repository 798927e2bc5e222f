"""Jobs in the database."""

import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from agentic_rl_tui.core.models.job_request import JobRequest
from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.status import TERMINAL, JobStatus, sources
from agentic_rl_tui.core.platform import crash, ids
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.ports import JobRecord
from agentic_rl_tui.core.platform.store.database import Database

_ID_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job's row for the HTTP surface: the request and the progress as plain JSON values. Times since the epoch."""

    seq: int
    job_id: str
    name: str
    status: str
    model: str
    base_model: str
    training_type: str
    request: dict[str, Any]
    workspace_id: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    code: str | None
    message: str | None
    finetuned_output: str | None
    progress: dict[str, Any] | None


class Jobs:
    """Implements ``ports.JobStore``. Rings the bell with the job's id after each change.

    on_step hears of each progress with the job's id and step; what it raises reaches the engine.
    clock_set_by tells by how many seconds the clock was set since it was last asked: the times of jobs that have not
    ended are moved along, so that how long a job waited and ran is what really passed.
    """

    def __init__(
        self,
        database: Database,
        bell: Bell,
        *,
        clock: Callable[[], float] = time.time,
        clock_set_by: Callable[[], float] = lambda: 0.0,
        on_step: Callable[[str, int], None] | None = None,
    ) -> None:
        self._clock_set_by = clock_set_by
        self._database = database
        self._bell = bell
        self._clock = clock
        self._on_step = on_step
        self._places = _Places(database)

    async def create(
        self, request: Mapping[str, Any], *, training_type: str, workspace_id: str | None = None
    ) -> StoredJob:
        """Store a checked request as a PENDING job under an id nobody has."""
        await self._follow_clock()
        model = str(request["model"])
        now = self._clock()
        values: dict[str, object] = {
            "name": str(request.get("job_name") or ""),
            "status": JobStatus.PENDING,
            "model": model,
            "base_model": self.base_model(model),
            "training_type": training_type,
            "workspace_id": workspace_id,
            "created_at": now,
        }

        body = msgspec.json.encode(request).decode()

        def insert(connection: sqlite3.Connection) -> str:
            for _ in range(_ID_ATTEMPTS):
                job_id = ids.new_job_id(now)
                taken = connection.execute("select 1 from jobs where job_id = ?", (job_id,)).fetchone()
                if taken is None:
                    row = connection.execute(_INSERT, {**values, "job_id": job_id}).fetchone()
                    crash.point("submit.row")
                    connection.execute("insert into job_bodies (seq, request) values (?, ?)", (row["seq"], body))
                    crash.point("submit.body")
                    return job_id
            raise RuntimeError("no free job id in this minute")

        job_id = await self._database.write(insert)
        self._places.added()
        stored = self.stored(job_id)
        if stored is None:
            raise RuntimeError(f"job {job_id} vanished as it was made")
        return stored

    def base_model(self, model: str) -> str:
        """What a model was trained from: itself, unless an earlier job of ours made it."""
        row = self._database.row("select base_model from jobs where finetuned_output = ? limit 1", (model,))
        return model if row is None else str(row["base_model"])

    def stored(self, job_id: str) -> StoredJob | None:
        row = self._database.row(f"{_SELECT} where job_id = ?", (job_id,))
        return None if row is None else _stored(row)

    def page(
        self,
        page_no: int,
        page_size: int,
        *,
        model: str | None = None,
        status: str | None = None,
        name: str | None = None,
    ) -> tuple[list[StoredJob], int]:
        """Jobs of one page, newest first, and how many match."""
        filters = {"model": model, "status": status, "name": name}
        given = {column: value for column, value in filters.items() if value is not None}
        skip = (page_no - 1) * page_size
        if not given:
            return [_stored(row) for row in self._places.page(skip, page_size)], self._places.total
        where = " and ".join(f"{column} = :{column}" for column in given)
        (total,) = self._database.rows(f"select count(*) from jobs where {where}", given)[0]
        rows = self._database.rows(
            f"{_SELECT} where seq in (select seq from jobs where {where} order by seq desc"
            " limit :size offset :skip) order by seq desc",
            {**given, "size": page_size, "skip": skip},
        )
        return [_stored(row) for row in rows], total

    def ids(self) -> set[str]:
        return {row["job_id"] for row in self._database.rows("select job_id from jobs")}

    def uses_file(self, file_id: str, statuses: frozenset[JobStatus]) -> str | None:
        """A job in one of the statuses that names a file."""
        marks = ",".join("?" * len(statuses))
        rows = self._database.rows(f"{_SELECT} where status in ({marks})", tuple(statuses))
        return next((row["job_id"] for row in rows if f'"{file_id}"' in row["request"]), None)

    async def delete(self, job_id: str) -> bool:
        """Remove a job that has ended; False when there is none or it has not."""
        marks = ",".join("?" * len(TERMINAL))

        def remove(connection: sqlite3.Connection) -> int | None:
            row = connection.execute(
                f"delete from jobs where job_id = ? and status in ({marks}) returning seq", (job_id, *TERMINAL)
            ).fetchone()
            if row is None:
                return None
            crash.point("delete.row")
            connection.execute("delete from job_bodies where seq = ?", (row["seq"],))
            return int(row["seq"])

        seq = await self._database.write(remove)
        if seq is not None:
            self._places.removed(seq)
            self._bell.ring(job_id)
        return seq is not None

    async def job(self, job_id: str) -> JobRecord | None:
        stored = self.stored(job_id)
        return None if stored is None else _record(stored)

    async def jobs_in(self, *statuses: JobStatus) -> list[JobRecord]:
        marks = ",".join("?" * len(statuses))
        rows = self._database.rows(f"{_SELECT} where status in ({marks}) order by seq", statuses)
        return [_record(_stored(row)) for row in rows]

    async def move(
        self, job_id: str, target: JobStatus, *, code: str | None = None, message: str | None = None
    ) -> bool:
        await self._follow_clock()
        allowed = sorted(sources(target))
        values = {
            "job_id": job_id,
            "target": target,
            "code": code,
            "message": message,
            "now": self._clock(),
            "starts": target is JobStatus.RUNNING,
            "ends": target in TERMINAL,
            **{f"from{number}": status for number, status in enumerate(allowed)},
        }
        marks = ",".join(f":from{number}" for number in range(len(allowed)))
        moved = await self._database.execute(f"{_MOVE} and status in ({marks}) returning job_id", values)
        if moved:
            self._bell.ring(job_id)
        return bool(moved)

    async def set_progress(self, job_id: str, progress: JobProgress) -> None:
        await self._follow_clock()
        text = progress.model_dump_json(exclude_none=True)
        await self._database.execute(_PROGRESS, (text, job_id))
        self._bell.ring(job_id)
        if self._on_step is not None:
            self._on_step(job_id, progress.step)

    async def _follow_clock(self) -> None:
        if moved := self._clock_set_by():
            await self._database.execute(_SHIFT, {"moved": moved, **_TERMINAL})

    async def set_output(self, job_id: str, finetuned_output: str) -> None:
        await self._database.execute(
            "update jobs set finetuned_output = ? where job_id = ?", (finetuned_output, job_id)
        )
        self._bell.ring(job_id)


_INSERT = """
insert into jobs (job_id, name, status, model, base_model, training_type, workspace_id, created_at)
values (:job_id, :name, :status, :model, :base_model, :training_type, :workspace_id, :created_at)
returning seq
"""

_SELECT = "select * from jobs join job_bodies using (seq)"

_PROGRESS = "update job_bodies set progress = ? where seq = (select seq from jobs where job_id = ?)"

_MOVE = """
update jobs set
    status = :target,
    code = coalesce(:code, code),
    message = coalesce(:message, message),
    started_at = case when :starts then coalesce(started_at, max(:now, created_at)) else started_at end,
    ended_at = case when :ends then max(:now, coalesce(started_at, created_at)) else ended_at end
where job_id = :job_id
"""

_TERMINAL = {f"end{number}": status.value for number, status in enumerate(sorted(TERMINAL))}

_SHIFT = f"""
update jobs set created_at = created_at + :moved, started_at = started_at + :moved
where status not in ({", ".join(f":{name}" for name in _TERMINAL)})
"""


class _Places:
    """Finds the rows of a page without counting past all the newer ones.

    Every 1,000th job from the oldest on is remembered by its sequence number, so a page anywhere starts at a known
    row less than 1,000 rows away. Page numbers are the protocol's; this makes the last page as quick as the first.
    """

    STRIDE = 1000

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchors: list[int] = []
        (self.total,) = database.rows("select count(*) from jobs")[0]

    def added(self) -> None:
        self.total += 1

    def removed(self, seq: int) -> None:
        self.total -= 1
        del self._anchors[bisect_left(self._anchors, seq) :]

    def page(self, skip: int, size: int) -> list[sqlite3.Row]:
        """Rows skip+1 .. skip+size counted from the newest, newest first."""
        last = self.total - max(skip, 0)
        first = max(last - size, 0)
        if last <= first:
            return []
        anchor = first // self.STRIDE
        self._reach(anchor)
        return self._database.rows(
            f"{_SELECT} where seq in (select seq from jobs where seq >= ? order by seq limit ? offset ?)"
            " order by seq desc",
            (self._anchors[anchor], last - first, first - anchor * self.STRIDE),
        )

    def _reach(self, anchor: int) -> None:
        if not self._anchors:
            self._anchors.append(self._database.rows("select min(seq) from jobs")[0][0])
        while len(self._anchors) <= anchor:
            row = self._database.row(
                "select seq from jobs where seq >= ? order by seq limit 1 offset ?", (self._anchors[-1], self.STRIDE)
            )
            if row is None:
                raise RuntimeError("the count of jobs does not match the table")
            self._anchors.append(row["seq"])


def _stored(row: sqlite3.Row) -> StoredJob:
    values = dict(row)
    values["request"] = msgspec.json.decode(values["request"])
    if values["progress"] is not None:
        values["progress"] = msgspec.json.decode(values["progress"])
    return StoredJob(**values)


def _record(stored: StoredJob) -> JobRecord:
    return JobRecord(
        job_id=stored.job_id,
        name=stored.name,
        status=JobStatus(stored.status),
        request=JobRequest.model_validate(stored.request),
        created_at=stored.created_at,
        started_at=stored.started_at,
        ended_at=stored.ended_at,
        code=stored.code,
        message=stored.message,
        finetuned_output=stored.finetuned_output,
        progress=None if stored.progress is None else JobProgress.model_validate(stored.progress),
    )
