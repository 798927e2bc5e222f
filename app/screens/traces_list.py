"""A list of runs with their traces: all of them in the place, or those of one job in its tab."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from agentic_rl_tui.app.present.traces import clean, run_columns
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.tracing.model import Run
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Empty
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.app.tui import ArlApp

PAGE = 500


class TraceList(Vertical):
    """In: `load`, `words`, `only_errors`, `only_incomplete`. Out: `StateChanged`. Enter opens a run."""

    DEFAULT_CSS = """
    TraceList { height: 1fr; }
    TraceList Table.-empty { display: none; }
    """

    @dataclass
    class Came(Message):
        runs: tuple[Run, ...]
        total: int
        is_kept: bool
        is_more: bool = False

    @dataclass
    class Failed(Message):
        error: ArlError

    @dataclass
    class StateChanged(Message):
        pane: "TraceList"

    def __init__(self, job_id: str = "", **names: Any) -> None:
        super().__init__(**names)
        self.job_id = job_id
        self.words = ""
        self.only_errors = False
        self.only_incomplete = False
        self.total = 0
        self.is_known = False
        self._is_kept = True
        self._error: ArlError | None = None

    @property
    def arl(self) -> "ArlApp":
        return cast("ArlApp", self.app)

    @property
    def table(self) -> "Table[Run]":
        return self.query_one(Table)

    def compose(self) -> ComposeResult:
        arl = self.arl
        columns = run_columns(lambda: arl.clock(), lambda: arl.zone, with_job=not self.job_id)
        table: Table[Run] = Table(columns, lambda run: run.key, classes="-empty")
        yield table
        yield Empty()

    def on_mount(self) -> None:
        self._show_empty()
        self.load()

    # Loading

    def load(self) -> None:
        self._fetch(0)

    @work(exclusive=True, group="traces.load", exit_on_error=False)
    async def _fetch(self, before_ns: int) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        query = {
            "job_id": self.job_id,
            "text": self.words,
            "errors": int(self.only_errors),
            "incomplete": int(self.only_incomplete),
            "before_ns": before_ns,
            "limit": PAGE,
        }
        try:
            found = await backend.traces(query)
        except ArlError as error:
            self.arl.fail(error, _("read the traces"))
            self.post_message(self.Failed(error))
        else:
            runs, total = found if found is not None else ((), 0)
            self.post_message(self.Came(tuple(runs), total, found is not None, bool(before_ns)))

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        """What was read before stays."""
        self._error = event.error
        self._show_empty()

    @on(Came)
    def _came(self, event: Came) -> None:
        self.is_known = True
        self._error = None
        self._is_kept = event.is_kept
        had_focus = self.table.has_focus or self.screen.focused is None
        if event.is_more:
            self.table.items = (*self.table.items, *event.runs)
        else:
            self.total = event.total
            self.table.items = event.runs
        self._show_empty()
        if had_focus and self.table.items:
            self.table.focus()
        self.post_message(self.StateChanged(self))

    @on(Table.Highlighted)
    def _moved(self) -> None:
        items = self.table.items
        if items and len(items) < self.total and self.table.cursor >= len(items) - PAGE // 4:
            self._fetch(items[-1].started_ns)
        self.post_message(self.StateChanged(self))

    # Showing

    def _show_empty(self) -> None:
        empty = self.query_one(Empty)
        is_empty = not self.table.items
        empty.display = is_empty
        self.table.set_class(is_empty, "-empty")
        if not is_empty:
            return
        if self._error is not None:
            empty.title = _("The traces could not be read")
            empty.body = (
                ((clean(self._error.message), "$failed"),),
                (("^r", "$accent bold"), (f"  {_('asks again')}", "$muted")),
            )
        elif not self.is_known:
            empty.title, empty.body = _("Reading the traces …"), ()
        elif not self._is_kept:
            empty.title = _("The service keeps these traces")
            empty.body = (((_("Read them in its console; only the local platform shows them here."), "$muted"),),)
        elif self.is_narrowed:
            empty.title = _("No run matches")
            empty.body = ((("esc", "$accent bold"), (f"  {_('shows all')}", "$muted")),)
        else:
            empty.title = _("No traces yet")
            empty.body = _HOW_TO()

    @property
    def is_narrowed(self) -> bool:
        return bool(self.words or self.only_errors or self.only_incomplete)

    def widen(self) -> None:
        self.words, self.only_errors, self.only_incomplete = "", False, False
        self.load()

    def state(self) -> tuple[Span, ...]:
        """How many runs there are, for a heading or the line of tabs."""
        if not self.is_known:
            return ()
        short = sum(not run.completeness.is_complete for run in self.table.items)
        count = ngettext("{count} run", "{count} runs", self.total).format(count=f"{self.total:,}")
        told: list[Span] = [(count, "$muted")]
        if short:
            text = ngettext("{count} not fully traced", "{count} not fully traced", short).format(count=f"{short:,}")
            told.append((f"  {text}", "$warn"))
        return tuple(told)

    @on(Table.Opened)
    def _open(self, event: Table.Opened) -> None:
        from agentic_rl_tui.app.screens.traces_run import JobTraceScreen, TraceScreen

        event.stop()
        self.app.push_screen(JobTraceScreen(event.key) if self.job_id else TraceScreen(event.key))


def _HOW_TO() -> tuple[tuple[Span, ...], ...]:  # noqa: N802 - a text, made anew for the language in force
    return (
        ((_("A function leaves a trace when it uses the tracing names:"), "$muted"),),
        (("@observe_processor", "$ink"), (f"  {_('on process()')}", "$muted")),
        (("trace_client(client)", "$ink"), (f"  {_('in setup(), for its model calls')}", "$muted")),
        (("trace_tool(tools)", "$ink"), (f"  {_('in setup(), for its tools')}", "$muted")),
    )
