"""One job: overview, log, metrics, trajectories, traces."""

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.feed import JobFeed, open_store
from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.poll import delay_s
from agentic_rl_tui.app.present.job import clean, stall_line
from agentic_rl_tui.app.present.jobs import JobRow, job_row
from agentic_rl_tui.app.present.metrics import reward_bounds
from agentic_rl_tui.app.present.states import job_look, stalled_look
from agentic_rl_tui.app.present.times import stale_note
from agentic_rl_tui.app.screens.job_following import JobFollowing
from agentic_rl_tui.app.screens.job_logs import JobLogs
from agentic_rl_tui.app.screens.job_marks import JobMarks
from agentic_rl_tui.app.screens.job_overview import JobOverview
from agentic_rl_tui.app.screens.job_panes import JobPane
from agentic_rl_tui.app.screens.job_trajectories import JobTrajectories
from agentic_rl_tui.app.screens.job_verbs import JobVerbs
from agentic_rl_tui.app.screens.traces_list import TraceList
from agentic_rl_tui.app.screens.traces_of import open_trace
from agentic_rl_tui.app.surfaces import Outage
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, NotFound
from agentic_rl_tui.core.models.status import JobStatus, is_terminal
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.bars import Heading, Tab, TabBar
from agentic_rl_tui.widgets.cells import Span

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job

TABS = (
    Tab("overview", N_("Overview")),
    Tab("logs", N_("Logs")),
    Tab("metrics", N_("Metrics")),
    Tab("trajectories", N_("Trajectories")),
    Tab("traces", N_("Traces")),
)
TROUBLE_LINES = 6
PLAIN_LINES = 500


class JobScreen(JobFollowing, JobMarks):
    """Follows one job. The log is read once, from its first line, and feeds the log, the metrics and the failure."""

    place = "jobs"
    scope = "job"
    CSS_PATH = themes.STYLES / "job.tcss"
    BINDINGS = bindings("job")

    tab: reactive[str] = reactive("overview", init=False)

    @dataclass
    class Loaded(Message):
        job: "Job"
        report: dict[str, Any] | None

    @dataclass
    class LoadFailed(Message):
        error: ArlError

    def __init__(self, job_id: str, *, job: "Job | None" = None, tab: str = "overview") -> None:
        super().__init__()
        self.job_id = job_id
        self.job = job
        self.set_reactive(JobScreen.tab, tab)
        self._report: dict[str, Any] | None = None
        self._is_begun = False
        self._outage = Outage()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        self.feed = JobFeed(open_store(self.arl.mirror_of(self.job_id)))
        yield Heading(id="job-heading")
        yield TabBar(id="job-tabs")
        with ContentSwitcher(id="job-panes", initial=None):
            yield JobOverview(self.feed.source)
            yield JobLogs(self.feed.source)

    def on_mount(self) -> None:
        self.query_one(TabBar).tabs = tuple(Tab(tab.name, _(tab.title)) for tab in TABS)
        self.watch_tab()
        self.watch(self.app, "app_focus", self._looked_at_again, init=False)
        self._show()
        # A job that is opened out of the kept list may be there before the way to the platform is.
        self.watch(self.app, "backend", self._backend_came)

    def _backend_came(self) -> None:
        if self.arl.backend is not None and not self._is_begun:
            self._is_begun = True
            self.load()
            self.follow()

    # Loading

    @work(exclusive=True, group="job.load", exit_on_error=False)
    async def load(self) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            job = await backend.job(self.job_id)
            report = await backend.report(self.job_id)
        except ArlError as error:
            self.post_message(self.LoadFailed(error))
        else:
            self.post_message(self.Loaded(job, report))

    @on(Loaded)
    def _loaded(self, event: Loaded) -> None:
        self.arl.watch_jobs((event.job,))
        self.arl.tell_stalls((event.job,))
        self.job = event.job
        self._report = event.report
        if self.pane is not None:
            self.pane.job_changed(event.job)
        self._outage.succeeded(self.arl.clock())
        self._show()
        self._plan()

    @on(LoadFailed)
    def _load_failed(self, event: LoadFailed) -> None:
        if self._outage.failed():
            self.arl.fail(event.error, _("read job {job_id}").format(job_id=self.job_id))
        if self.job is None and isinstance(event.error, NotFound) and self.is_current:
            self.leave_screen()
            return
        self._show()
        self._plan(event.error.retry_after_s)

    def _plan(self, retry_after_s: float | None = None) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        is_over = self.job is not None and is_terminal(self.job.status) and not self._outage.failures
        if not self.arl.options.is_polling or not self.is_seen or is_over:
            return
        pulse = self.pulse(failures=self._outage.failures, retry_after_s=retry_after_s)
        self._timer = self.set_timer(delay_s(pulse), self.load)

    def _looked_at_again(self, has_focus: bool) -> None:
        if not has_focus:
            return
        self.pauses.wake()
        is_over = self.job is None or self.job.is_terminal
        if self.is_seen and not is_over and not self._outage.failures:
            self.load()

    def on_screen_resume(self) -> None:
        self.pauses.wake()
        if self.job is not None:
            self.load()

    def action_refresh(self) -> None:
        self.load()
        if self.is_stream_over or self.stream_note:
            self.follow()  # at once, whatever the next try after a loss was waiting for
        else:
            self.pauses.wake()

    def show_lines(self) -> None:
        self.show_stream()
        self.query_one(JobOverview).show_lines()
        self._show_metrics()
        if self.feed.trouble and self.job is not None and self.job.status == JobStatus.FAILED:
            self._show()

    def show_stream(self) -> None:
        self.query_one(JobLogs).set_note(self.stream_note, is_live=not self.is_stream_over)

    # Showing

    def _show(self) -> None:
        heading = self.query_one("#job-heading", Heading)
        job = self.job
        if job is None:
            heading.title = self.job_id
            heading.facts = ((_("reading …"), "$muted"),)
            return
        stalled_s = self.arl.stalls.stalled_s(self.job_id, self.arl.clock())
        look = job_look(job.status) if stalled_s is None else stalled_look()
        heading.title = clean(job.job_name or job.job_id)
        heading.facts = ((look.label, look.style), (f"  {clean(job.job_id)}", "$faint"))
        heading.note = self._age_note()
        self.query_one(JobOverview).show(
            job,
            self._report,
            self.feed.trouble[-TROUBLE_LINES:],
            now=self.arl.clock(),
            zone=self.zone,
            note=self.arl.notes.get(self.job_id),
            stall=stall_line(job, stalled_s, self.arl.stalls.usual_step_s(self.job_id)),
        )
        self.refresh_hints()

    @property
    def zone(self) -> tzinfo:
        return self.arl.backend.zone if self.arl.backend is not None else self.arl.zone

    def _age_note(self) -> tuple[Span, ...]:
        if not self._outage.failures:
            return ()
        good = self._outage.last_good_s
        return (stale_note(None if good is None else self.arl.clock() - good),)

    def _show_metrics(self) -> None:
        for pane in self.query("JobMetrics"):
            if pane.display:
                pane.show(self.feed.book, is_live=not self.is_stream_over)  # type: ignore[attr-defined]

    @on(JobPane.StateChanged)
    @on(TraceList.StateChanged)
    def pane_changed(self) -> None:
        pane = self.pane
        if pane is not None:
            self.query_one(TabBar).note = pane.state()
            self.refresh_hints()
        else:
            traces = next(iter(self.query(TraceList)), None) if self.tab == "traces" else None
            self.query_one(TabBar).note = () if traces is None else traces.state()

    # Tabs

    def watch_tab(self) -> None:
        self.query_one(TabBar).active = self.tab
        self._open_tab(self.tab)

    @work(exclusive=True, group="job.tab", exit_on_error=False)
    async def _open_tab(self, name: str) -> None:
        switcher = self.query_one(ContentSwitcher)
        if not switcher.query(f"#{name}"):
            await switcher.mount(self._make(name))
        switcher.current = name
        pane = switcher.query_one(f"#{name}")
        target = pane if pane.focusable else next((w for w in pane.query("*") if w.focusable and w.display), None)
        self.set_focus(target)
        self._show_metrics()
        self.pane_changed()
        self.refresh_hints()

    def _make(self, name: str) -> Widget:
        if name == "metrics":
            from agentic_rl_tui.app.screens.job_metrics import JobMetrics

            return JobMetrics(self.job_id, self.job.job_name or self.job_id if self.job is not None else self.job_id)
        if name == "traces":
            return TraceList(self.job_id, id="traces")
        return JobTrajectories(self.job_id, lambda: reward_bounds(self.feed.book))

    @on(TabBar.Chosen)
    def _tab_chosen(self, event: TabBar.Chosen) -> None:
        self.tab = event.tab

    def action_next_tab(self, step: int = 1) -> None:
        names = [tab.name for tab in TABS]
        self.tab = names[(names.index(self.tab) + step) % len(names)]

    def action_logs(self) -> None:
        self.tab = "logs"

    @property
    def back_label(self) -> str:
        return _("back to jobs")

    # Verbs

    def plain_text(self) -> str:
        """On the tab of the log its last lines up to the one seen last, uncut; else what is on the screen."""
        if self.tab != "logs":
            return super().plain_text()
        last = self.query_one(JobLogs).view.last_seen
        lines = self.feed.source.lines(max(0, last - PLAIN_LINES), last)
        return "\n".join(ansi.text_of(line) for line in lines)

    @property
    def rows(self) -> tuple[JobRow, ...]:
        """This job as the verbs know it; empty until it is read."""
        if self.job is None:
            return ()
        return (job_row(self.job, now=self.arl.clock(), zone=self.zone, note=self.arl.notes.get(self.job_id)),)

    @property
    def targets(self) -> tuple[JobRow, ...]:
        return self.rows

    def why_not(self, action_id: str) -> str | None:
        if action_id == "job.trace":
            return None if self._rollout_id else _("Open a sample of the trajectories first: a rollout has a trace")
        return self.objection(action_id.partition(".")[2], self.rows) if action_id.startswith("job.") else None

    def action_copy(self) -> None:
        self.arl.copy(self.job_id, _("job id"))

    @property
    def _rollout_id(self) -> str:
        return self.pane.rollout_id if isinstance(self.pane, JobTrajectories) else ""

    def action_trace(self) -> None:
        if self.may("job.trace"):
            open_trace(self, self.job_id, self._rollout_id)

    def action_cancel(self) -> None:
        if self.may("job.cancel"):
            self.ask("cancel", self.rows)

    def action_delete(self) -> None:
        if self.may("job.delete"):
            self.ask("delete", self.rows)

    def marks_changed(self) -> None:
        self._show()

    def acted(self, event: JobVerbs.Acted) -> None:
        if event.verb == "delete" and event.error is None:
            self.leave_screen()
        else:
            self.load()
