"""Uploaded packages, layers, function entities and their instances in the database."""

import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from agentic_rl_tui.core.models.errors import Conflict
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.platform import ids
from agentic_rl_tui.core.platform.store.database import Database


@dataclass(frozen=True, slots=True)
class Upload:
    """A place that a package may be put to. package_hash is set once one arrived."""

    unique_key: str
    signature: str
    expires_at: float
    package_hash: str | None


@dataclass(frozen=True, slots=True)
class Layer:
    layer_code: str
    name: str
    requirements: str
    status: str
    message: str | None


@dataclass(frozen=True, slots=True)
class Entity:
    """A registered function. path is relative to the package's root."""

    entity_id: str
    kind: FunctionKind
    unique_key: str
    path: str
    class_name: str
    package_hash: str


@dataclass(frozen=True, slots=True)
class StoredInstance:
    """job_id is set for instances that a job started for itself."""

    instance_id: str
    entity_id: str
    job_id: str | None
    name: str
    runtime: dict[str, Any]
    token: str
    created_at: float


class Functions:
    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._instances: dict[str, StoredInstance] = {}
        self._entities: dict[str, Entity] = {}

    async def open_upload(self, unique_key: str, lifetime_s: float) -> Upload:
        """A place for a package; asked again for the same key while it is valid, the same one."""
        now = self._clock()

        def work(connection: sqlite3.Connection) -> Upload:
            row = connection.execute(f"{_UPLOAD} where unique_key = ?", (unique_key,)).fetchone()
            if row is not None and row["expires_at"] > now + lifetime_s / 2:
                return Upload(*row)
            values = (unique_key, secrets.token_urlsafe(24), float(int(now + lifetime_s)), now)
            connection.execute(
                "insert into uploads (unique_key, signature, expires_at, created_at) values (?, ?, ?, ?)"
                " on conflict (unique_key) do update set signature = excluded.signature,"
                " expires_at = excluded.expires_at",
                values,
            )
            return Upload(*connection.execute(f"{_UPLOAD} where unique_key = ?", (unique_key,)).fetchone())

        return await self._database.write(work)

    def upload(self, unique_key: str) -> Upload | None:
        row = self._database.row(f"{_UPLOAD} where unique_key = ?", (unique_key,))
        return None if row is None else Upload(*row)

    async def uploaded(self, unique_key: str, package_hash: str, size: int) -> None:
        await self._database.execute(
            "update uploads set package_hash = ?, size = ? where unique_key = ?", (package_hash, size, unique_key)
        )

    async def add_layer(self, name: str, requirements: str) -> Layer:
        layer = Layer(f"layer-{secrets.token_hex(6)}", name, requirements, "BUILDING", None)
        await self._database.execute(
            "insert into layers (layer_code, name, requirements, status, message, created_at)"
            " values (?, ?, ?, ?, null, ?)",
            (layer.layer_code, name, requirements, layer.status, self._clock()),
        )
        return layer

    async def set_layer(self, layer_code: str, status: str, message: str | None) -> None:
        await self._database.execute(
            "update layers set status = ?, message = ? where layer_code = ?", (status, message, layer_code)
        )

    def layer(self, layer_code: str) -> Layer | None:
        row = self._database.row(
            "select layer_code, name, requirements, status, message from layers where layer_code = ?", (layer_code,)
        )
        return None if row is None else Layer(*row)

    async def register(
        self, kind: FunctionKind, *, unique_key: str, path: str, class_name: str, package_hash: str
    ) -> Entity:
        """Make an entity, or answer the one that this key made before. Raises Conflict when that one differs."""

        def work(connection: sqlite3.Connection) -> Entity:
            row = connection.execute(f"{_ENTITY} where unique_key = ?", (unique_key,)).fetchone()
            if row is not None:
                return _entity(row)
            made = Entity(ids.new_id(kind.prefix), kind, unique_key, path, class_name, package_hash)
            connection.execute(
                "insert into entities (entity_id, kind, unique_key, path, class_name, package_hash, created_at)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                (made.entity_id, kind, unique_key, path, class_name, package_hash, self._clock()),
            )
            return made

        entity = await self._database.write(work)
        if (entity.kind, entity.path, entity.class_name) != (kind, path, class_name):
            raise Conflict(f"unique_key {unique_key!r} belongs to another function")
        return entity

    def entity(self, entity_id: str) -> Entity | None:
        """A function as it was registered, which never changes."""
        found = self._entities.get(entity_id)
        if found is None:
            row = self._database.row(f"{_ENTITY} where entity_id = ?", (entity_id,))
            if row is not None:
                found = self._entities[entity_id] = _entity(row)
        return found

    async def load(
        self,
        entity: Entity,
        *,
        runtime: dict[str, Any],
        name: str = "",
        load_key: str | None = None,
        job_id: str | None = None,
    ) -> StoredInstance:
        """Make an instance, or answer the one that this load key made before."""

        def work(connection: sqlite3.Connection) -> StoredInstance:
            if load_key is not None:
                row = connection.execute(f"{_INSTANCE} where load_key = ?", (load_key,)).fetchone()
                if row is not None:
                    return _instance(row)
            made = StoredInstance(
                instance_id=ids.new_id(f"{entity.kind.prefix}-ins"),
                entity_id=entity.entity_id,
                job_id=job_id,
                name=name,
                runtime=runtime,
                token=ids.new_token(),
                created_at=self._clock(),
            )
            connection.execute(
                "insert into instances"
                " (instance_id, entity_id, job_id, name, runtime, token, created_at, load_key)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    made.instance_id,
                    made.entity_id,
                    job_id,
                    name,
                    msgspec.json.encode(runtime).decode(),
                    made.token,
                    made.created_at,
                    load_key,
                ),
            )
            return made

        return await self._database.write(work)

    def instance(self, instance_id: str) -> StoredInstance | None:
        """Every call of a function asks for it, and it never changes while it is there."""
        found = self._instances.get(instance_id)
        if found is None:
            row = self._database.row(f"{_INSTANCE} where instance_id = ?", (instance_id,))
            found = None if row is None else _instance(row)
            if found is not None:
                self._instances[instance_id] = found
        return found

    def instances_of_job(self, job_id: str) -> list[StoredInstance]:
        rows = self._database.rows(f"{_INSTANCE} where job_id = ? order by rowid", (job_id,))
        return [_instance(row) for row in rows]

    def instance_ids(self) -> set[str]:
        return {row["instance_id"] for row in self._database.rows("select instance_id from instances")}

    def instances_of_lost_jobs(self) -> list[str]:
        """Instances whose job was deleted."""
        rows = self._database.rows(
            "select instance_id from instances where job_id is not null and job_id not in (select job_id from jobs)"
        )
        return [row["instance_id"] for row in rows]

    async def packages_in_use(self) -> set[str]:
        """Packages that a function was made of, or that may still become one. Forgets uploads that have expired."""
        await self._database.execute("delete from uploads where expires_at < ?", (self._clock(),))
        rows = self._database.rows(
            "select package_hash from entities union select package_hash from uploads where package_hash is not null"
        )
        return {row["package_hash"] for row in rows}

    async def delete_instance(self, instance_id: str) -> bool:
        deleted = await self._database.execute(
            "delete from instances where instance_id = ? returning instance_id", (instance_id,)
        )
        self._instances.pop(instance_id, None)
        return bool(deleted)


_UPLOAD = "select unique_key, signature, expires_at, package_hash from uploads"
_ENTITY = "select entity_id, kind, unique_key, path, class_name, package_hash from entities"
_INSTANCE = "select instance_id, entity_id, job_id, name, runtime, token, created_at from instances"


def _entity(row: sqlite3.Row) -> Entity:
    entity_id, kind, *rest = row
    return Entity(entity_id, FunctionKind(kind), *rest)


def _instance(row: sqlite3.Row) -> StoredInstance:
    values = dict(row)
    values["runtime"] = msgspec.json.decode(values["runtime"])
    return StoredInstance(**values)
