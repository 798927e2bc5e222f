"""A function over many rows of the data: scores, times, what failed."""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from agentic_rl_tui.app.present.functions import FunctionRow, SweepState, sweep_lines, sweep_progress
from agentic_rl_tui.app.screens.functions_run import FunctionsRun
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, InputError
from agentic_rl_tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness import RowResult, SweepReport

SWEEP_ROWS = 20


class FunctionsSweep(FunctionsRun):
    @dataclass
    class SweepMoved(Message):
        state: SweepState

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, FunctionsSweep.SweepMoved)

    @dataclass
    class Swept(Message):
        report: "SweepReport"

    async def action_sweep(self) -> None:
        if self.row is not None:
            await self.prompt.ask("sweep", _("rows to run"), text=str(SWEEP_ROWS), hint=_("a number"))

    @work(exclusive=True, group="functions.run", exit_on_error=False)
    async def _sweep(self, row: FunctionRow, count: int) -> None:
        from agentic_rl_tui.core.functions.harness import read_rows, row_inputs, sweep
        from agentic_rl_tui.core.sdk.tryout import data_files, options_for

        root = self.arl.settings.workspace
        worker = get_current_worker()
        try:
            files = [self._source.path] if self._source.row is not None else await asyncio.to_thread(data_files, root)
            path = next(iter(files), None)
            if path is None:
                raise InputError(_("the workspace has no data set to take rows from"))
            rows = await asyncio.to_thread(lambda: list(read_rows(path, limit=count)))
            resource = await self._model_for(row, rows[0][1], rows[0][0]) if rows else None
            options = await asyncio.to_thread(options_for, root, row.info)
            done: list[RowResult] = []

            def note(result: "RowResult") -> None:
                done.append(result)
                if not worker.is_cancelled:
                    self.post_message(self.SweepMoved(SweepState(len(done), len(rows), tuple(done))))

            report = await sweep(
                root,
                row.info.classpath,
                row_inputs(row.info.kind, rows, resource=resource),
                options=replace(options, concurrency=4),
                on_output=self._pass_output,
                on_row=note,
            )
        except ArlError as error:
            self.post_message(self.RunFailed(error))
        else:
            self.post_message(self.Swept(report))

    @on(SweepMoved)
    def _sweep_moved(self, event: SweepMoved) -> None:
        if self.is_trying:
            self.show_result(sweep_progress(event.state))

    @on(Swept)
    def _swept(self, event: Swept) -> None:
        self.show_result(sweep_lines(event.report))
        self.refresh_hints()

    @on(Prompt.Given)
    def _given_count(self, event: Prompt.Given) -> None:
        row = self.row
        if row is None or event.purpose != "sweep":
            return
        if event.text.strip().isdigit():
            self._begin(self._sweep(row, max(1, int(event.text))))
        else:
            self.arl.refuse(_("{text} is no number").format(text=event.text))
