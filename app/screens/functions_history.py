"""What came of earlier runs of a function in this session."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on

from agentic_rl_tui.app.present.functions import pretty, report_lines, status_word
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.functions_run import FunctionsRun
from agentic_rl_tui.app.screens.functions_sweep import FunctionsSweep
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.panels import Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness import TestReport

MOST_KEPT = 30


@dataclass(frozen=True, slots=True)
class Run:
    """One entry of the history."""

    classpath: str
    label: str
    at_s: float
    report: "TestReport"


class FunctionsHistory(FunctionsSweep):
    def __init__(self) -> None:
        super().__init__()
        self.history: list[Run] = []

    @on(FunctionsRun.Ran)
    def _keep_run(self, event: FunctionsRun.Ran) -> None:
        run = Run(event.report.classpath.dotted, event.label, self.arl.clock(), event.report)
        self.history.insert(0, run)
        del self.history[MOST_KEPT:]

    def action_history(self) -> None:
        """An earlier run; its answer is shown against the newest one's."""
        row = self.row
        mine = [run for run in self.history if row is not None and run.classpath == row.key]
        if not mine:
            self.arl.refuse(_("This function has not been run yet"))
            return
        items = [
            Choice(
                run,
                datetime.fromtimestamp(run.at_s, self.arl.zone).strftime("%H:%M:%S"),
                f"{run.label}  {status_word(run.report.status.value)}",
                "" if run.report.score is None else f"{run.report.score:.4g}",
            )
            for run in mine
        ]

        def chosen(choice: "Choice[Run] | None") -> None:
            if choice is None:
                return
            if choice.value is mine[0]:
                self.show_result(report_lines(choice.value.report))
                return
            before, after = (pretty(run.report.output) for run in (choice.value, mine[0]))
            title = _("Answer of {time} and of the last run").format(time=choice.label)
            self.app.push_screen(Difference(title, before, after))

        self.app.push_screen(
            Choose(_("Runs of {name}").format(name=mine[0].report.classpath.class_name), items), chosen
        )

    def action_copy(self) -> None:
        note = self.query_one("#try-result-text", Note)
        text = "\n".join("".join(part for part, _style in line) for line in note.lines)
        if self.report is not None and self.report.error is not None and self.report.error.full_traceback:
            text += f"\n\n{self.report.error.full_traceback}"
        self.arl.copy(text, _("result"))
