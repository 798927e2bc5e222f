"""Registering functions: one scan of a workspace, one archive, upload and layer for equal contents, side by side."""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentic_rl_tui.core.client.functions import LAYER_S, Functions
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import NotFound, PackageError
from agentic_rl_tui.core.models.functions import FunctionKind, Instance, Runtime
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent
from agentic_rl_tui.core.sdk.events import Note
from agentic_rl_tui.core.sdk.registry import Registry
from agentic_rl_tui.core.sdk.steps import Step, Steps

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.package import PackagePlan

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
AT_ONCE = 4


class Registered(NamedTuple):
    """Ids by kind, in the order the functions were given. Instance ids only where functions were loaded too."""

    rollout_entity_ids: list[str]
    reward_entity_ids: list[str]
    group_reward_entity_ids: list[str]
    rollout_instance_ids: list[str]
    reward_instance_ids: list[str]
    group_reward_instance_ids: list[str]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A function that can be sent: its class and package, or its id when it is registered already."""

    component: AgenticRLFunctionComponent
    target: ClassPath | None = None
    package: "PackagePlan | None" = None
    requirements: str = ""

    @property
    def hash(self) -> str:
        return self.package.archive_hash if self.package is not None else ""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A function on the service. reused: it was registered before, with the same content."""

    component: AgenticRLFunctionComponent
    entity_id: str
    layer_code: str | None = None
    instance: Instance | None = None
    reused: bool = False


def by_kind(functions: Iterable[Deployed]) -> Registered:
    done = list(functions)

    def entities(kind: FunctionKind) -> list[str]:
        return [part.entity_id for part in done if part.component.type is kind]

    def instances(kind: FunctionKind) -> list[str]:
        found = [part.instance for part in done if part.component.type is kind]
        return [instance.instance_id for instance in found if instance is not None]

    kinds = (FunctionKind.ROLLOUT, FunctionKind.REWARD, FunctionKind.GROUP_REWARD)
    return Registered(*(entities(kind) for kind in kinds), *(instances(kind) for kind in kinds))


class Registrar:
    """Prepares functions locally, then deploys them. scope tells accounts and profiles apart in the registry."""

    def __init__(
        self,
        functions: Functions,
        registry: Registry,
        *,
        scope: str,
        base: Path,
        secrets: Sequence[str] = (),
        layer_timeout_s: float = LAYER_S,
    ) -> None:
        self.functions = functions
        self.registry = registry
        self.scope = scope
        self._base = base
        self._secrets = tuple(secrets)
        self._layer_timeout_s = layer_timeout_s

    async def prepare(self, components: Sequence[AgenticRLFunctionComponent], steps: Steps) -> list[Prepared]:
        """Scan and check everything on this machine; nothing is sent. Raises PackageError, InputError."""
        groups: dict[_Source, list[AgenticRLFunctionComponent]] = {}
        for component in components:
            if not component.entity_id:
                groups.setdefault(self._source(component), []).append(component)
        made: dict[int, Prepared] = {}
        for source, members in groups.items():
            plan = await asyncio.to_thread(self._planned, source, members)
            _judge(plan, steps)
            text = await asyncio.to_thread(_requirements, source.requirements)
            for component in members:
                target = component.fcmodel.target()
                own_layer = component.runtime is not None and component.runtime.layer_code
                needed = text if layers_are_used() and not own_layer else ""
                made[id(component)] = Prepared(component, target, plan.for_function(component.type, target), needed)
        return [made.get(id(component)) or Prepared(component) for component in components]

    async def deploy(self, prepared: Sequence[Prepared], steps: Steps, *, load: bool = False) -> list[Deployed]:
        """Upload, build layers, register and, when asked to, load; functions run side by side.

        The first failure stops the others and is raised.
        """
        with tempfile.TemporaryDirectory(prefix="agentic-rl-") as scratch:
            work = _Deployment(self, Path(scratch), steps, load=load)
            try:
                return await together([partial(work.function, part) for part in prepared])
            finally:
                await work.stop()

    def forget(self, entity_ids: Sequence[str]) -> None:
        """Entities that the service no longer knows: the next `deploy` registers them anew."""
        self.registry.forget(entity_ids)

    def _source(self, component: AgenticRLFunctionComponent) -> "_Source":
        code = component.fcmodel
        workspace = self._base / code.zipdir
        named = self._base / code.requirements_path
        inside = workspace / code.requirements_path
        requirements = inside if not named.is_file() and inside.is_file() else named
        return _Source(workspace, requirements, tuple(self._base / file for file in code.extra_files))

    def _planned(self, source: "_Source", members: Sequence[AgenticRLFunctionComponent]) -> "PackagePlan":
        """One look at a workspace for all its functions."""
        from agentic_rl_tui.core.functions import package

        return package.plan(
            source.workspace,
            functions=[(component.type, component.fcmodel.target()) for component in members],
            extra_files=source.extra_files,
            requirements=os.path.relpath(source.requirements, source.workspace),
            secrets=self._secrets,
        )


@dataclass(frozen=True, slots=True)
class _Source:
    """What functions share a package by."""

    workspace: Path
    requirements: Path
    extra_files: tuple[Path, ...]


def _judge(plan: "PackagePlan", steps: Steps) -> None:
    """Tell what is doubtful. Raises PackageError naming everything that is wrong."""
    if plan.errors:
        reasons = "; ".join(f"{problem.place}: {problem.message}" for problem in plan.errors)
        advice = " ".join(dict.fromkeys(problem.advice for problem in plan.errors if problem.advice))
        raise PackageError(_("the functions cannot be packaged: {reasons}").format(reasons=reasons), advice=advice)
    for problem in plan.problems:
        steps.send(Note(f"{problem.place}: {problem.message}"))


def _requirements(path: Path) -> str:
    """The text of a requirements file; "" where it asks for nothing. Raises PackageError."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PackageError(
            _("the requirements file {path} cannot be read: {reason}").format(
                path=path, reason=getattr(error, "strerror", None) or error
            ),
            advice=_("Create it in the workspace; it may be empty when the functions need nothing."),
            number=2012,
        ) from error
    return text if any(line.split("#", 1)[0].strip() for line in text.splitlines()) else ""


@dataclass(slots=True)
class _Deployment:
    """The state of one `deploy`: what is shared between functions is made once."""

    registrar: Registrar
    scratch: Path
    steps: Steps
    load: bool
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _once: "dict[str, asyncio.Task[Any]]" = field(default_factory=dict)

    async def function(self, part: Prepared) -> Deployed:
        component = part.component
        (entity_id, reused), layer_code = await both(self._entity(part), self._layer(part.requirements))
        instance = None
        if self.load:
            async with (
                self._gate,
                self.steps.step(f"load:{component.label}", _("load {label}").format(label=component.label)) as step,
            ):
                runtime = (component.runtime or Runtime()).model_dump(exclude_none=True)
                if layer_code is not None:
                    runtime = {"layer_code": layer_code, **runtime}
                instance = await self.registrar.functions.load(entity_id, runtime=runtime)
                step.detail = instance.instance_id
        return Deployed(component, entity_id, layer_code, instance, reused)

    async def _entity(self, part: Prepared) -> tuple[str, bool]:
        """The entity's id, and whether it was there already."""
        component = part.component
        if component.entity_id:
            return component.entity_id, True
        assert part.target is not None
        key = f"{component.type.value}|{part.target.dotted}|{part.hash}"
        return await self._shared(f"entity|{key}", lambda: self._registered(part, f"{self.registrar.scope}|{key}"))

    async def _registered(self, part: Prepared, key: str) -> tuple[str, bool]:
        component, target = part.component, part.target
        assert target is not None
        async with self.steps.step(
            f"register:{component.label}", _("register {label}").format(label=component.label)
        ) as step:
            if (known := self.registrar.registry.get(key)) is not None:
                step.detail, step.reused = _("{known} has the same content").format(known=known), True
                return known, True
            url, unique_key = await self._shared(f"upload|{part.hash}", lambda: self._uploaded(part, step))
            async with self._gate:
                entity_id = await self.registrar.functions.register(
                    component.type,
                    path=target.path,
                    class_name=target.class_name,
                    code_url=url,
                    unique_key=unique_key,
                )
            self.registrar.registry.put(key, entity_id)
            step.detail = entity_id
            return entity_id, False

    async def _uploaded(self, part: Prepared, step: Step) -> tuple[str, str]:
        """Write the archive and send it; its address and key."""
        from agentic_rl_tui.core.functions import package

        assert part.package is not None
        archive = self.scratch / f"{part.hash[:16]}.zip"
        async with self._gate:
            info = await to_the_end(partial(package.write, part.package, archive))
            try:
                url, unique_key = await self.registrar.functions.upload_url(part.component.type)
                await self.registrar.functions.put_package(
                    url, archive, progress=lambda done, total: step.progress(done, total, "bytes")
                )
            finally:
                info.path.unlink(missing_ok=True)
        return url, unique_key

    async def _layer(self, requirements: str) -> str | None:
        """The code of the layer; None where nothing is to be installed."""
        if not requirements:
            return None
        digest = hashlib.sha256(requirements.encode()).hexdigest()
        return await self._shared(f"layer|{digest}", lambda: self._built(requirements, digest))

    async def _built(self, requirements: str, digest: str) -> str:
        registrar = self.registrar
        key = f"{registrar.scope}|layer|{digest}"
        async with self.steps.step(f"layer:{digest[:8]}", _("build the layer of requirements.txt")) as step:
            known = registrar.registry.get(key)
            if known is not None and await self._is_usable(known):
                step.detail, step.reused = known, True
                return known
            code = await registrar.functions.create_layer(requirements)
            await registrar.functions.wait_layer(
                code,
                timeout_s=registrar._layer_timeout_s,
                progress=lambda status, waited: step.progress(waited, None, "s", status),
            )
            registrar.registry.put(key, code)
            step.detail = code
            return code

    async def _is_usable(self, layer_code: str) -> bool:
        try:
            return (await self.registrar.functions.layer_status(layer_code)).get("status") == "SUCCESS"
        except NotFound:
            return False

    async def _shared(self, key: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `make`, run once for all that ask with the same key."""
        task = self._once.get(key)
        if task is None:
            task = self._once[key] = asyncio.create_task(make())
        result: T = await asyncio.shield(task)
        return result

    async def stop(self) -> None:
        """End what is still shared after a failure."""
        for task in self._once.values():
            task.cancel()
        await asyncio.gather(*self._once.values(), return_exceptions=True)


async def to_the_end(work: Callable[[], T]) -> T:
    """Run `work` in a thread. A cancelled caller waits for it first: a thread goes on, and must not write any more
    into a folder that its caller is about to remove.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


async def together(work: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Results in order. The first ArlError cancels the rest and is raised bare, not inside a group."""
    tasks = [asyncio.ensure_future(make()) for make in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def both(first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Both results; the first failure cancels the other one and is raised."""
    tasks = (asyncio.ensure_future(first), asyncio.ensure_future(second))
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def layers_are_used() -> bool:
    """FC_LAYER_USED, read now; ``false``, ``0``, ``no`` and ``off`` turn layers off."""
    return os.environ.get("FC_LAYER_USED", "true").strip().lower() not in ("false", "0", "no", "off")
