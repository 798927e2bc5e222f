"""The tables, and the steps that bring an older database up to date."""

import sqlite3

from agentic_rl_tui.core.models.errors import PlatformError

_FIRST = """
create table jobs (
    seq integer primary key autoincrement,
    job_id text not null unique,
    name text not null,
    status text not null,
    model text not null,
    base_model text not null,
    training_type text not null,
    workspace_id text,
    created_at real not null,
    started_at real,
    ended_at real,
    code text,
    message text,
    finetuned_output text
);
create table job_bodies (
    seq integer primary key,
    request text not null,
    progress text
);
create index jobs_by_name on jobs (name, seq);
create index jobs_by_status on jobs (status, seq);
create index jobs_by_model on jobs (model, seq);
create index jobs_by_output on jobs (finetuned_output) where finetuned_output is not null;

create table files (
    seq integer primary key autoincrement,
    file_id text not null unique,
    name text not null,
    description text,
    purpose text,
    size integer not null,
    md5 text not null,
    created_at real not null
);

create table uploads (
    unique_key text primary key,
    signature text not null,
    expires_at real not null,
    package_hash text,
    size integer,
    created_at real not null
);

create table layers (
    layer_code text primary key,
    name text not null,
    requirements text not null,
    status text not null,
    message text,
    created_at real not null
);

create table entities (
    entity_id text primary key,
    kind text not null,
    unique_key text not null unique,
    path text not null,
    class_name text not null,
    package_hash text not null,
    created_at real not null
);

create table instances (
    instance_id text primary key,
    entity_id text not null,
    load_key text unique,
    job_id text,
    name text not null,
    runtime text not null,
    token text not null,
    created_at real not null
);
create index instances_by_job on instances (job_id) where job_id is not null;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""Script n brings version n to n + 1. Scripts are only ever appended."""

VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to VERSION, one transaction a step. Raises PlatformError for one from a newer program."""
    (found,) = connection.execute("pragma user_version").fetchone()
    if found > VERSION:
        raise PlatformError(
            f"the platform's state has version {found}, this program knows versions up to {VERSION}",
            advice="Update agentic-rl-tui, or use another state directory with AGENTIC_RL_STATE_DIR.",
        )
    for version in range(found, VERSION):
        steps = [statement for statement in MIGRATIONS[version].split(";\n") if statement.strip()]
        connection.execute("begin immediate")
        try:
            for statement in steps:
                connection.execute(statement)
            connection.execute(f"pragma user_version = {version + 1}")
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")
