"""A job that is followed without a screen and tells nothing new: said once for each stall, and sent as a notice."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from agentic_rl_tui.app.stall import stall_words, watch_of
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk import AgenticRL

LOOK_EVERY_S = 15.0


class StallTeller:
    """In: `see` at each news of the job, `lines` where its log is read; else its log is counted when it is suspect."""

    def __init__(self, client: AgenticRL, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._clock = clock
        self._watch = watch_of(client.settings)
        self._job: Job | None = None

    def see(self, job: Job) -> None:
        self._job = job
        self._watch.see(job, self._clock())

    def lines(self, count: int) -> None:
        if self._job is not None:
            self._watch.lines(self._job.job_id, count, self._clock())

    async def look(self) -> None:
        """Tell of a stall that was not told yet."""
        job = self._job
        if job is None or not self._watch.suspects(self._clock()):
            return
        try:
            self.lines((await self._client.logs(job.job_id, lines=1)).total)
        except ArlError:
            # Whoever waits for the job tells of an outage; nothing is known of the log now.
            return
        for stalled in self._watch.fresh([job], self._clock()):
            words = stall_words(self._watch, stalled.job_id, self._clock())
            name = stalled.job_name or stalled.job_id
            told = _("job {name} ({job_id}): {what}").format(name=name, job_id=stalled.job_id, what=words)
            print(plain(told), file=sys.stderr, flush=True)
            await send_notice(self._client, stalled, "stalled", words)

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        """Look now and then while something else waits for the job."""

        async def look_on() -> None:
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                await self.look()

        looking = asyncio.create_task(look_on())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking


async def send_notice(client: AgenticRL, job: Job, event: str, text: str) -> None:
    """Send what the user's settings ask for; a notice that fails is told, and changes no exit code."""
    from agentic_rl_tui.core.notices import channels_of, notice_of, send

    notice = notice_of(job, event, text, profile=client.settings.profile_name, at=time.time())
    try:
        failures = await send(notice, channels_of(client.settings))
    except ArlError as error:
        failures = [("settings", error)]
    for _name, failure in failures:
        print(failure.message, file=sys.stderr)
