"""Watching what goes on while somebody is elsewhere: an end or a stall is told wherever one is in the program."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import work
from textual.timer import Timer

from agentic_rl_tui.app.poll import Pulse, delay_s
from agentic_rl_tui.app.returning import Returning
from agentic_rl_tui.app.surfaces import state_of
from agentic_rl_tui.core.models.errors import ArlError, NotFound

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job

_PAGE_SIZE = 100
_MOST_ALONE = 10
"""Jobs beyond the first page that are asked for one by one."""


class Watching(Returning):
    """Asks for the jobs that go on, seldom, unless a place on the screen does so by itself."""

    is_slow: bool
    _watch_timer: Timer | None = None
    _watch_failures: int = 0

    def watch_jobs(self, jobs: "Iterable[Job]") -> None:
        heard = tuple(jobs)
        super().watch_jobs(heard)
        if self._watch_timer is None or self.going_on.keys() <= {job.job_id for job in heard}:
            self._plan_watch()

    def _plan_watch(self, retry_after_s: float | None = None) -> None:
        if self._watch_timer is not None:
            self._watch_timer.stop()
            self._watch_timer = None
        if not self.is_polling or not self.going_on:
            return
        pulse = Pulse(
            is_local=self.settings.profile.is_local,
            is_live=True,
            is_seen=False,
            is_focused=self.app_focus,
            failures=self._watch_failures,
            retry_after_s=retry_after_s,
            is_slow_line=self.is_slow,
        )
        self._watch_timer = self.set_timer(delay_s(pulse), self.watch_on)

    def watch_on(self) -> None:
        """Ask for what goes on, unless the list of jobs is looked at: that asks by itself."""
        listed = self.jobs_screen()
        if listed is not None and listed.is_mounted and listed.is_seen:
            self._plan_watch()
        else:
            self._ask_what_goes_on()

    @work(exclusive=True, group="app.watching", exit_on_error=False)
    async def _ask_what_goes_on(self) -> None:
        backend = self.backend
        if backend is None:
            return
        wanted = list(self.going_on)
        try:
            heard = {job.job_id: job for job in (await backend.jobs(1, _PAGE_SIZE)).jobs}
            for job_id in [job_id for job_id in wanted if job_id not in heard][:_MOST_ALONE]:
                try:
                    heard[job_id] = await backend.job(job_id)
                except NotFound:
                    self.going_on.pop(job_id, None)
        except ArlError as error:
            # The header tells of an outage; the places tell it in words when somebody goes there.
            self._watch_failures += 1
            self.set_health(state_of(error))
            self._plan_watch(error.retry_after_s)
            return
        if backend is not self.backend:
            return
        self._watch_failures = 0
        self.watch_jobs(heard.values())
        self.tell_stalls(heard.values())
        self._plan_watch()

    def forget_watched(self) -> None:
        super().forget_watched()
        self._watch_failures = 0
        self._plan_watch()
