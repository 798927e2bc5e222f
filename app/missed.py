"""Jobs that ended while nobody looked: what was going on when the app was left, and has ended since, is told once."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work

from agentic_rl_tui.app.cache import KnownJobs, read_jobs, write_jobs
from agentic_rl_tui.app.noticing import Noticing
from agentic_rl_tui.app.present.states import job_look
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.status import is_terminal

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job

MOST_TOLD_ALONE = 3
"""More ends than these are told in one sentence."""
_PAGE_SIZE = 100


class MissedEnds(Noticing):
    """The kept jobs of a profile say what was going on; the first answer of the service says what became of it."""

    _going_on: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def jobs_cache(self) -> Path | None:
        """Where the jobs of the last time are kept; None when nothing is kept."""

    def await_ends(self, *, is_listed: bool) -> None:
        """Take what was going on the last time. is_listed: the list of jobs is open and asks the service by itself."""
        path = self.jobs_cache
        known = None if path is None else read_jobs(path)
        jobs = known.jobs if known is not None else ()
        self._going_on = frozenset(str(item.get("job_id")) for item in jobs if _is_going_on(item))
        if self._going_on and path is not None and known is not None and not is_listed:
            self._ask_once(path, known)

    @work(exclusive=True, group="app.missed", exit_on_error=False)
    async def _ask_once(self, path: Path, known: KnownJobs) -> None:
        backend = self.backend
        if backend is None:
            return
        try:
            page = await backend.jobs(1, _PAGE_SIZE)
        except ArlError:
            # The header tells of an outage; the list asks again when somebody goes there.
            return
        self.watch_jobs(page.jobs)
        now = {job.job_id: job.status for job in page.jobs}
        jobs = [{**item, "status": now.get(str(item.get("job_id")), item.get("status"))} for item in known.jobs]
        self._keep_seen(path, jobs, known.at)

    @work(thread=True, exclusive=True, group="app.missed.keep", exit_on_error=False)
    def _keep_seen(self, path: Path, jobs: list[dict[str, Any]], at: float) -> None:
        write_jobs(path, jobs, at)

    def watch_jobs(self, jobs: "Iterable[Job]") -> None:
        heard = tuple(jobs)
        super().watch_jobs(heard)
        awaited = [job for job in heard if job.job_id in self._going_on]
        if not awaited:
            return
        self._going_on -= {job.job_id for job in awaited}
        ended = [job for job in awaited if job.is_terminal and job.job_id not in self.ends_told]
        is_many = len(ended) > MOST_TOLD_ALONE
        for job in ended:
            text = _("{state} while the app was closed").format(state=job_look(job.status).word)
            self.tell_end(job, text=text, is_shown=not is_many)
        if is_many:
            words = ngettext(
                "{count} job ended while the app was closed", "{count} jobs ended while the app was closed", len(ended)
            )
            self.say(words.format(count=len(ended)))


def _is_going_on(item: Any) -> bool:
    return isinstance(item.get("status"), str) and not is_terminal(item["status"])
