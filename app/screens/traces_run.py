"""One run: its spans by time, and what went into each and came out."""

from collections.abc import Iterator
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.rollouts import coloured
from agentic_rl_tui.app.present.traces import (
    SpanRow,
    clean,
    payload_lines,
    run_lines,
    span_columns,
    span_filter,
    span_rows,
)
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.tracing.model import Run, Span
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.lines import LineBuffer
from agentic_rl_tui.widgets.lines_styled import StyledLines
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Note
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table

MOST_COLOURED = 200_000
"""Characters of a payload up to which its lines are coloured: the cursor moves as fast over larger ones."""


class TraceScreen(PlaceScreen):
    """Enter reads the payload of a span, left and right fold its children."""

    place = "traces"
    CSS_PATH = themes.STYLES / "traces.tcss"
    BINDINGS = bindings("trace")

    @dataclass
    class Came(Message):
        run: Run
        spans: tuple[Span, ...]

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.words = ""
        self.as_json = False
        self._run: Run | None = None
        self._spans: tuple[Span, ...] = ()
        self._folded: frozenset[str] = frozenset()
        self._shown = ""

    def body(self) -> ComposeResult:
        yield Heading(id="trace-heading")
        yield Note(id="trace-facts")
        with Vertical(id="trace-panes"):
            table: Table[SpanRow] = Table(span_columns(), lambda row: row.key, id="trace-spans")
            yield table
            yield LogView(is_prose=True, id="trace-payload")

    @property
    def table(self) -> "Table[SpanRow]":
        return self.query_one("#trace-spans", Table)

    @property
    def payload(self) -> LogView:
        return self.query_one("#trace-payload", LogView)

    def on_mount(self) -> None:
        heading = self.query_one(Heading)
        heading.title, heading.facts = _("Trace"), ((_("reading …"), "$muted"),)
        self.payload.is_wrapped = True
        self.table.focus()
        self.load()

    def action_refresh(self) -> None:
        self.load()

    @work(exclusive=True, group="trace.load", exit_on_error=False)
    async def load(self) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            run, spans = await backend.trace(self.key)
        except ArlError as error:
            self.arl.fail(error, _("read the trace"))
        else:
            self.post_message(self.Came(run, tuple(spans)))

    @on(Came)
    def _came(self, event: Came) -> None:
        self._run, self._spans = event.run, event.spans
        run = event.run
        heading = self.query_one(Heading)
        heading.title = clean(run.function) or _("Trace")
        heading.facts = tuple(
            (f"{clean(text)}  ", "$faint") for text in (run.rollout_id, run.job_id, run.run_id) if text
        )
        self.query_one("#trace-facts", Note).lines = tuple(tuple(line) for line in run_lines(run))
        self._show_rows()

    def _show_rows(self) -> None:
        self.table.items = span_rows(self._spans, self._folded)
        self._show_payload()
        self.refresh_hints()

    @on(Table.Highlighted, "#trace-spans")
    def _moved(self) -> None:
        self._show_payload()

    def _show_payload(self) -> None:
        row = self.table.current
        wanted = "" if row is None else f"{row.key}:{self.as_json}"
        if wanted == self._shown:
            return
        self._shown = wanted
        lines = [] if row is None else payload_lines(row.span, as_json=self.as_json)
        is_plain = self.as_json or sum(map(len, lines)) > MOST_COLOURED
        self.payload.source = LineBuffer(lines) if is_plain else StyledLines(coloured(lines))

    # Keys

    @on(Table.Opened, "#trace-spans")
    def _read(self) -> None:
        self.payload.focus()
        self.refresh_hints()

    def action_form(self) -> None:
        self.as_json = not self.as_json
        self._show_payload()
        self.arl.say(_("Payloads as JSON") if self.as_json else _("Payloads as conversations"))

    def action_fold(self) -> None:
        """Close the span, or go to the one around it."""
        row = self.table.current
        if row is None:
            return
        if row.is_parent and not row.is_folded:
            self._folded |= {row.key}
            self._show_rows()
        elif row.span.parent_id is not None:
            self.table.move_to(row.span.parent_id)

    def action_unfold(self) -> None:
        row = self.table.current
        if row is not None and row.is_folded:
            self._folded -= {row.key}
            self._show_rows()

    def action_next_error(self, step: int = 1) -> None:
        table = self.table
        count = table.row_count
        for offset in range(1, count + 1):
            place = (table.cursor + offset * step) % count
            if table.row(place).span.is_error:
                table.cursor = place
                return
        self.arl.refuse(_("No span ended with an error"))

    def action_copy(self) -> None:
        self.arl.copy(self.key if self._run is None else self._run.trace_id, _("trace id"))

    async def action_filter(self) -> None:
        await self.prompt.ask("spans", "/", text=self.words, hint=_("words of a span's name or payload"))

    @on(LogView.Asked)
    async def _asked(self, event: LogView.Asked) -> None:
        if event.what == "line":
            await self.prompt.ask("line", _("line"), hint=f"1 – {event.view.line_count:,}")
        else:
            await self.prompt.ask("search", "/", hint=_("text or regular expression; capitals make case count"))

    @on(Prompt.Given)
    def _prompt_given(self, event: Prompt.Given) -> None:
        if event.purpose == "spans":
            self._narrow(event.text.strip())
        elif event.purpose == "search":
            self.payload.search(event.text)
        elif event.text.strip().isdigit():
            self.payload.go_to(int(event.text.strip()) - 1)
        else:
            self.arl.refuse(_("{text} is no line number").format(text=repr(event.text)))
        self.refresh_hints()

    @on(LogView.SearchEnded)
    def _search_ended(self, event: LogView.SearchEnded) -> None:
        if event.line is None:
            self.arl.refuse(_("No line matches {pattern}").format(pattern=repr(event.pattern.pattern)))

    def _narrow(self, words: str) -> None:
        self.words = words
        self.table.match = span_filter(words)
        heading = self.query_one(Heading)
        count = f"{self.table.row_count:,} / {len(self.table.items):,}"
        heading.chips = (Chip(f"/ {words} · {count}"),) if words else ()

    def undo_layers(self) -> Iterator[Layer]:
        payload = self.payload
        if payload.pattern is not None:
            yield Layer(_("clear search"), lambda: payload.search(""))
        if payload.has_focus:
            yield Layer(_("back to the spans"), self.table.focus)
        if self.words:
            yield Layer(_("all spans"), lambda: self._narrow(""))

    @property
    def back_label(self) -> str:
        return _("back to the runs")


class JobTraceScreen(TraceScreen):
    """A run that was opened from its job."""

    place = "jobs"

    @property
    def back_label(self) -> str:
        return _("back to the job")
