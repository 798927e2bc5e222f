"""The traces on disk: one SQLite file, a row a run for lists and its spans packed beside it.

One process writes; any may read while it does. Secrets are masked in everything that is written.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.tracing import store_schema
from agentic_rl_tui.core.tracing.model import Run, Span

FILE = "traces.db"
_LAST = "\U0010ffff"
_LISTED = 20
"""Runs that are told when an id fits several."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs to list, newest first. text is looked for in ids, function and status; before_ns pages back."""

    job_id: str = ""
    rollout_id: str = ""
    sample_id: str = ""
    attempt_id: str = ""
    text: str = ""
    only_errors: bool = False
    only_incomplete: bool = False
    before_ns: int = 0
    limit: int = 200


class TraceStore:
    """Opened by whoever writes. Methods block on the disk; they may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._db = sqlite3.connect(self._path, check_same_thread=False, timeout=5.0, isolation_level=None)
        self._path.chmod(0o600)
        self._db.execute("pragma auto_vacuum = incremental")
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = normal")
        try:
            store_schema.bring_up_to_date(self._db)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def add(self, traces: Iterable[tuple[Run, Sequence[Span]]]) -> None:
        """Write runs with their spans; one that is known already is written anew."""
        rows = [_pack(run, spans) for run, spans in traces]
        same = "select id from runs where trace_id = ? and run_id = ?"
        with self._lock, self._db:
            self._db.execute("begin immediate")
            for row, body in rows:
                self._delete([name for (name,) in self._db.execute(same, row[1:3])])
                self._db.execute("insert into runs values (?,?,?,?,?,?,?,?,?,?,?,?,?)", row)
                self._db.execute("insert into spans values (?,?)", body)
            self._db.execute("commit")

    def prune(self, *, max_age_s: float, max_bytes: int) -> int:
        """Remove what is too old, then the oldest until the rest fits. Gives how many runs went."""
        oldest_ns = time.time_ns() - int(max_age_s * 1e9)
        with self._lock:
            gone = [row[0] for row in self._db.execute("select id from runs where started_ns < ?", (oldest_ns,))]
            total = self._db.execute("select coalesce(sum(bytes), 0) from runs").fetchone()[0]
            if total > max_bytes:
                for name, size in self._db.execute("select id, bytes from runs order by started_ns"):
                    if total <= max_bytes:
                        break
                    gone.append(name)
                    total -= size
            self._remove(gone)
        return len(set(gone))

    def remove_job(self, job_id: str) -> None:
        with self._lock:
            found = self._db.execute("select id from runs where job_id = ?", (job_id,)).fetchall()
            self._remove([row[0] for row in found])

    def _remove(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        self._db.execute("begin immediate")
        self._delete(ids)
        self._db.execute("commit")
        self._db.execute("pragma incremental_vacuum")

    def _delete(self, ids: Sequence[str]) -> None:
        for table in ("runs", "spans"):
            self._db.executemany(f"delete from {table} where id = ?", [(name,) for name in ids])


def _pack(run: Run, spans: Sequence[Span]) -> tuple[tuple[Any, ...], tuple[str, bytes]]:
    body = redact(json.dumps([span.record() for span in spans], ensure_ascii=False, default=str))
    packed = zlib.compress(body.encode("utf-8", "replace"), 1)
    record = redact(json.dumps(run.record(), ensure_ascii=False))
    row = (
        run.key,
        run.trace_id,
        run.run_id,
        run.job_id,
        run.rollout_id,
        run.sample_id,
        run.attempt_id,
        run.function,
        run.started_ns,
        run.errors,
        int(run.completeness.is_complete),
        len(packed) + len(record),
        record,
    )
    return row, (run.key, packed)


class TraceReader:
    """Reads what a store holds; nothing is there before the first trace. Every call opens the file anew."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    @property
    def exists(self) -> bool:
        return self._path.exists()

    def runs(self, wanted: Wanted | None = None) -> list[Run]:
        given = wanted or Wanted()
        where, values = _conditions(given)
        query = f"select record, run_id from runs {where} order by started_ns desc limit ?"
        return [_run(row) for row in self._rows(query, (*values, max(1, given.limit)))]

    def count(self, wanted: Wanted | None = None) -> int:
        where, values = _conditions(wanted or Wanted())
        return next((row[0] for row in self._rows(f"select count(*) from runs {where}", values)), 0)

    def find(self, name: str) -> list[Run]:
        """The runs that an id means: that of a run or of a trace, both with a hyphen between them, or a start of one.

        What fits exactly comes alone. At most some of those that a short start fits.
        """
        trace_id, _, run_id = name.rpartition("-")
        exact = self._found("(trace_id = ? and run_id = ?) or run_id = ? or trace_id = ?", trace_id, run_id, name, name)
        end = f"{name}{_LAST}"
        starts = "(run_id >= ? and run_id < ?) or (trace_id >= ? and trace_id < ?)"
        return exact or self._found(starts, name, end, name, end)

    def _found(self, where: str, *values: str) -> list[Run]:
        query = f"select record, run_id from runs where {where} order by started_ns desc limit {_LISTED}"
        return [_run(row) for row in self._rows(query, values)]

    def spans(self, run: Run) -> list[Span]:
        query = "select body from spans where id = (select id from runs where trace_id = ? and run_id = ?)"
        found = self._rows(query, (run.trace_id, run.run_id))
        return [Span.of(record) for row in found for record in json.loads(zlib.decompress(row[0]))]

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        if not self._path.exists():
            return []
        address = f"file:{_quoted(self._path)}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5.0)) as db:
            return db.execute(query, values).fetchall()


def _run(row: Sequence[Any]) -> Run:
    """Records that an older release wrote do not hold the run's own id."""
    return Run.of({**json.loads(row[0]), "run_id": row[1]})


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(os.fspath(path.absolute()))


def _conditions(wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
    parts: list[str] = []
    values: list[Any] = []
    for name in ("job_id", "rollout_id", "sample_id", "attempt_id"):
        if getattr(wanted, name):
            parts.append(f"{name} = ?")
            values.append(getattr(wanted, name))
    for word in wanted.text.split():
        parts.append("record like ? escape '\\'")
        values.append(f"%{word.replace(chr(92), chr(92) * 2).replace('%', chr(92) + '%').replace('_', chr(92) + '_')}%")
    if wanted.only_errors:
        parts.append("errors > 0")
    if wanted.only_incomplete:
        parts.append("is_complete = 0")
    if wanted.before_ns:
        parts.append("started_ns < ?")
        values.append(wanted.before_ns)
    return (f"where {' and '.join(parts)}" if parts else ""), tuple(values)


def query_of(parameters: Mapping[str, str]) -> Wanted:
    """The query of an address. Raises ValueError for a number that is none."""

    def number(name: str, default: int) -> int:
        return int(parameters.get(name) or default)

    def text(name: str) -> str:
        return parameters.get(name, "")

    return Wanted(
        job_id=text("job_id"),
        rollout_id=text("rollout_id"),
        sample_id=text("sample_id"),
        attempt_id=text("attempt_id"),
        text=text("text"),
        only_errors=text("errors") in ("1", "true"),
        only_incomplete=text("incomplete") in ("1", "true"),
        before_ns=number("before_ns", 0),
        limit=min(number("limit", 200), 10_000),
    )
