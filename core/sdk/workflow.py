"""From a plan to a job: check, register, upload, submit."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import InputError, NotFound, Rejected
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.sdk.body import ReadyDataset, ReadyFunction, compose
from agentic_rl_tui.core.sdk.components import Dataset
from agentic_rl_tui.core.sdk.events import JobSubmitted, Note, OnEvent
from agentic_rl_tui.core.sdk.origins import remember
from agentic_rl_tui.core.sdk.plan import JobPlan, fingerprint
from agentic_rl_tui.core.sdk.register import Deployed, Prepared, Registrar, to_the_end
from agentic_rl_tui.core.sdk.session import Session
from agentic_rl_tui.core.sdk.steps import Steps
from agentic_rl_tui.core.sdk.submit import Submitter, unique_name
from agentic_rl_tui.core.sdk.upload import Uploader

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.journal import Intent

LAYER_S = 600.0


class Workflow:
    """The steps of one call. `deployed` and `datasets` hold what is on the service so far, also after a failure."""

    def __init__(self, session: Session, plan: JobPlan, on_event: OnEvent | None) -> None:
        from agentic_rl_tui.core.client.files import Files
        from agentic_rl_tui.core.client.functions import Functions
        from agentic_rl_tui.core.client.jobs import Jobs

        key = session.key()  # refuses before anything is read or sent
        transport, scope = session.transport, session.scope()
        self.plan = plan
        self.steps = Steps(on_event)
        self.deployed: list[Deployed] = []
        self.datasets: list[ReadyDataset] = []
        self._origins = session.origins()
        self._prepared: Sequence[Prepared] = ()
        self._uploader = Uploader(Files(transport), plan.base)
        self._submitter = Submitter(Jobs(transport), session.journal(), scope=scope, retry=transport.retry)
        self._registrar = Registrar(
            Functions(transport),
            session.registry(),
            scope=scope,
            base=plan.base,
            secrets=[key] if key is not None else [],
            layer_timeout_s=transport.seconds("layer_timeout_s", LAYER_S),
        )

    async def register(self, *, load: bool) -> list[Deployed]:
        prepared = self._prepared = await self._registrar.prepare(self.plan.functions, self.steps)
        self.deployed = await self._registrar.deploy(prepared, self.steps, load=load)
        return self.deployed

    async def upload(self, datasets: Sequence[Dataset], *, force: bool) -> list[ReadyDataset]:
        await self._uploader.check(datasets, self.steps, force=force)
        self.datasets = await self._uploader.upload(datasets, self.steps)
        return self.datasets

    async def submit(
        self, functions: Sequence[ReadyFunction], datasets: Sequence[ReadyDataset], *, exact_name: bool
    ) -> Job:
        """Submit what is on the service already."""
        self.plan.check()
        mark = fingerprint(self.plan, {part.component.label: part.entity_id for part in functions})
        intent, job = await self._submitter.resume(mark)
        if job is not None:
            return await self._adopted(job)
        return await self._submit(functions, datasets, mark, intent, exact_name=exact_name)

    async def run(self, *, force: bool, exact_name: bool) -> Job:
        """All of it. What can be checked on this machine is checked before the first request."""
        self.plan.check()
        async with self.steps.step("check", _("check the functions")) as step:
            prepared = self._prepared = await self._registrar.prepare(self.plan.functions, self.steps)
            step.detail = ngettext("{count} function", "{count} functions", len(prepared)).format(count=len(prepared))
        await self._uploader.check(self.plan.datasets, self.steps, force=force)
        mark = fingerprint(self.plan, {part.component.label: part.hash for part in prepared if part.hash})
        intent, job = await self._submitter.resume(mark)
        if job is not None:
            return await self._adopted(job)
        try:
            self.deployed = await self._registrar.deploy(prepared, self.steps)
            self.datasets = await self._uploader.upload(self.plan.datasets, self.steps)
        except BaseException:
            if intent is not None:
                intent.release()
            raise
        return await self._submit_deployed(prepared, mark, intent, exact_name=exact_name)

    async def _remember(self, job: Job, datasets: Sequence[ReadyDataset]) -> None:
        """Keep what the job was made of, for clones and comparisons."""
        keep = partial(remember, self._origins, job.job_id, self.plan, self._prepared, datasets, self._uploader.rows)
        await to_the_end(keep)

    async def _adopted(self, job: Job) -> Job:
        await self._remember(job, [ReadyDataset(data, data.file_id) for data in self.plan.datasets])
        self.steps.send(
            Note(_("this job was submitted before and its answer lost; {job_id} is adopted").format(job_id=job.job_id))
        )
        self.steps.send(JobSubmitted(job, adopted=True))
        return job

    async def _submit(
        self,
        functions: Sequence[ReadyFunction],
        datasets: Sequence[ReadyDataset],
        mark: str,
        intent: "Intent | None",
        *,
        exact_name: bool,
    ) -> Job:
        name = self.plan.name if exact_name else unique_name(self.plan.name)
        if intent is not None:
            name = intent.job_name
        body = compose(self.plan, functions, datasets, job_name=name)
        async with self.steps.step("submit", _("submit {name}").format(name=name)) as step:
            done = await self._submitter.submit(body, fingerprint=mark, intent=intent, is_exact_name=exact_name)
            step.detail, step.reused = done.job.job_id, done.adopted
        await self._remember(done.job, datasets)
        self.steps.send(JobSubmitted(done.job, done.adopted))
        return done.job

    async def _submit_deployed(
        self, prepared: Sequence[Prepared], mark: str, intent: "Intent | None", *, exact_name: bool
    ) -> Job:
        """Submit; where the service no longer knows a function that was reused, register it anew and submit again."""
        try:
            return await self._submit(ready(self.deployed), self.datasets, mark, intent, exact_name=exact_name)
        except (Rejected, NotFound) as error:
            reused = [part.entity_id for part in self.deployed if part.reused and not part.component.entity_id]
            gone = [entity_id for entity_id in reused if entity_id in str(error)]
            if not gone:
                raise
            # One that is gone tells that the service's memory was cleared: none of the others can be trusted.
            self.steps.send(
                Note(_("{what} is not known there any more; the functions are registered anew").format(what=gone[0]))
            )
            await asyncio.to_thread(self._registrar.forget, reused)
        self.deployed = await self._registrar.deploy(prepared, self.steps)
        return await self._submit(ready(self.deployed), self.datasets, mark, None, exact_name=exact_name)


def ready(deployed: Sequence[Deployed]) -> list[ReadyFunction]:
    return [ReadyFunction(part.component, part.entity_id, part.layer_code) for part in deployed]


def given(plan: JobPlan) -> tuple[list[ReadyFunction], list[ReadyDataset]]:
    """A plan in which everything has its id already. Raises InputError naming what has none."""
    for component in plan.functions:
        if not component.entity_id:
            raise InputError(
                _("function {label} has no entity_id").format(label=component.label),
                advice=_("Register it first, or use run() for all in one."),
            )
    for data in plan.datasets:
        if data.needs_upload:
            raise InputError(
                _("data set {file_name} has no file_id").format(file_name=data.file_name),
                advice=_("Upload it first, or use run() for all in one."),
            )
    functions = [ReadyFunction(part, part.entity_id or "") for part in plan.functions]
    return functions, [ReadyDataset(part, part.file_id) for part in plan.datasets]


def on_service(
    plan: JobPlan, deployed: Sequence[Deployed], datasets: Sequence[ReadyDataset]
) -> tuple[JobPlan, list[ReadyFunction], list[ReadyDataset]]:
    """The plan with what earlier calls put on the service in place of what it names."""
    if deployed:
        plan = replace(plan, functions=tuple(part.component for part in deployed))
    if datasets:
        plan = replace(plan, datasets=tuple(part.dataset for part in datasets))
    functions = ready(deployed) if deployed else given(replace(plan, datasets=()))[0]
    data = list(datasets) if datasets else given(replace(plan, functions=()))[1]
    return plan, functions, data
