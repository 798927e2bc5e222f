"""AgenticRL: the whole service behind one object."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ConfigError, InputError
from agentic_rl_tui.core.models.jobs import Job, LogPage
from agentic_rl_tui.core.sdk.calls import Calls
from agentic_rl_tui.core.sdk.components import AgenticRLFunctionComponent, Dataset
from agentic_rl_tui.core.sdk.events import OnEvent
from agentic_rl_tui.core.sdk.plan import JobPlan, components, datasets, from_document
from agentic_rl_tui.core.sdk.session import Session, with_workspace
from agentic_rl_tui.core.settings import Profile, Settings
from agentic_rl_tui.core.settings import load as load_settings

if TYPE_CHECKING:
    import httpx

    from agentic_rl_tui.core.client.files import Files
    from agentic_rl_tui.core.client.functions import Functions
    from agentic_rl_tui.core.client.jobs import FollowNote, Jobs
    from agentic_rl_tui.core.client.retry import RetryPolicy
    from agentic_rl_tui.core.client.transport import Transport
    from agentic_rl_tui.core.sdk.body import ReadyDataset
    from agentic_rl_tui.core.sdk.clone import Cloned, Start
    from agentic_rl_tui.core.sdk.compare import JobComparison
    from agentic_rl_tui.core.sdk.health import Health
    from agentic_rl_tui.core.sdk.journal import Intent
    from agentic_rl_tui.core.sdk.origins import Origin
    from agentic_rl_tui.core.sdk.register import Deployed, Registered
    from agentic_rl_tui.core.sdk.upload import Uploaded

Functions_ = AgenticRLFunctionComponent | Sequence[AgenticRLFunctionComponent] | None
Datasets_ = Dataset | Sequence[Dataset] | None
Names = str | Path | Sequence[str | Path] | None


class AgenticRL(Calls):
    """Functions, data sets and jobs of one profile.

    Making one does no I/O; the first request connects, and starts the local platform when the profile is the local
    one and none runs. Use it as an async context manager, or call `close`.

    api_key wins over DASHSCOPE_API_KEY and the profile, for every request of this object. workspace is the folder
    whose settings file counts and from which relative paths start; workspace_id the service's own workspace. http
    replaces the network in tests.
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
            settings = with_workspace(settings, workspace_id)
        self.session = Session(settings, api_key=api_key, retry=retry, http=http)
        self._job_file: tuple[Path, Mapping[str, Any]] | None = None
        self._plan: JobPlan | None = None
        self._deployed: Sequence[Deployed] = ()
        self._ready_datasets: Sequence[ReadyDataset] = ()

    @property
    def settings(self) -> Settings:
        return self.session.settings

    @property
    def profile(self) -> Profile:
        return self.settings.profile

    @property
    def transport(self) -> "Transport":
        return self.session.transport

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
    def plan(self) -> JobPlan:
        """The job as the job file has it; an empty one without. Raises ConfigError with every error of the file.

        The first look checks the file and the workspace around it, which takes a moment.
        """
        if self._plan is None and self._job_file is not None:
            from agentic_rl_tui.core.jobfile import load
            from agentic_rl_tui.core.sdk.facts import facts_of

            path, overrides = self._job_file
            self._plan = JobPlan(self.base, document=load(path, facts=facts_of(self.base), overrides=overrides))
        plan = self._plan or JobPlan(self.base)
        return from_document(plan.document) if plan.document is not None else plan

    async def _planned(self) -> JobPlan:
        """`plan` without holding up the event loop."""
        return await asyncio.to_thread(lambda: self.plan)

    @property
    def base(self) -> Path:  # type: ignore[override]
        return self._job_file[0].parent if self._job_file is not None else self.settings.workspace

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the object can be used again."""
        await self.session.close()

    def init(self, config_path: str | Path | None = None, **overrides: Any) -> Self:
        """Read a job file; what is given here wins over it.

        overrides: model, teacher_model, job_name, hyper_parameters, resources, and keys of the file. Nothing is
        refused yet: `run`, `register_functions`, `upload_datasets` and `submit_job` raise what the check found, all
        of it, before they send anything. Raises ConfigError when the file cannot be read at all.
        """
        given = {key: value for key, value in overrides.items() if value is not None}
        self._deployed, self._ready_datasets = (), ()
        self._job_file = self._plan = None
        if config_path is None:
            self._plan = JobPlan(self.settings.workspace).with_changes(**_plan_changes(given))
            return self
        path = Path(config_path)
        if not path.is_absolute() and not path.exists():
            path = self.settings.workspace / path
        _require_readable(path)
        self._job_file = (path.absolute(), given)
        return self

    async def register_functions(
        self, functions: Functions_ = None, lazy_load: bool = True, on_event: OnEvent | None = None
    ) -> "Registered":
        """Package, upload and register functions, those of the job file unless given; ids by kind.

        A function whose code is registered already is not sent again. lazy_load=False also loads an instance of
        each, for test_functions.
        """
        from agentic_rl_tui.core.sdk.register import by_kind
        from agentic_rl_tui.core.sdk.workflow import Workflow

        plan = (await self._planned()).with_changes(functions=components(functions))
        if not plan.functions:
            raise InputError(_("there is no function to register"), advice=_("Pass functions=, or init() a job file."))
        self._deployed = await Workflow(self.session, plan, on_event).register(load=not lazy_load)
        return by_kind(self._deployed)

    async def upload_datasets(
        self,
        datasets: Datasets_ = None,
        training_files: Names = None,
        validation_files: Names = None,
        *,
        force: bool = False,
        on_event: OnEvent | None = None,
    ) -> "Uploaded":
        """Check and upload data sets, those of the job file unless given; file ids by use.

        Refuses files with errors unless forced, and missing ones always.
        """
        from agentic_rl_tui.core.sdk.upload import by_use
        from agentic_rl_tui.core.sdk.workflow import Workflow

        plan = await self._planned()
        wanted = _given_datasets(datasets, training_files, validation_files)
        chosen = plan.datasets if wanted is None else wanted
        if not chosen:
            raise InputError(
                _("there is no data set to upload"), advice=_("Pass training_files=, or init() a job file.")
            )
        self._ready_datasets = await Workflow(self.session, plan, on_event).upload(chosen, force=force)
        return by_use(self._ready_datasets)

    async def submit_job(
        self,
        model: str | None = None,
        datasets: Datasets_ = None,
        functions: Functions_ = None,
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
        that was used before. An equal submission that was broken off within the last day is looked up and adopted.
        """
        from agentic_rl_tui.core.sdk.workflow import Workflow, on_service

        plan = _changed(await self._planned(), model, hyper_parameters, resources, job_name, teacher_model)
        plan = plan.with_changes(functions=components(functions), datasets=_several(datasets))
        plan, ready, data = on_service(
            plan,
            self._deployed if functions is None else (),
            self._ready_datasets if datasets is None else (),
        )
        return await Workflow(self.session, plan, on_event).submit(ready, data, exact_name=exact_name)

    async def run(
        self,
        model: str | None = None,
        training_datasets: Datasets_ = None,
        validation_datasets: Datasets_ = None,
        functions: Functions_ = None,
        hyper_parameters: Mapping[str, Any] | None = None,
        resources: Mapping[str, Any] | None = None,
        job_name: str | None = None,
        teacher_model: str | None = None,
        *,
        force: bool = False,
        exact_name: bool = False,
        on_event: OnEvent | None = None,
    ) -> Job:
        """Register, upload and submit; everything that can be checked here is checked before the first request.

        What is given wins over the job file. force sends data files although they have errors; exact_name as in
        submit_job.
        """
        from agentic_rl_tui.core.sdk.workflow import Workflow

        plan = _changed(await self._planned(), model, hyper_parameters, resources, job_name, teacher_model)
        chosen = datasets(training_datasets, validation_datasets)
        plan = plan.with_changes(functions=components(functions), datasets=chosen)
        workflow = Workflow(self.session, plan, on_event)
        try:
            return await workflow.run(force=force, exact_name=exact_name)
        finally:
            self._deployed, self._ready_datasets = workflow.deployed, workflow.datasets

    def iter_jobs(
        self, *, model: str | None = None, status: str | None = None, name: str | None = None
    ) -> AsyncIterator[Job]:
        """Every job once, newest first."""
        return self.jobs.iter(model=model, status=status, name=name)

    def follow(self, job_id: str, offset: int = 0, **how: Any) -> "AsyncIterator[LogPage | FollowNote]":
        """New lines until the job has ended and its last line was read; how as in Jobs.follow."""
        return self.jobs.follow(job_id, offset=offset, **how)

    async def checkpoints(self, job_id: str) -> "tuple[Start, ...]":
        """What a job left to go on from, the best by validation first."""
        from agentic_rl_tui.core.sdk.clone import checkpoints

        return await checkpoints(self, await self.get(job_id))

    async def clone(self, job_id: str, *, output: Path | str | None = None, checkpoint: str | None = None) -> "Cloned":
        """Write a job's settings as a new job file, by default in the workspace; no file is ever written over.

        checkpoint: go on from this checkpoint of the job (its name, its step, or ``best``) instead of starting anew.
        """
        from agentic_rl_tui.core.sdk.clone import clone

        return await clone(self, job_id, output=output, checkpoint=checkpoint)

    async def compare(self, old_id: str, new_id: str) -> "JobComparison":
        """What differs between two jobs: changed settings, and code and data as far as this machine submitted them."""
        from agentic_rl_tui.core.sdk.compare import compare

        return await compare(self, old_id, new_id)

    def origin(self, job_id: str) -> "Origin | None":
        """What a job was made of; None for a job that was not submitted from this machine."""
        return self.session.origins().get(job_id)

    async def health(self) -> "Health":
        """How the profile's service is. Never starts the local platform and never raises for what it finds."""
        from agentic_rl_tui.core.sdk.health import health_of

        return await health_of(self.session)

    def unfinished_submissions(self) -> "Sequence[Intent]":
        """Submissions of this profile that were broken off before their outcome was known, newest first."""
        return self.session.journal().abandoned(scope=self.session.scope())


def _changed(
    plan: JobPlan,
    model: str | None,
    hyper_parameters: Mapping[str, Any] | None,
    resources: Mapping[str, Any] | None,
    job_name: str | None,
    teacher_model: str | None,
) -> JobPlan:
    """The plan with a call's own values, which win; single hyper-parameters and resources are added to the plan's."""
    return plan.with_changes(
        model=model,
        name=job_name,
        teacher_model=teacher_model,
        hyper_parameters={**plan.hyper_parameters, **hyper_parameters} if hyper_parameters else None,
        resources={**plan.resources, **resources} if resources else None,
    )


def _require_readable(path: Path) -> None:
    """Raises ConfigError as a check of the file would."""
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:
        raise ConfigError(
            _("the job file {path} cannot be read: {reason}").format(
                path=path, reason=getattr(error, "strerror", None) or error
            ),
            advice=_("Check the path and its permissions."),
            number=1001,
        ) from error


def _plan_changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides without a job file, by the plan's names. Raises ConfigError for one that there is not."""
    names = {"job_name": "name", **{name: name for name in _CHANGEABLE}}
    unknown = sorted(given.keys() - names.keys())
    if unknown:
        raise ConfigError(
            _("there is no setting {name!r}").format(name=unknown[0]),
            advice=_("Known: {names}.").format(names=", ".join(sorted(names))),
        )
    return {names[key]: value for key, value in given.items()}


_CHANGEABLE = ("name", "model", "teacher_model", "hyper_parameters", "resources")


def _given_datasets(given: Datasets_, training: Names, validation: Names) -> tuple[Dataset, ...] | None:
    """Data sets from objects and from file names; a single name is one file, not its letters."""
    if given is None and training is None and validation is None:
        return None
    files = [
        Dataset(type=kind, file_name=str(name))
        for kind, names in (("training", training), ("validation", validation))
        for name in ([names] if isinstance(names, str | Path) else names or ())
    ]
    return (*(_several(given) or ()), *files)


def _several(given: Datasets_) -> tuple[Dataset, ...] | None:
    if given is None:
        return None
    return (given,) if isinstance(given, Dataset) else tuple(given)
