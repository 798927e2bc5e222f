"""Noticing what becomes of jobs, and telling it where it is wanted: toast, bell, terminal, command, webhook."""

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app import terminal
from agentic_rl_tui.app.connecting import Connecting
from agentic_rl_tui.app.present.states import job_look
from agentic_rl_tui.app.stall import StallWatch, stall_words, watch_of
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.models.text import plain

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.notices import Notice

LOOK_EVERY_S = 15.0
MOST_LOOKED_AT = 5
_EVENTS = {
    JobStatus.SUCCEEDED: "succeeded",
    JobStatus.FAILED: "failed",
    JobStatus.CANCELED: "canceled",
}


class Noticing(Connecting):
    """Every end is told once, every stall once, every channel that fails once."""

    ends_told: set[str]
    going_on: "dict[str, Job]"
    """The jobs that had not ended when the service told of them last."""
    _channels_told: frozenset[str] = frozenset()
    _looked_at: float = 0.0

    class ChannelsFailed(Message):
        def __init__(self, failures: "list[tuple[str, ArlError]]") -> None:
            super().__init__()
            self.failures = failures

    @cached_property
    def stalls(self) -> StallWatch:
        return watch_of(self.settings)

    def watch_jobs(self, jobs: "Iterable[Job]") -> None:
        """Take what the service has just told of jobs."""
        now = self.clock()
        for job in jobs:
            self.stalls.see(job, now)
            if not job.is_terminal:
                self.going_on[job.job_id] = job
            elif self.going_on.pop(job.job_id, None) is not None:
                self.tell_end(job)
        if now - self._looked_at > LOOK_EVERY_S and (suspects := self.stalls.suspects(now)[:MOST_LOOKED_AT]):
            self._looked_at = now
            self._look_at_logs(suspects)

    @work(exclusive=True, group="app.stalls", exit_on_error=False)
    async def _look_at_logs(self, job_ids: list[str]) -> None:
        """A job whose steps stand still may still be writing its log."""
        for job_id in job_ids:
            if self.backend is None:
                return
            try:
                count = await self.backend.log_size(job_id)
            except ArlError:
                # An outage is told by the list of jobs; nothing is known of the log now.
                return
            self.stalls.lines(job_id, count, self.clock())

    def tell_stalls(self, jobs: "Iterable[Job]") -> None:
        now = self.clock()
        for job in self.stalls.fresh(jobs, now):
            text = stall_words(self.stalls, job.job_id, now)
            self._tell(job, "stalled", text, "◒", "warning")

    def tell_end(self, job: "Job", *, text: str = "", is_shown: bool = True) -> None:
        """A job that was watched has ended. text: other words than its state; is_shown: with a toast and the bell."""
        if job.job_id in self.ends_told:
            return
        self.ends_told.add(job.job_id)
        look = job_look(job.status)
        severity: Literal["information", "error"] = "error" if job.status == JobStatus.FAILED else "information"
        event = _EVENTS.get(JobStatus(job.status), job.status.lower()) if job.status in _EVENTS else "ended"
        if is_shown:
            self._show_notice(job, text or look.word, look.glyph, severity)
        self._spread(job, event, text or look.word)

    def _tell(
        self, job: "Job", event: str, text: str, glyph: str, severity: Literal["information", "warning", "error"]
    ) -> None:
        self._show_notice(job, text, glyph, severity)
        self._spread(job, event, text)

    def _show_notice(
        self, job: "Job", text: str, glyph: str, severity: Literal["information", "warning", "error"]
    ) -> None:
        name = plain(job.job_name or job.job_id, keep_newlines=False)
        self.notify(f"{glyph} {text}", title=name, severity=severity, timeout=8, markup=False)
        if self.settings.get("tui.bell", True):
            self.bell()
        form = str(self.settings.get("notify.terminal", "auto"))
        self.to_terminal(terminal.notice(name, text, form if form in terminal.FORMS else "auto", os.environ))

    def _spread(self, job: "Job", event: str, text: str) -> None:
        """To the command and the webhook."""
        from agentic_rl_tui.core.notices import notice_of

        self._send(notice_of(job, event, text, profile=self.settings.profile_name, at=self.clock()))

    def to_terminal(self, sequence: str) -> None:
        """Write a sequence past the screen; a program without a terminal writes nothing."""
        if sequence and not self.is_headless and self._driver is not None:
            self._driver.write(sequence)

    @work(group="app.notices", exit_on_error=False)
    async def _send(self, notice: "Notice") -> None:
        from agentic_rl_tui.core.notices import channels_of, send

        try:
            channels = channels_of(self.settings)
        except ArlError as error:
            self.post_message(self.ChannelsFailed([("settings", error)]))
            return
        if not channels.is_empty and (failures := await send(notice, channels)):
            self.post_message(self.ChannelsFailed(failures))

    @on(ChannelsFailed)
    def _channels_failed(self, event: ChannelsFailed) -> None:
        """Each channel is complained of once: the next notice would fail the same way."""
        for name, error in event.failures:
            if name not in self._channels_told:
                self._channels_told |= {name}
                self.fail(error, _("send the notice"))

    def forget_watched(self) -> None:
        self.ends_told.clear()
        self.going_on.clear()
        self.__dict__.pop("stalls", None)
