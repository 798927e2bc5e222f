"""The numbers of a job as charts, read from its log."""

from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll

from agentic_rl_tui.app.present.metrics import MetricBook, as_csv, charts
from agentic_rl_tui.app.screens.job_panes import JobPane, Saving
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.chart import Chart, Line
from agentic_rl_tui.widgets.panels import Empty


class JobMetrics(JobPane):
    """In: `show` with the book of numbers. Charts are made as their numbers turn up and kept in place."""

    def __init__(self) -> None:
        super().__init__(id="metrics")
        self._charts: dict[str, Chart] = {}
        self.book = MetricBook()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="metrics-charts"):
            yield Empty(id="metrics-empty")
            yield Grid(id="metrics-grid")

    def saving(self) -> Saving:
        book = self.book
        return Saving("csv", lambda: as_csv(book), _("all numbers"))

    def show(self, book: MetricBook, *, is_live: bool) -> None:
        self.book = book
        facts = charts(book)
        empty = self.query_one("#metrics-empty", Empty)
        empty.display = not facts
        empty.title = _("No numbers yet") if is_live else _("This log holds no numbers")
        empty.body = (((_("They are read from the log as steps finish."), "$muted"),),)
        grid = self.query_one("#metrics-grid", Grid)
        grid.display = bool(facts)
        for item in facts:
            chart = self._charts.get(item.title)
            if chart is None:
                chart = self._charts[item.title] = Chart()
                chart.heading = item.title
                grid.mount(chart)
            chart.low, chart.high = item.low, item.high
            chart.lines = tuple(
                Line(curve.label, curve.token, tuple(curve.steps), tuple(curve.values)) for curve in item.curves
            )
