"""The numbers of a job as charts, read from its log: smoothed, step by step, over those of other jobs."""

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.reactive import reactive

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.metrics import SMOOTHING, MetricBook, legend_line, overlaid, smoothed, step_lines
from agentic_rl_tui.app.present.rollouts import one_line
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.job_overlay import JobOverlay
from agentic_rl_tui.app.screens.job_panes import Saving
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.metrics_book import csv_lines
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.chart import Chart, Line
from agentic_rl_tui.widgets.panels import Empty, Note


class JobMetrics(JobOverlay, can_focus=True):
    """In: `show` with the book of numbers. Out: `StateChanged`, `GroupsAsked`.

    Charts are made as their numbers turn up and kept in place.
    """

    BINDINGS = bindings("metrics")

    cursor: reactive[int | None] = reactive[int | None](None, init=False)

    def __init__(self, job_id: str = "", name: str = "") -> None:
        super().__init__(job_id, name)
        self._charts: dict[str, Chart] = {}
        self._is_live = True
        self.smoothing = SMOOTHING[0]
        self.is_log = False
        self.book = MetricBook()

    def compose(self) -> ComposeResult:
        yield Note(id="metrics-step")
        with VerticalScroll(id="metrics-charts", can_focus=False):
            yield Empty(id="metrics-empty")
            yield Grid(id="metrics-grid")

    # Showing

    def show(self, book: MetricBook, *, is_live: bool) -> None:
        self.book, self._is_live = book, is_live
        self.draw()

    @property
    def books(self) -> dict[str, MetricBook]:
        return {one_line(self.job_name, 40) or "–": self.book, **self.others}

    def draw(self) -> None:
        facts = [smoothed(chart, self.smoothing) for chart in overlaid(self.books)]
        empty = self.query_one("#metrics-empty", Empty)
        empty.display = not facts
        empty.title = _("No numbers yet") if self._is_live else _("This log holds no numbers")
        empty.body = (((_("They are read from the log as steps finish."), "$muted"),),)
        grid = self.query_one("#metrics-grid", Grid)
        grid.display = bool(facts)
        keys = {item.key for item in facts}
        for gone in self._charts.keys() - keys:
            self._charts.pop(gone).remove()
        for item in facts:
            chart = self._charts.get(item.key)
            if chart is None:
                chart = self._charts[item.key] = Chart()
                grid.mount(chart)
            chart.heading = item.title
            chart.low, chart.high = item.low, item.high
            chart.cursor, chart.is_log = self.cursor, self.is_log
            chart.lines = tuple(
                Line(
                    "" if self.others else one_line(c.label, 40), c.token, tuple(c.steps), tuple(c.values), tuple(c.raw)
                )
                for c in item.curves
            )
        self._show_step()
        self.post_message(self.StateChanged(self))

    @property
    def step(self) -> int | None:
        """The step that is looked at: the one under the cursor, else the last."""
        if self.cursor is not None:
            return self.cursor
        steps = self.book.steps()
        return steps[-1] if steps else None

    def _show_step(self) -> None:
        note = self.query_one("#metrics-step", Note)
        legend = (legend_line(tuple(self.books)),) if self.others else ()
        note.lines = (*legend, *(() if self.step is None else step_lines(self.book, self.step)))
        note.display = bool(note.lines)

    # Keys

    def action_step(self, count: int) -> None:
        """Move the cursor along the steps that have numbers; it comes up at the last one."""
        steps = self.book.steps()
        if not steps:
            return
        if self.cursor is None:
            self.cursor = steps[-1] if count < 0 else steps[0]
            return
        at = max((place for place, step in enumerate(steps) if step <= (self.cursor or 0)), default=0)
        self.cursor = steps[max(0, min(len(steps) - 1, at + count))]

    def watch_cursor(self) -> None:
        self.draw()

    def action_smooth(self) -> None:
        self.smoothing = SMOOTHING[(SMOOTHING.index(self.smoothing) + 1) % len(SMOOTHING)]
        self.draw()

    def action_scale(self) -> None:
        self.is_log = not self.is_log
        self.draw()

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one("#metrics-charts", VerticalScroll)

    def action_scroll(self, rows: int) -> None:
        self._scroll.scroll_relative(y=rows, animate=False)

    def action_page(self, pages: int) -> None:
        self._scroll.scroll_relative(y=pages * self._scroll.size.height, animate=False)

    def action_edge(self, end: int) -> None:
        self._scroll.scroll_to(y=self._scroll.max_scroll_y if end else 0, animate=False)

    def action_groups(self) -> None:
        if self.step is not None:
            self.post_message(self.GroupsAsked(self.step))

    def action_alone(self) -> None:
        self.clear_others()
        self.draw()

    # The screen's questions

    def undoable(self) -> Iterator[Layer]:
        if self.cursor is not None:
            yield Layer(_("drop the cursor"), self._drop_cursor)
        if self.others:
            yield Layer(_("show this job alone"), self.action_alone)

    def _drop_cursor(self) -> None:
        self.cursor = None

    def saving(self) -> Saving:
        books = self.books
        what = _("all numbers")
        if len(books) > 1:
            what = ngettext("the numbers of {count} job", "the numbers of {count} jobs", len(books))
            what = what.format(count=len(books))
        return Saving("csv", lambda: csv_lines(books), what)

    def state(self) -> tuple[Span, ...]:
        parts: list[Span] = []
        if self.others:
            count = len(self.books)
            parts.append((ngettext("{count} job", "{count} jobs", count).format(count=count), "$accent"))
        if self.smoothing:
            parts.append((_("smoothed {share}").format(share=self.smoothing), "$accent"))
        if self.is_log:
            parts.append((_("log scale"), "$accent"))
        if self.cursor is not None:
            parts.append((_("step {step}").format(step=self.cursor), "$ink"))
        line: list[Span] = []
        for part in parts:
            line += [("  ", ""), part] if line else [part]
        return tuple(line)

    @on(JobOverlay.Read)
    def _read(self) -> None:
        self.draw()

    def action_compare(self) -> None:
        self.choose_others()
