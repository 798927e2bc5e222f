"""The tables of the trace store, and how the tables of older releases become these."""

from __future__ import annotations

import re
import sqlite3
import zlib

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import PlatformError

VERSION = 2
_TABLES = (
    """create table if not exists runs (
      id text primary key, trace_id text not null, run_id text not null, job_id text not null,
      rollout_id text not null, sample_id text not null, attempt_id text not null, function text not null,
      started_ns integer not null, errors integer not null, is_complete integer not null, bytes integer not null,
      record text not null, unique (trace_id, run_id)
    )""",
    "create index if not exists runs_by_run on runs (run_id)",
    "create index if not exists runs_by_time on runs (started_ns)",
    "create index if not exists runs_by_job on runs (job_id, started_ns)",
    "create index if not exists runs_by_rollout on runs (rollout_id, started_ns)",
    "create table if not exists spans (id text primary key, body blob not null)",
)
_PEEK_BYTES = 4096
_SPAN_ID = re.compile(rb'"span_id": "([^"]*)"')


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """Make the tables, or change them. Raises PlatformError for those of a later release."""
    if _version(db) == VERSION:
        return
    db.execute("begin immediate")
    try:
        found = _version(db)
        if found > VERSION:
            raise PlatformError(
                _("the traces were written by a later release (version {found}, this one reads {known})").format(
                    found=found, known=VERSION
                ),
                advice=_("Use that release, or move the file traces.db away."),
            )
        if found < VERSION and _has_one_run_a_trace(db):
            _tell_runs_apart(db)
        for statement in _TABLES:
            db.execute(statement)
        db.execute(f"pragma user_version = {VERSION}")
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])


def _has_one_run_a_trace(db: sqlite3.Connection) -> bool:
    columns = {row[1] for row in db.execute("pragma table_info(runs)")}
    return bool(columns) and "run_id" not in columns


def _tell_runs_apart(db: sqlite3.Connection) -> None:
    """From version 1, whose key was the trace. Spans stay where they are, so it takes no room and little time."""
    for name in ("time", "job", "rollout"):
        db.execute(f"drop index if exists runs_by_{name}")
    db.execute("alter table runs rename to runs_before")
    db.execute("alter table spans rename column trace_id to id")
    for statement in _TABLES:
        db.execute(statement)
    db.create_function("outermost", 1, _outermost, deterministic=True)
    db.execute(
        "insert into runs select trace_id, trace_id,"
        f" coalesce((select outermost(substr(body, 1, {_PEEK_BYTES})) from spans where spans.id = trace_id), ''),"
        " job_id, rollout_id, sample_id, attempt_id, function, started_ns, errors, is_complete, bytes, record"
        " from runs_before"
    )
    db.execute("drop table runs_before")


def _outermost(packed: bytes) -> str:
    """The id of the first span of a body, which begins before all others; empty where there is none."""
    try:
        found = _SPAN_ID.search(zlib.decompressobj().decompress(packed, _PEEK_BYTES))
    except zlib.error:
        return ""
    return "" if found is None else found[1].decode()
