"""Place 4: the jobs of the profile, in a table that updates in place."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer

from agentic_rl_tui.app.cache import read_jobs, write_jobs
from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.poll import Pulse, delay_s
from agentic_rl_tui.app.present.jobs import JobRow, counts, job_filter, job_row, kept_row, remembered_rows
from agentic_rl_tui.app.present.jobs_empty import nothing_to_show
from agentic_rl_tui.app.present.times import short_duration, stale_note
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.job_verbs import JobVerbs
from agentic_rl_tui.app.screens.jobs_columns import JobsColumns
from agentic_rl_tui.app.screens.jobs_peek import JobPeek
from agentic_rl_tui.app.surfaces import Outage, state_of
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError, NotFound
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Empty
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job, JobPage

PAGE_SIZE = 100
MOST_PINNED = 20
SLOW_AGE_S = 1800.0
"""How often the ages of jobs that are over move on a slow line: each of them costs a whole row."""
TICK_S = 1.0


def _is_pinned(row: JobRow) -> bool:
    return row.is_pinned


class JobsScreen(JobsColumns):
    """Keeps the pages read so far; the first is read again at each refresh, further ones when the cursor comes near."""

    place = "jobs"
    scope = "jobs"
    CSS_PATH = themes.STYLES / "jobs.tcss"
    BINDINGS = bindings("jobs")

    filter_text: reactive[str] = reactive("")
    is_stale: reactive[bool] = reactive(False)

    @dataclass
    class Loaded(Message):
        page: "JobPage"

    @dataclass
    class PinnedKnown(Message):
        jobs: "dict[str, Job]"

    @dataclass
    class Failed(Message):
        error: ArlError

    def __init__(self) -> None:
        super().__init__()
        self._jobs: dict[str, Job] = {}
        self._remembered: tuple[JobRow, ...] = ()
        self._remembered_at: float | None = None
        self._far: dict[str, Job] = {}
        """Pinned jobs of pages that are not read."""
        self._seen_over: dict[str, float] = {}
        """When jobs that are over were shown first: they are no younger than that."""
        self._total = 0
        self._pages_read = 0
        self._is_known = False
        self._outage = Outage()
        self._timer: Timer | None = None
        self._wanted = ""

    def body(self) -> ComposeResult:
        yield Heading(id="jobs-heading")
        table: Table[JobRow] = Table(self.columns(), lambda row: row.job_id, id="jobs-table")
        yield table
        yield Empty(id="jobs-empty")
        yield JobPeek(id="jobs-peek")

    @property
    def cursor_id(self) -> str:
        """The job under the cursor, or the one that the cursor is to come back to."""
        row = self.table.current
        return self._wanted or ("" if row is None else row.job_id)

    @property
    def table(self) -> Table[JobRow]:
        return self.query_one("#jobs-table", Table)

    def on_mount(self) -> None:
        self.query_one(Heading).title = _("Jobs")
        self._come_back()
        self._remember()
        self._show()
        self.table.focus()
        self.watch(self.app, "backend", self._backend_came)
        self.watch(self.app, "app_focus", self._looked_at_again, init=False)
        if self.arl.options.is_polling:
            self.set_interval(TICK_S, self._tick)

    def _come_back(self) -> None:
        """Filter, order and cursor of the last time."""
        view = self.arl.view
        self.set_reactive(JobsScreen.filter_text, view.filter)
        self.table.match = job_filter(view.filter)
        if view.order is not None and any(column.key == view.order[0] for column in self.table.columns):
            self.table.order = view.order
        self._wanted = view.cursor

    def _backend_came(self) -> None:
        if self.arl.backend is not None:
            self.load()

    def _looked_at_again(self, has_focus: bool) -> None:
        """Somebody looks at the terminal again: show them how things are now, unless the service asked for rest."""
        if has_focus and self._is_known and self.is_seen and not self._outage.failures:
            self.load()

    def on_screen_resume(self) -> None:
        if self._is_known:
            self.load()

    def line_changed(self) -> None:
        """The line to the screen counts as slow from now on, or no longer."""
        self.table.set_columns(self.columns())
        self._show()
        self._plan()

    # What was seen last time

    def _remember(self) -> None:
        """Show the jobs of the last time until the platform has answered."""
        path = self.arl.jobs_cache
        known = None if path is None else read_jobs(path)
        if known is not None:
            self._remembered = remembered_rows(known.jobs, now=self.arl.clock(), notes=self.arl.notes.all())
            self._remembered_at = known.at

    @work(thread=True, exclusive=True, group="jobs.keep", exit_on_error=False)
    def _keep(self, path: Path, rows: tuple[JobRow, ...], at: float) -> None:
        write_jobs(path, [kept_row(row) for row in rows], at)

    # Loading

    @work(exclusive=True, group="jobs.load", exit_on_error=False)
    async def load(self, page_no: int = 1) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            page = await backend.jobs(page_no, PAGE_SIZE)
        except ArlError as error:
            self.post_message(self.Failed(error))
        else:
            self.post_message(self.Loaded(page))

    @on(Loaded)
    def _take_page(self, event: Loaded) -> None:
        page = event.page
        self.arl.watch_jobs(page.jobs)
        self._is_known = True
        self._total = max(page.total, len(page.jobs))
        fresh = {job.job_id: job for job in page.jobs}
        if page.page_no == 1:
            # Jobs of the first page that are not in it any more were deleted or pushed to a later page.
            rest = {key: job for key, job in list(self._jobs.items())[len(fresh) :] if key not in fresh}
            self._jobs = fresh | (rest if self._total > len(fresh) else {})
            self._pages_read = max(self._pages_read, 1)
        else:
            self._jobs |= fresh
            self._pages_read = max(self._pages_read, page.page_no)
        self.is_stale = False
        if self._outage.succeeded(self.arl.clock()):
            self.arl.say(_("The platform answers again"))
        self.arl.set_health("ok")
        self._show()
        if self.arl.jobs_cache is not None:
            self._keep(self.arl.jobs_cache, tuple(self.table.items), self.arl.clock())
        if page.page_no == 1:
            self._load_pinned()
        self._plan()

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        self.is_stale = True
        if self._outage.failed():
            self.arl.fail(event.error, _("refresh the jobs"))
        self.arl.set_health(state_of(event.error))
        self._show()
        self._plan(event.error.retry_after_s)

    def _plan(self, retry_after_s: float | None = None) -> None:
        """Set the one timer for the next refresh; a place that nobody sees asks nothing."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self.arl.options.is_polling or not self.is_seen:
            return
        pulse = Pulse(
            is_local=self.arl.settings.profile.is_local,
            is_live=any(row.is_active for row in self.table.items),
            is_focused=self.app.app_focus,
            failures=self._outage.failures,
            retry_after_s=retry_after_s,
            is_slow_line=self.arl.is_slow,
        )
        self._timer = self.set_timer(delay_s(pulse), self.load)

    def action_refresh(self) -> None:
        self.load()

    @work(exclusive=True, group="jobs.pinned", exit_on_error=False)
    async def _load_pinned(self) -> None:
        """Read the pinned jobs that are further down than the pages read so far."""
        backend = self.arl.backend
        pinned = [job_id for job_id, note in self.arl.notes.all().items() if note.is_pinned]
        wanted = [job_id for job_id in pinned if job_id not in self._jobs][:MOST_PINNED]
        if backend is None or not wanted:
            return
        found: dict[str, Job] = {}
        for job_id in wanted:
            try:
                known = self._far.get(job_id)
                found[job_id] = known if known is not None and known.is_terminal else await backend.job(job_id)
            except NotFound:
                with suppress(OSError):
                    self.arl.notes.job_gone(job_id)
            except ArlError:
                # The list itself tells of an outage; what was known of the job stays.
                found |= {job_id: self._far[job_id]} if job_id in self._far else {}
        self.post_message(self.PinnedKnown(found))

    @on(PinnedKnown)
    def _pinned_known(self, event: PinnedKnown) -> None:
        self._far = event.jobs
        self._show()

    # Showing

    def _tick(self) -> None:
        """Let ages and durations go on; on a slow line they do so with the answers of the service."""
        self.arl.tell_stalls(self._jobs.values())
        if not self.arl.is_slow and self.is_seen and (self.is_stale or any(row.is_active for row in self.table.items)):
            self._show()

    def _show(self) -> None:
        now = self.arl.clock()
        zone = self.arl.backend.zone if self.arl.backend is not None else self.arl.zone
        notes = self.arl.notes.all()
        if self._is_known:
            jobs = [*self._jobs.values(), *(job for key, job in self._far.items() if key not in self._jobs)]
            stalled = self.arl.stalls.stalled_s
            rows = tuple(
                job_row(
                    job,
                    now=self._aged(job, now),
                    zone=zone,
                    note=notes.get(job.job_id),
                    stalled_s=stalled(job.job_id, now),
                )
                for job in jobs
            )
        else:
            rows = tuple(replace(row, now=now) for row in self._remembered)
        self.table.show(rows, top=_is_pinned if any(note.is_pinned for note in notes.values()) else None)
        if self._wanted and (self.table.move_to(self._wanted) or self._is_known):
            self._wanted = ""
        self._show_heading()
        self._show_empty()
        self._show_peek()
        self.refresh_hints()

    def _aged(self, job: "Job", now: float) -> float:
        """The time that the age of a job is told by: on a slow line that of jobs that are over moves seldom."""
        if not job.is_terminal or not self.arl.is_slow:
            return now
        return max(now - now % SLOW_AGE_S, self._seen_over.setdefault(job.job_id, now))

    def _show_peek(self) -> None:
        self.query_one(JobPeek).row = None if self.arl.is_slow else self.table.current

    def _show_heading(self) -> None:
        heading = self.query_one(Heading)
        table = self.table
        heading.facts = counts(table.items) if self._is_known or self._remembered else ()
        chips = []
        if self.filter_text:
            shown = _("{shown} of {total}").format(shown=table.row_count, total=len(table.items))
            chips.append(Chip(f"/ {self.filter_text} · {shown}"))
        if table.marks:
            marked = ngettext("{count} marked", "{count} marked", len(table.marks)).format(count=len(table.marks))
            chips.append(Chip(f"▪ {marked}"))
        heading.chips = tuple(chips)
        heading.note = self._note()

    def _note(self) -> tuple[Span, ...]:
        if not self._is_known and self._remembered_at is not None and not self.is_stale:
            age = short_duration(self.arl.clock() - self._remembered_at)
            return ((_("as of {age} ago · asking …").format(age=age), "$muted"),)
        if not self.is_stale:
            return ()
        good = self._outage.last_good_s or self._remembered_at
        return (stale_note(None if good is None else self.arl.clock() - good),)

    def _show_empty(self) -> None:
        empty = self.query_one("#jobs-empty", Empty)
        is_empty = self.table.row_count == 0
        empty.display = is_empty
        self.table.set_class(is_empty, "-empty")
        if not is_empty:
            return
        empty.title, empty.body = nothing_to_show(
            is_filtered=bool(self.filter_text and self._jobs), is_known=self._is_known, is_stale=self.is_stale
        )

    @on(Table.Highlighted)
    def _moved(self) -> None:
        self.refresh_hints()
        self._show_peek()
        if self.table.cursor >= len(self.table.items) - PAGE_SIZE // 4 and len(self._jobs) < self._total:
            self.load(self._pages_read + 1)

    @on(Table.MarksChanged)
    @on(Table.OrderChanged)
    def _marked(self) -> None:
        self._show_heading()
        self.refresh_hints()

    # Filter

    async def action_filter(self) -> None:
        await self.prompt.ask(
            "filter", "/", text=self.filter_text, hint=_("words, status:failed, model:qwen, pinned, note:word, !word")
        )

    @on(Prompt.Typed)
    def _draft(self, event: Prompt.Typed) -> None:
        self.table.match = job_filter(event.text)
        self._show_empty()

    @on(Prompt.Given)
    def _apply(self, event: Prompt.Given) -> None:
        self.filter_text = event.text.strip()

    @on(Prompt.Left)
    def _restore(self) -> None:
        self.watch_filter_text()

    def watch_filter_text(self) -> None:
        if self.is_mounted:
            self.table.match = job_filter(self.filter_text)
            self._show_heading()
            self._show_empty()
            self.refresh_hints()

    def undo_layers(self) -> Iterator[Layer]:
        if self.table.marks:
            yield Layer(_("clear marks"), self.table.clear_marks)
        if self.filter_text:
            yield Layer(_("clear filter"), lambda: setattr(self, "filter_text", ""))

    def plain_text(self) -> str:
        """Every row that passes the filter, whole."""
        rows = [
            ("\t".join((row.look.word, row.name, row.model, row.kind, row.job_id, row.reason or row.note)))
            for row in self.table.rows()
        ]
        return "\n".join(row.rstrip() for row in rows)

    # Verbs

    @property
    def targets(self) -> tuple[JobRow, ...]:
        return self.table.chosen

    def why_not(self, action_id: str) -> str | None:
        if not action_id.startswith(("jobs.", "table.")) or action_id == "jobs.filter":
            return None
        return self.objection(action_id.partition(".")[2], self.table.chosen)

    @on(Table.Opened)
    def _open(self, event: Table.Opened) -> None:
        self.arl.open_job(event.key, job=self._jobs.get(event.key))

    def action_logs(self) -> None:
        row = self.table.current
        if row is not None and self.may("jobs.logs"):
            self.arl.open_job(row.job_id, job=self._jobs.get(row.job_id), tab="logs")

    def action_copy(self) -> None:
        if self.may("jobs.copy"):
            self.arl.copy("\n".join(row.job_id for row in self.table.chosen), _("job id"))

    def action_cancel(self) -> None:
        if self.may("jobs.cancel"):
            self.ask("cancel", self.table.chosen)

    def action_delete(self) -> None:
        if self.may("jobs.delete"):
            self.ask("delete", self.table.chosen)

    def marks_changed(self) -> None:
        self._show()

    def acted(self, event: JobVerbs.Acted) -> None:
        if event.verb == "delete" and event.error is None:
            self._jobs.pop(event.row.job_id, None)
            self._far.pop(event.row.job_id, None)
            self._show()
        self.load()
