"""The first tab of a job: where it stands, what it is made of, what came out, why it failed."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from agentic_rl_tui.app.present.job import failure_lines, made_of, note_lines, outcome, progress_line, timeline
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.status import is_terminal
from agentic_rl_tui.widgets.area import AreaChart
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.lines import LineSource
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Facts, Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.notes import JobNote


class JobOverview(VerticalScroll, can_focus=True):
    """In: `show`, `show_lines` when the log has grown. Scrolls as a whole where the screen is small."""

    def __init__(self, source: LineSource) -> None:
        super().__init__(id="overview")
        self._source = source

    def compose(self) -> ComposeResult:
        yield Note(id="job-timeline")
        yield Note(id="job-note")
        yield Note(id="job-failure")
        with Horizontal(id="job-columns"):
            with Vertical(id="job-left"):
                yield Static(_("REWARD BY STEP"), classes="caption", id="job-curve-title")
                yield AreaChart(id="job-curve")
                yield Static("", id="job-no-curve", markup=False)
                yield Facts(id="job-outcome")
            yield Facts(id="job-made-of")
        yield Static(_("LATEST"), classes="caption", id="job-latest-title")
        latest = LogView(margin=1, id="job-latest")
        latest.can_focus = False
        yield latest

    def on_mount(self) -> None:
        latest = self.query_one("#job-latest", LogView)
        latest.source = self._source
        latest.is_following = True
        self.show_lines()

    def show_lines(self) -> None:
        latest = self.query_one("#job-latest", LogView)
        latest.grew()
        latest.display = self.query_one("#job-latest-title").display = latest.line_count > 0

    def show(
        self,
        job: "Job",
        report: "dict[str, Any] | None",
        trouble: Sequence[tuple[int, str]],
        *,
        now: float,
        zone: tzinfo,
        note: "JobNote | None" = None,
        stall: tuple[Span, ...] = (),
    ) -> None:
        lines = [timeline(job, now=now, zone=zone)]
        if steps := progress_line(job, now=now, zone=zone, is_stalled=bool(stall)):
            lines.append(steps)
        if stall:
            lines.append(stall)
        self.query_one("#job-timeline", Note).lines = tuple(lines)
        own = self.query_one("#job-note", Note)
        own.lines = note_lines(note)
        own.display = bool(own.lines)
        failure = self.query_one("#job-failure", Note)
        failure.lines = failure_lines(job, trouble)
        failure.display = bool(failure.lines)
        curve = self.query_one("#job-curve", AreaChart)
        rewards = job.progress.rewards if job.progress else ()
        curve.values = tuple(rewards)
        curve.color = "$quiet" if is_terminal(job.status) else "$fill"
        total = job.progress.total_steps if job.progress else None
        curve.share = 1.0 if job.progress is None or not total else job.progress.step / total
        curve.ends = ("1", str(total or len(rewards)))
        curve.display = len(rewards) > 1
        waiting = self.query_one("#job-no-curve", Static)
        waiting.display = not curve.display
        over = is_terminal(job.status)
        waiting.update(_no_curve(len(rewards), over))
        self.query_one("#job-outcome", Facts).sections = outcome(job, report)
        self.query_one("#job-made-of", Facts).sections = made_of(job, report)


def _no_curve(count: int, is_over: bool) -> str:
    if not is_over:
        return _("comes with the second step")
    return _("one step alone makes no curve") if count else _("no reward came of this job")
