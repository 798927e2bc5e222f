"""AgenticRL: the whole service behind one object."""

import asyncio
import builtins
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentic_rl_tui.core.models.errors import ArlError, ConfigError, InputError, NotFound, Rejected, Unreachable
from agentic_rl_tui.core.models.functions import FunctionKind, InstanceLogPage
from agentic_rl_tui.core.models.jobs import Job, JobPage, LogPage
from agentic_rl_tui.core.paths import state_dir
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, Dataset
from agentic_rl_tui.core.sdk.either import either
from agentic_rl_tui.core.sdk.events import JobSubmitted, Note, OnEvent
from agentic_rl_tui.core.sdk.plan import JobPlan, components, datasets, fingerprint, from_document
from agentic_rl_tui.core.sdk.steps import Steps
from agentic_rl_tui.core.settings import Profile, Settings
from agentic_rl_tui.core.settings import load as load_settings

if TYPE_CHECKING:
    import httpx

    from agentic_rl_tui.core.client.files import Files
    from agentic_rl_tui.core.client.functions import FunctionAnswer, Functions
    from agentic_rl_tui.core.client.jobs import FollowNote, Jobs
    from agentic_rl_tui.core.client.retry import RetryPolicy
    from agentic_rl_tui.core.client.transport import Transport
    from agentic_rl_tui.core.sdk.body import ReadyDataset
    from agentic_rl_tui.core.sdk.journal import Intent, Journal
    from agentic_rl_tui.core.sdk.register import Deployed, Prepared, Registered, Registrar
    from agentic_rl_tui.core.sdk.submit import Submitter
    from agentic_rl_tui.core.sdk.upload import Uploaded, Uploader


@dataclass(frozen=True, slots=True)
class Health:
    """state: ``ok``, ``stopped`` (the local platform does not run), ``unauthorized``, ``unreachable``, ``failing``."""

    state: str
    detail: str = ""
    version: str = ""

    @property
    def is_ok(self) -> bool:
        return self.state == "ok"


class AgenticRL:
    """Functions, data sets and jobs of one profile.

    Making one does no I/O; the first request connects, and starts the local platform when the profile is the local
    one and none runs. Use it as an async context manager, or call `close`.

    api_key wins over DASHSCOPE_API_KEY and the profile, for every request of this object. workspace is the folder
    whose settings file counts; workspace_id the service's own workspace. http replaces the network in tests.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        profile: str | None = None,
        base_url: str | None = None,
        workspace: Path | str | None = None,
        workspace_id: str | None = None,
        settings: Settings | None = None,
        retry: "RetryPolicy | None" = None,
        http: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        if settings is None:
            folder = Path(workspace) if workspace is not None else None
            settings = load_settings(workspace=folder, profile=profile, base_url=base_url)
        if workspace_id is not None:
            settings = _with_workspace(settings, workspace_id)
        self.settings = settings
        self._api_key = api_key
        self._retry = retry
        self._http = http
        self._transport: Transport | None = None
        self._plan: JobPlan | None = None
        self._deployed: builtins.list[Deployed] = []
        self._ready_datasets: builtins.list[ReadyDataset] = []

    @property
    def profile(self) -> Profile:
        return self.settings.profile

    @property
    def files(self) -> "Files":
        from agentic_rl_tui.core.client.files import Files

        return Files(self.transport)

    @property
    def functions(self) -> "Functions":
        from agentic_rl_tui.core.client.functions import Functions

        return Functions(self.transport)

    @property
    def jobs(self) -> "Jobs":
        from agentic_rl_tui.core.client.jobs import Jobs

        return Jobs(self.transport)

    @property
    def transport(self) -> "Transport":
        """The way to the service; made on first use."""
        if self._transport is None:
            from agentic_rl_tui.core.client.log import set_level
            from agentic_rl_tui.core.client.transport import Transport

            level = self.settings.get("log_level")
            set_level(str(level) if level is not None else None)
            self._transport = Transport(
                self.settings,
                api_key=self._api_key,
                retry=self._retry,
                on_missing_platform=self._start_platform if self.profile.is_local else None,
                http=self._http,
            )
        return self._transport

    @property
    def plan(self) -> JobPlan:
        """The job as `init` read it; an empty one before."""
        return self._plan or JobPlan(base=self.settings.workspace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the object can be used again."""
        if self._transport is not None:
            await self._transport.close()

    # -- the workflow ------------------------------------------------------------------------------------------------

    def init(self, config_path: str | Path | None = None, **overrides: Any) -> Self:
        """Read a job file; what is given here wins over it.

        overrides: model, teacher_model, job_name, hyper_parameters, resources, and keys of the file. Nothing is
        refused yet: `run`, `register_functions`, `upload_datasets` and `submit_job` raise what the check found, all
        of it. Raises ConfigError when the file cannot be read at all.
        """
        from agentic_rl_tui.core.jobfile import load
        from agentic_rl_tui.core.sdk.facts import facts_of

        given = {key: value for key, value in overrides.items() if value is not None}
        self._deployed, self._ready_datasets = [], []
        if config_path is None:
            self._plan = JobPlan(base=self.settings.workspace).with_changes(**_plan_changes(given))
            return self
        path = Path(config_path)
        if not path.is_absolute():
            path = self.settings.workspace / path if not path.exists() else path
        document = load(path, facts=facts_of(path.absolute().parent), overrides=given)
        self._plan = JobPlan(base=path.absolute().parent, document=document)
        return self

    async def register_functions(
        self,
        functions: AgenticRLFunctionComponent | Sequence[AgenticRLFunctionComponent] | None = None,
        lazy_load: bool = True,
        on_event: OnEvent | None = None,
    ) -> "Registered":
        """Package, upload and register functions, those of the job file unless given; ids by kind.

        lazy_load=False also loads an instance of each, for test_functions.
        """
        from agentic_rl_tui.core.sdk.register import by_kind

        plan = self._read_plan().with_changes(functions=components(functions))
        if not plan.functions:
            raise InputError("there is no function to register", advice="Pass functions=, or init() a job file.")
        self._require_key()
        steps = Steps(on_event)
        registrar = self._registrar(plan)
        prepared = await registrar.prepare(plan.functions, steps)
        deployed = await registrar.deploy(prepared, steps, load=not lazy_load)
        self._deployed = deployed
        return by_kind(deployed)

    @either
    async def test_functions(
        self: "AgenticRL",
        instance_id: str,
        functype: FunctionKind | str | None = None,
        input_data: Mapping[str, Any] | str | Path | None = None,
        api_key: str | None = None,
        *,
        type: FunctionKind | str | None = None,  # noqa: A002 - the guide's name for functype
        timeout_s: float | None = None,
    ) -> "FunctionAnswer":
        """Run a loaded function once, with an object, JSON text, or the path of a JSON file.

        Raises FunctionFailed with the user's own error. A `status` of ``failed`` in the answer is an answer: ask
        its `is_ok`.
        """
        from agentic_rl_tui.core.client.functions import Functions
        from agentic_rl_tui.core.sdk.inputs import kind_of, read_input

        if input_data is None:
            raise InputError("input_data is not given", advice="Pass an object, JSON text, or the path of a JSON file.")
        payload = read_input(input_data, base=self.plan.base)
        kind = kind_of(functype if functype is not None else type, payload)
        async with self._as(api_key) as transport:
            functions = Functions(transport)
            instance = await functions.query(instance_id)
            return await functions.call(instance, {"func_type": kind.value, **payload}, timeout_s=timeout_s)

    async def upload_datasets(
        self,
        datasets: Dataset | Sequence[Dataset] | None = None,
        training_files: str | Path | Sequence[str | Path] | None = None,
        validation_files: str | Path | Sequence[str | Path] | None = None,
        *,
        force: bool = False,
        on_event: OnEvent | None = None,
    ) -> "Uploaded":
        """Check and upload data sets, those of the job file unless given; file ids by use.

        Refuses files with errors unless forced, and missing ones always.
        """
        from agentic_rl_tui.core.sdk.upload import by_use

        plan = self._read_plan()
        wanted = _given_datasets(datasets, training_files, validation_files)
        chosen = plan.datasets if wanted is None else wanted
        if not chosen:
            raise InputError("there is no data set to upload", advice="Pass training_files=, or init() a job file.")
        self._require_key()
        steps = Steps(on_event)
        uploader = self._uploader(plan)
        await uploader.check(chosen, steps, force=force)
        ready = await uploader.upload(chosen, steps)
        self._ready_datasets = ready
        return by_use(ready)

    async def submit_job(
        self,
        model: str | None = None,
        datasets: Sequence[Dataset] | None = None,
        functions: AgenticRLFunctionComponent | Sequence[AgenticRLFunctionComponent] | None = None,
        hyper_parameters: Mapping[str, Any] | None = None,
        resources: Mapping[str, Any] | None = None,
        job_name: str | None = None,
        teacher_model: str | None = None,
        *,
        exact_name: bool = False,
        on_event: OnEvent | None = None,
    ) -> Job:
        """Create a job of what was registered and uploaded before; exactly one, whatever happens to the answer.

        The job's name gets a unique ending, by which it is found again; exact_name sends it as it is and refuses one
        that was used before. An equal submission that was broken off earlier is looked up and adopted.
        """
        from agentic_rl_tui.core.sdk.body import ReadyDataset, ReadyFunction

        plan = self._changed(model, hyper_parameters, resources, job_name, teacher_model)
        plan = plan.with_changes(functions=components(functions), datasets=_tuple(datasets))
        if functions is None and self._deployed:
            plan = replace(plan, functions=tuple(part.component for part in self._deployed))
            ready = [ReadyFunction(part.component, part.entity_id, part.layer_code) for part in self._deployed]
        else:
            ready = [ReadyFunction(part, _entity_of(part)) for part in plan.functions]
        if datasets is None and self._ready_datasets:
            data = self._ready_datasets
            plan = replace(plan, datasets=tuple(part.dataset for part in data))
        else:
            data = [ReadyDataset(part, _file_of(part)) for part in plan.datasets]
        plan.check()
        self._require_key()
        steps = Steps(on_event)
        mark = fingerprint(plan, {part.component.label: part.entity_id for part in ready})
        submitter = self._submitter()
        intent, job = await submitter.resume(mark)
        if job is not None:
            steps.send(JobSubmitted(job, adopted=True))
            return job
        return await self._submit(plan, ready, data, mark, intent, submitter, steps, exact_name=exact_name)

    async def run(
        self,
        model: str | None = None,
        training_datasets: Sequence[Dataset] | Dataset | None = None,
        validation_datasets: Sequence[Dataset] | Dataset | None = None,
        functions: AgenticRLFunctionComponent | Sequence[AgenticRLFunctionComponent] | None = None,
        hyper_parameters: Mapping[str, Any] | None = None,
        resources: Mapping[str, Any] | None = None,
        job_name: str | None = None,
        teacher_model: str | None = None,
        *,
        force: bool = False,
        exact_name: bool = False,
        on_event: OnEvent | None = None,
    ) -> Job:
        """Register, upload and submit. Everything that can be checked here is checked before the first request."""
        plan = self._changed(model, hyper_parameters, resources, job_name, teacher_model)
        plan = plan.with_changes(
            functions=components(functions), datasets=datasets(training_datasets, validation_datasets)
        )
        plan.check()
        self._require_key()
        steps = Steps(on_event)
        registrar, uploader, submitter = self._registrar(plan), self._uploader(plan), self._submitter()
        async with steps.step("check", "check the job") as step:
            prepared = await registrar.prepare(plan.functions, steps)
            step.detail = f"{len(prepared)} functions, {len(plan.datasets)} data sets"
        await uploader.check(plan.datasets, steps, force=force)
        mark = fingerprint(plan, {part.component.label: part.hash for part in prepared if part.hash})
        intent, job = await submitter.resume(mark)
        if job is not None:
            steps.send(JobSubmitted(job, adopted=True))
            return job
        try:
            self._deployed = await registrar.deploy(prepared, steps)
            self._ready_datasets = await uploader.upload(plan.datasets, steps)
        except BaseException:
            if intent is not None:
                intent.release()
            raise
        return await self._submit_deployed(plan, prepared, registrar, mark, intent, submitter, steps, exact_name)

    # -- jobs --------------------------------------------------------------------------------------------------------

    @either
    async def get(self: "AgenticRL", job_id: str, api_key: str | None = None, workspace: str | None = None) -> Job:
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            return await Jobs(transport).get(job_id)

    @either
    async def list(
        self: "AgenticRL",
        page_no: int = 1,
        page_size: int = 10,
        api_key: str | None = None,
        workspace: str | None = None,
        *,
        model: str | None = None,
        status: str | None = None,
        name: str | None = None,
    ) -> JobPage:
        """One page of jobs, newest first; page_size 1 to 100. status and name filter within the page."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            return await Jobs(transport).list(
                page_no=page_no, page_size=page_size, model=model, status=status, name=name
            )

    def iter_jobs(
        self, *, model: str | None = None, status: str | None = None, name: str | None = None
    ) -> AsyncIterator[Job]:
        """Every job once, newest first."""
        return self.jobs.iter(model=model, status=status, name=name)

    @either
    async def logs(
        self: "AgenticRL",
        job_id: str,
        offset: int = 0,
        lines: int = 1000,
        api_key: str | None = None,
        workspace: str | None = None,
    ) -> LogPage:
        """Lines offset+1 .. offset+lines of a job's log; lines 1 to 1000."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            return await Jobs(transport).logs(job_id, offset=offset, lines=lines)

    def follow(self, job_id: str, offset: int = 0, **how: Any) -> "AsyncIterator[LogPage | FollowNote]":
        """New lines until the job has ended and its last line was read; see Jobs.follow."""
        return self.jobs.follow(job_id, offset=offset, **how)

    @either
    async def cancel(self: "AgenticRL", job_id: str, api_key: str | None = None, workspace: str | None = None) -> None:
        """Ask for a stop. Raises Conflict when the job's state forbids it."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            await Jobs(transport).cancel(job_id)

    @either
    async def delete(self: "AgenticRL", job_id: str, api_key: str | None = None, workspace: str | None = None) -> None:
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            await Jobs(transport).delete(job_id)

    @either
    async def wait(
        self: "AgenticRL",
        job_id: str,
        timeout_s: float | None = None,
        api_key: str | None = None,
        workspace: str | None = None,
        *,
        interval_s: float = 2.0,
        on_status: Callable[[Job], None] | None = None,
    ) -> Job:
        """The job once it has ended, well or not; see Jobs.wait."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self._as(api_key, workspace) as transport:
            return await Jobs(transport).wait(job_id, timeout_s=timeout_s, interval_s=interval_s, on_status=on_status)

    # -- instances ---------------------------------------------------------------------------------------------------

    @either
    async def query_function_instance_logs(
        self: "AgenticRL",
        instance_id: str,
        page_number: int = 1,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
        api_key: str | None = None,
    ) -> InstanceLogPage:
        from agentic_rl_tui.core.client.functions import Functions

        async with self._as(api_key) as transport:
            return await Functions(transport).logs(
                instance_id,
                page=page_number,
                page_size=page_size,
                start_time=start_time,
                end_time=end_time,
                keywords=keywords,
            )

    @either
    async def query_all_function_instance_logs(
        self: "AgenticRL",
        instance_id: str,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
        api_key: str | None = None,
    ) -> builtins.list[str]:
        """The messages of every page."""
        from agentic_rl_tui.core.client.functions import Functions

        async with self._as(api_key) as transport:
            entries = Functions(transport).iter_logs(
                instance_id, page_size=page_size, start_time=start_time, end_time=end_time, keywords=keywords
            )
            return [entry.message async for entry in entries]

    @either
    async def delete_function_instance(
        self: "AgenticRL", instance_id: str, api_key: str | None = None
    ) -> dict[str, Any]:
        from agentic_rl_tui.core.client.functions import Functions

        async with self._as(api_key) as transport:
            return await Functions(transport).delete_instance(instance_id)

    # -- state -------------------------------------------------------------------------------------------------------

    async def health(self) -> Health:
        """How the profile's service is. Never starts the local platform and never raises for what it finds."""
        if self.profile.is_local:
            from agentic_rl_tui.core.launch import platform_status

            info = await platform_status(self.settings.platform)
            if info is None:
                return Health("stopped", "the local platform is not running; the first request starts it")
            busy = f"{info.running} running, {info.queued} queued"
            return Health("ok", busy, info.version)
        from agentic_rl_tui.core.client.retry import RetryPolicy
        from agentic_rl_tui.core.client.transport import Request

        try:
            await self.transport.call(
                Request("GET", "/fine-tunes", query={"page_no": 1, "page_size": 1}, limit_s=10.0),
                retry=RetryPolicy(attempts=1),
            )
        except Unreachable as error:
            return Health("unreachable", error.message)
        except ArlError as error:
            from agentic_rl_tui.core.models.errors import AccessDenied, AuthError, NoKey

            denied = isinstance(error, AuthError | AccessDenied | NoKey)
            return Health("unauthorized" if denied else "failing", error.message)
        return Health("ok", self.profile.base_url)

    def unfinished_submissions(self) -> "builtins.list[Intent]":
        """Submissions of this profile that were broken off before their outcome was known, newest first."""
        return self._journal().abandoned(scope=self._scope())

    # -- inside ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _as(self, api_key: str | None = None, workspace_id: str | None = None) -> AsyncIterator["Transport"]:
        """Our transport, or one for this call with another key or workspace."""
        if api_key is None and workspace_id is None:
            yield self.transport
            return
        async with AgenticRL(
            api_key if api_key is not None else self._api_key,
            workspace_id=workspace_id,
            settings=self.settings,
            retry=self._retry,
            http=self._http,
        ) as other:
            yield other.transport

    def _read_plan(self) -> JobPlan:
        """The plan, with the job file's content. Raises ConfigError with everything its check found."""
        plan = self.plan
        return from_document(plan.document) if plan.document is not None else plan

    def _changed(
        self,
        model: str | None,
        hyper_parameters: Mapping[str, Any] | None,
        resources: Mapping[str, Any] | None,
        job_name: str | None,
        teacher_model: str | None,
    ) -> JobPlan:
        plan = self._read_plan()
        return plan.with_changes(
            model=model,
            name=job_name,
            teacher_model=teacher_model,
            hyper_parameters={**plan.hyper_parameters, **hyper_parameters} if hyper_parameters else None,
            resources={**plan.resources, **resources} if resources else None,
        )

    def _require_key(self) -> None:
        """Raises NoKey before anything is read or sent."""
        self.settings.api_key(self._api_key)

    def _scope(self) -> str:
        """What tells this account on this service from every other, without the key."""
        secret = self.settings.api_key(self._api_key)
        account = hashlib.sha256(secret.reveal().encode()).hexdigest()[:16] if secret is not None else "-"
        return f"{self.profile.base_url}|{self.profile.workspace_id or ''}|{account}"

    def _registrar(self, plan: JobPlan) -> "Registrar":
        from agentic_rl_tui.core.sdk.register import Registrar
        from agentic_rl_tui.core.sdk.registry import Registry

        secret = self.settings.api_key(self._api_key)
        # What the local platform holds goes when its state is removed, and so must our memory of it.
        home = self.settings.platform.root if self.profile.is_local else state_dir()
        return Registrar(
            self.functions,
            Registry(home / "registry.json"),
            scope=self._scope(),
            base=plan.base,
            secrets=[secret.reveal()] if secret is not None else [],
            layer_timeout_s=self.transport.seconds("layer_timeout_s", 600.0),
        )

    def _uploader(self, plan: JobPlan) -> "Uploader":
        from agentic_rl_tui.core.sdk.upload import Uploader

        return Uploader(self.files, plan.base)

    def _journal(self) -> "Journal":
        from agentic_rl_tui.core.sdk.journal import Journal

        return Journal(state_dir() / "submissions")

    def _submitter(self) -> "Submitter":
        from agentic_rl_tui.core.sdk.submit import Submitter

        return Submitter(self.jobs, self._journal(), scope=self._scope(), retry=self.transport.retry)

    async def _submit(
        self,
        plan: JobPlan,
        functions: Any,
        data: "Sequence[ReadyDataset]",
        mark: str,
        intent: "Intent | None",
        submitter: "Submitter",
        steps: Steps,
        *,
        exact_name: bool,
    ) -> Job:
        from agentic_rl_tui.core.sdk.body import compose
        from agentic_rl_tui.core.sdk.submit import unique_name

        name = plan.name if exact_name else unique_name(plan.name)
        body = compose(plan, functions, data, job_name=name)
        async with steps.step("submit", f"submit {name}") as step:
            done = await submitter.submit(body, fingerprint=mark, intent=intent, is_exact_name=exact_name)
            step.detail, step.reused = done.job.job_id, done.adopted
        steps.send(JobSubmitted(done.job, done.adopted))
        return done.job

    async def _submit_deployed(
        self,
        plan: JobPlan,
        prepared: "Sequence[Prepared]",
        registrar: "Registrar",
        mark: str,
        intent: "Intent | None",
        submitter: "Submitter",
        steps: Steps,
        exact_name: bool,
    ) -> Job:
        """Submit; where the service no longer knows an entity that was reused, register it anew and submit again."""
        from agentic_rl_tui.core.sdk.body import ReadyFunction

        for is_last in (False, True):
            ready = [ReadyFunction(part.component, part.entity_id, part.layer_code) for part in self._deployed]
            try:
                return await self._submit(
                    plan, ready, self._ready_datasets, mark, intent, submitter, steps, exact_name=exact_name
                )
            except (Rejected, NotFound) as error:
                reused = [part.entity_id for part in self._deployed if part.reused and not part.component.entity_id]
                gone = [entity for entity in reused if entity in str(error)]
                if is_last or not gone:
                    raise
                steps.send(Note(f"{', '.join(gone)} is no longer known there; it is registered anew"))
                await asyncio.to_thread(registrar.forget, gone)
                self._deployed = await registrar.deploy(prepared, steps)
        raise AssertionError("unreachable")

    async def _start_platform(self) -> object:
        from agentic_rl_tui.core.launch import ensure_platform

        return await ensure_platform(self.settings.platform)


def _with_workspace(settings: Settings, workspace_id: str) -> Settings:
    name = settings.profile_name
    profiles = {**settings.profiles, name: replace(settings.profile, workspace_id=workspace_id)}
    return replace(settings, profiles=profiles)


def _plan_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides without a job file, by the plan's names. Raises ConfigError for one that there is not."""
    names = {"job_name": "name", "name": "name", "model": "model", "teacher_model": "teacher_model"}
    names |= {"hyper_parameters": "hyper_parameters", "resources": "resources"}
    unknown = sorted(given.keys() - names.keys())
    if unknown:
        raise ConfigError(f"there is no setting {unknown[0]!r}", advice=f"Known: {', '.join(sorted(names))}.")
    return {names[key]: value for key, value in given.items()}


def _given_datasets(
    given: Dataset | Sequence[Dataset] | None,
    training: str | Path | Sequence[str | Path] | None,
    validation: str | Path | Sequence[str | Path] | None,
) -> tuple[Dataset, ...] | None:
    """Data sets from objects and from file names; a single name is one file, not its letters."""
    files = [
        Dataset(type=kind, file_name=str(name))
        for kind, names in (("training", training), ("validation", validation))
        for name in ([names] if isinstance(names, str | Path) else names or ())
    ]
    found = datasets(given)
    if found is None and training is None and validation is None:
        return None
    return (*(found or ()), *files)


def _tuple(given: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if given is None else tuple(given)


def _entity_of(component: AgenticRLFunctionComponent) -> str:
    if not component.entity_id:
        raise InputError(
            f"function {component.label} has no entity_id", advice="Register it first, or use run() for all in one."
        )
    return component.entity_id


def _file_of(data: Dataset) -> str | None:
    if data.needs_upload:
        raise InputError(
            f"data set {data.file_name} has no file_id", advice="Upload it first, or use run() for all in one."
        )
    return data.file_id
