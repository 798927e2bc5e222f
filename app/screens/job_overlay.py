"""The numbers of other jobs, to be laid over those of the one that is shown."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from textual import work
from textual.message import Message

from agentic_rl_tui.app.backend import LogChunk
from agentic_rl_tui.app.feed import JobFeed, open_store
from agentic_rl_tui.app.present.metrics import MetricBook
from agentic_rl_tui.app.present.rollouts import one_line
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.job_panes import JobPane
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.app.tui import ArlApp

_MOST_JOBS = 100
_READ_LIMIT_S = 60.0


class JobOverlay(JobPane):
    """In: `choose`, `read_others`, `clear_others`. Out: `Read` when the numbers of a job came."""

    @dataclass
    class Read(Message):
        job_id: str

    def __init__(self, job_id: str, name: str) -> None:
        super().__init__(id="metrics")
        self.job_id = job_id
        self.job_name = name
        self.others: dict[str, MetricBook] = {}
        self._ids: dict[str, str] = {}

    @property
    def arl(self) -> "ArlApp":
        return cast("ArlApp", self.app)

    def clear_others(self) -> None:
        self.others = {}
        self._ids.clear()

    def _marked(self) -> list[str]:
        """The jobs that are marked in the list below this screen."""
        marked: list[str] = []
        for screen in self.app.screen_stack:
            for table in screen.query("#jobs-table").results(Table) if screen is not self.screen else ():
                marked += [key for key in table.marks if key != self.job_id]
        return marked

    @work(exclusive=True, group="metrics.choose", exit_on_error=False)
    async def choose_others(self) -> None:
        """Ask for other jobs; the marked ones of the list come first, as one choice."""
        backend = self.arl.backend
        if backend is None:
            return
        try:
            page = await backend.jobs(1, _MOST_JOBS)
        except ArlError as error:
            self.arl.fail(error, _("list the jobs"))
            return
        choices = self._choices([job for job in page.jobs if job.job_id != self.job_id])
        if not choices:
            self.arl.refuse(_("There is no other job"))
            return

        def chosen(choice: Choice[tuple[Job, ...]] | None) -> None:
            if choice is not None:
                self.read_others(choice.value)

        self.app.push_screen(Choose(_("Lay another job over this one"), choices), chosen)

    def _choices(self, jobs: Sequence[Job]) -> list[Choice[tuple[Job, ...]]]:
        marked = tuple(job for job in jobs if job.job_id in self._marked())
        choices: list[Choice[tuple[Job, ...]]] = []
        if marked:
            label = ngettext("the {count} marked job", "the {count} marked jobs", len(marked))
            choices.append(Choice(marked, label.format(count=len(marked))))
        shown = set(self._ids.values())
        for job in jobs:
            state = _("shown; choose it to take it away") if job.job_id in shown else job.status.lower()
            choices.append(Choice((job,), one_line(job.job_name or job.job_id, 60), state, job.job_id[-4:]))
        return choices

    @work(exclusive=True, group="metrics.others", exit_on_error=False)
    async def read_others(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            known = next((name for name, job_id in self._ids.items() if job_id == job.job_id), None)
            if known is not None and len(jobs) == 1:
                del self._ids[known], self.others[known]
                self.post_message(self.Read(job.job_id))
            elif known is None:
                await self._read_one(job)

    async def _read_one(self, job: Job) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        feed = JobFeed(await asyncio.to_thread(open_store, self.arl.mirror_of(job.job_id)))
        try:
            await asyncio.to_thread(feed.prepare)
            async with asyncio.timeout(_READ_LIMIT_S):
                async for item in backend.follow(job.job_id, offset=len(feed.source)):
                    if isinstance(item, LogChunk):
                        feed.take(item)
                        if len(feed.source) >= item.total:
                            break
        except ArlError as error:
            self.arl.fail(error, _("read the log of {job}").format(job=job.job_id))
            return
        except TimeoutError:
            self.arl.say(_("The log of {job} is long; its first part is shown").format(job=job.job_id))
        finally:
            feed.store.close()
        if not feed.book.series:
            self.arl.refuse(_("The log of {job} holds no numbers").format(job=one_line(job.job_name or job.job_id, 60)))
            return
        name = one_line(job.job_name or job.job_id, 40)
        name = f"{name} {job.job_id[-4:]}" if name in self.others or name == self.job_name else name
        self._ids[name] = job.job_id
        self.others = {**self.others, name: feed.book}
        self.post_message(self.Read(job.job_id))
