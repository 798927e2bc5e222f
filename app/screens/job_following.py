"""Following the log of one job: read once, from its first line, and shown at a pace that the terminal's line bears."""

import asyncio
from abc import abstractmethod
from dataclasses import dataclass

from textual import on, work
from textual.message import Message
from textual.timer import Timer

from agentic_rl_tui.app.backend import LogChunk, LogNote
from agentic_rl_tui.app.feed import JobFeed
from agentic_rl_tui.app.poll import Pauses, Pulse, eased_s
from agentic_rl_tui.app.screens.job_panes import JobPanes
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span

SHOW_EVERY_S = 0.1
SHOW_SLOW_S = 2.0
"""How often new lines show at the end of a slow line."""


class JobFollowing(JobPanes):
    """In: `feed`, before anything is followed. Out: `show_lines`, `show_stream`, and `load` when the log has ended."""

    feed: JobFeed
    is_stream_over: bool = False
    stream_note: tuple[Span, ...] = ()
    _is_prepared: bool = False
    _show_timer: Timer | None = None

    @dataclass
    class Prepared(Message):
        """What was kept of the log from before is counted and read."""

    @dataclass
    class LinesCame(Message):
        chunk: LogChunk

    @dataclass
    class StreamSaid(Message):
        note: LogNote

    @dataclass
    class StreamEnded(Message):
        error: ArlError | None = None

    def __init__(self) -> None:
        super().__init__()
        self.pauses = Pauses(lambda wanted_s: eased_s(wanted_s, self.pulse()))

    def pulse(self, *, failures: int = 0, retry_after_s: float | None = None) -> Pulse:
        return Pulse(
            is_local=self.arl.settings.profile.is_local,
            is_live=True,
            is_seen=self.is_seen,
            is_focused=self.app.app_focus,
            failures=failures,
            retry_after_s=retry_after_s,
            is_slow_line=self.arl.is_slow,
        )

    @work(exclusive=True, group="job.follow", exit_on_error=False)
    async def follow(self) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        self.is_stream_over = False
        if not self._is_prepared:
            await asyncio.to_thread(self.feed.prepare)
            self._is_prepared = True
            self.post_message(self.Prepared())
        try:
            async for item in backend.follow(self.job_id, offset=len(self.feed.source), pause=self.pauses.wait):
                if isinstance(item, LogChunk):
                    self.post_message(self.LinesCame(item))
                else:
                    self.post_message(self.StreamSaid(item))
                await asyncio.sleep(0)
        except ArlError as error:
            self.post_message(self.StreamEnded(error))
        else:
            self.post_message(self.StreamEnded())

    @on(Prepared)
    def _prepared(self) -> None:
        self._plan_show()

    @on(LinesCame)
    def _lines_came(self, event: LinesCame) -> None:
        if self.feed.is_ahead_of(event.chunk):
            # The service's log is shorter than what is kept: it is another log under the same id.
            self.feed.clear()
            self._plan_show()
            self.follow()
        elif self.feed.take(event.chunk):
            self.arl.stalls.lines(self.job_id, len(self.feed.source), self.arl.clock())
            self.stream_note = ()
            self._plan_show()

    def _plan_show(self) -> None:
        if self._show_timer is None:
            self._show_timer = self.set_timer(SHOW_SLOW_S if self.arl.is_slow else SHOW_EVERY_S, self._show_now)

    def _show_now(self) -> None:
        self._show_timer = None
        self.show_lines()

    @on(StreamSaid)
    def _stream_said(self, event: StreamSaid) -> None:
        note = event.note
        self.stream_note = ((f"⚠ {note.text}", "$warn"),) if note.is_trouble else ()
        self.show_stream()

    @on(StreamEnded)
    def _stream_ended(self, event: StreamEnded) -> None:
        self.is_stream_over = True
        if event.error is not None:
            self.arl.fail(event.error, _("follow the log of {job_id}").format(job_id=self.job_id))
            self.stream_note = ((_("⚠ the stream broke off · ^r tries again"), "$warn"),)
        self.show_stream()
        self.load()

    def on_unmount(self) -> None:
        self.feed.store.close()

    @abstractmethod
    def show_lines(self) -> None:
        """Show what is in the feed."""

    @abstractmethod
    def show_stream(self) -> None:
        """Show how the stream itself is."""

    @abstractmethod
    def load(self) -> object:
        """Ask for the job anew."""
