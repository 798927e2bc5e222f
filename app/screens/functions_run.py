"""Running a function on this machine: live output, the result with its model calls and its trace, and the way back."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.worker import Worker

from agentic_rl_tui.app.present.frames import as_in_workspace
from agentic_rl_tui.app.present.functions import FunctionRow, Lines, clean, report_lines, trace_of
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.functions_input import FunctionsInput
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, FunctionFailed
from agentic_rl_tui.widgets.lines import LineBuffer
from agentic_rl_tui.widgets.logview import LogView

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness import ModelResource, TestReport
    from agentic_rl_tui.core.functions.output import OutputLine
    from agentic_rl_tui.core.tracing.model import Run


class FunctionsRun(FunctionsInput):
    """Runs go through the harness, in a process of their own and from a clean copy of the package."""

    @dataclass
    class Printed(Message):
        line: "OutputLine"

    @dataclass
    class Ran(Message):
        report: "TestReport"
        label: str

    @dataclass
    class RunFailed(Message):
        error: ArlError

    def __init__(self) -> None:
        super().__init__()
        self.report: TestReport | None = None
        self.trace: Run | None = None
        self._lines = LineBuffer()
        self._run_worker: Worker[None] | None = None

    @property
    def is_trying(self) -> bool:
        return self._run_worker is not None and not self._run_worker.is_finished

    def action_run(self) -> None:
        row = self.row
        if row is None or not self.may("functions.run"):
            return
        try:
            payload = json.loads(self.input.text)
        except (json.JSONDecodeError, RecursionError):
            self.arl.refuse(_("The input is no JSON yet; the gutter shows where"))
            self.input.focus()
            return
        self.show_tab("test")
        self._begin(self._run_here(row, payload, self._source.label, self._resource))

    def _begin(self, worker: "Worker[None]") -> None:
        self._run_worker = worker
        self._lines.clear()
        self.query_one("#functions-log", LogView).grew()
        self.show_result(((("● ", "$running"), (_("running …"), "$ink"), (_("  esc stops it"), "$faint")),))
        self.refresh_hints()

    @work(exclusive=True, group="functions.run", exit_on_error=False, description=N_("run the function"))
    async def _run_here(self, row: FunctionRow, payload: Any, label: str, resource: "ModelResource | None") -> None:
        from agentic_rl_tui.core.functions.harness import try_function
        from agentic_rl_tui.core.functions.harness_traces import with_model_calls
        from agentic_rl_tui.core.models.kinds import FunctionKind
        from agentic_rl_tui.core.sdk.tryout import lacks_model, options_for, with_model

        root = self.arl.settings.workspace
        lent = None
        try:
            if isinstance(payload, dict) and row.info.kind is FunctionKind.ROLLOUT and lacks_model(payload):
                lent = resource or await self._model_for(row, payload, self._source.row or 0)
                payload = with_model(payload, lent) if lent is not None else payload
            options = await asyncio.to_thread(options_for, root, row.info)
            report = await try_function(
                root, row.info.classpath, json.dumps(payload), options=options, on_output=self._pass_output
            )
            if lent is not None and self.arl.backend is not None and lent == self._lent:
                # The key is given back with this question; the next run borrows another one.
                self._lent = self._resource = None
                report = with_model_calls(report, await self.arl.backend.practice_calls(lent))
        except ArlError as error:
            self.post_message(self.RunFailed(error))
        else:
            self.post_message(self.Ran(report, label))

    def _pass_output(self, line: "OutputLine") -> None:
        self.post_message(self.Printed(line))

    @on(Printed)
    def _printed(self, event: Printed) -> None:
        self._lines.append([f"{event.line.stream:<6} {line}" for line in event.line.text.splitlines() or [""]])
        self.query_one("#functions-log", LogView).grew()
        if self.is_trying and self.report is None:
            tail = self._lines.lines(max(0, len(self._lines) - 6), len(self._lines))
            head: Lines = ((("● ", "$running"), (_("running …"), "$ink"), (_("  esc stops it"), "$faint")),)
            self.show_result((*head, *(((clean(text), "$muted"),) for text in tail)))

    @on(Ran)
    def _ran(self, event: Ran) -> None:
        self.report = event.report
        self.trace = trace_of(event.report)
        self.show_result(report_lines(event.report))
        self.refresh_hints()

    @on(RunFailed)
    def _run_failed(self, event: RunFailed) -> None:
        lines: list[tuple[tuple[str, str], ...]] = [(("✗ ", "$failed"), (event.error.message, "$ink"))]
        if event.error.advice:
            lines.append(((f"→ {event.error.advice}", "$muted"),))
        if isinstance(event.error, FunctionFailed) and event.error.traceback:
            lines += [((text, "$muted"),) for text in as_in_workspace(event.error.traceback).splitlines()]
        self.show_result(tuple(lines))
        self.arl.keep(event.error, _("run the function"))
        self.refresh_hints()

    def action_trace(self) -> None:
        """The spans of the last run by time."""
        from agentic_rl_tui.app.screens.functions_trace import TriedTrace

        if self.may("functions.trace") and self.report is not None and self.trace is not None:
            self.app.push_screen(TriedTrace(self.trace, self.report.spans))

    def cancel_run(self) -> None:
        if self._run_worker is not None:
            self._run_worker.cancel()
            self._run_worker = None
            self.show_result(((("○ ", "$canceled"), (_("canceled"), "$ink")),))

    def undo_layers(self) -> Iterator[Layer]:
        yield from super().undo_layers()
        if self.is_trying:
            yield Layer(_("stop the run"), self.cancel_run)
        if not self.table.has_focus:
            yield Layer(_("back to the list"), self.table.focus)
