"""From a job file to a job: what blocks it, what will happen, then every step as it happens."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.present.jobfile import plan, verdict
from agentic_rl_tui.app.present.steps import StepLine, step_line, told
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import JobDocument
    from agentic_rl_tui.core.models.jobs import Job

MOST_BLOCKERS = 8


class Submit(Dialog["Job | None"]):
    """Answers the new job, or None when it was left. The document is the file as it lies on the disk."""

    BINDINGS = [
        Binding("f5,ctrl+j", "submit", "Submit", show=False),
        Binding("left,right", "other", "Other button", show=False),
    ]

    @dataclass
    class Told(Message):
        news: StepNews

    @dataclass
    class Submitted(Message):
        job: "Job"

    @dataclass
    class Refused(Message):
        error: ArlError

    def __init__(self, path: Path, document: "JobDocument") -> None:
        super().__init__()
        self._path = path
        self._document = document
        self._steps: dict[str, StepLine] = {}
        self._is_running = False
        self._error: ArlError | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-wide"):
            yield Static(f"Submit {self._path.name}?", id="dialog-title", markup=False)
            with VerticalScroll(id="submit-body"):
                yield Note(id="submit-text")
            with Horizontal(id="dialog-buttons"):
                yield Button("Close", id="no", compact=True)
                yield Button("Submit", id="yes", compact=True, classes="-primary")

    def on_mount(self) -> None:
        self.query_one("#submit-body").can_focus = False
        self._show()
        button = self.query_one("#yes" if self._document.is_ok else "#no", Button)
        button.focus()

    def _show(self) -> None:
        yes, no = self.query_one("#yes", Button), self.query_one("#no", Button)
        yes.display = self._document.is_ok and not self._is_running
        yes.label = "Try again" if self._error is not None else "Submit"
        no.label = "Stop" if self._is_running else "Close"
        self.query_one("#submit-text", Note).lines = tuple(self._lines())
        self.query_one("#submit-body", VerticalScroll).scroll_end(animate=False)

    def _lines(self) -> list[tuple[Span, ...]]:
        if self._steps or self._is_running:
            lines = [step_line(step) for step in self._steps.values()] or [(("starting …", "$muted"),)]
            if self._error is not None:
                lines += [(("", ""),), (("✗ ", "$failed"), (self._error.message, "$ink"))]
                if self._error.advice:
                    lines.append(((f"→ {self._error.advice}", "$muted"),))
            return lines
        lines = [verdict(self._document)]
        if not self._document.is_ok:
            lines.append((("", ""),))
            for item in self._document.errors[:MOST_BLOCKERS]:
                lines.append(((f"{item.line:>4}:{item.col:<3} ", "$muted"), (item.message, "$ink")))
            more = len(self._document.errors) - MOST_BLOCKERS
            if more > 0:
                lines.append(((f"and {more} more", "$muted"),))
            lines += [(("", ""),), (("Correct these in the job file first.", "$muted"),)]
            return lines
        return [*lines, (("", ""),), *plan(self._document, self.arl.settings.profile_name)]

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_submit(self) -> None:
        if self._document.is_ok and not self._is_running:
            self._is_running = True
            self._error = None
            self._steps = {}
            self._show()
            self.query_one("#no", Button).focus()
            self.query_one("#dialog-title", Static).update(f"Submitting {self._path.name}")
            self.submit()

    @work(exclusive=True, group="submit.run", exit_on_error=False)
    async def submit(self) -> None:
        backend = self.arl.backend
        if backend is None:
            self.post_message(self.Refused(ArlError("the platform is still starting", advice="Try again in a moment.")))
            return
        try:
            job = await backend.submit(self._path, self._pass_on)
        except ArlError as error:
            self.post_message(self.Refused(error))
        else:
            self.post_message(self.Submitted(job))

    def _pass_on(self, news: StepNews) -> None:
        self.post_message(self.Told(news))

    @on(Told)
    def _told(self, event: Told) -> None:
        self._steps = told(self._steps, event.news)
        self._show()

    @on(Submitted)
    def _submitted(self, event: Submitted) -> None:
        self.dismiss(event.job)

    @on(Refused)
    def _refused(self, event: Refused) -> None:
        self._is_running = False
        self._error = event.error
        self._steps = self._steps or {"start": StepLine("submit", "failed")}
        self.arl.keep(event.error, f"submit {self._path.name}")
        self._show()
        self.query_one("#yes", Button).focus()

    @on(Button.Pressed, "#yes")
    def _yes(self) -> None:
        self.action_submit()

    @on(Button.Pressed, "#no")
    def _no(self) -> None:
        self.action_dismiss_dialog()

    def action_dismiss_dialog(self) -> None:
        self.workers.cancel_group(self, "submit.run")
        if self._is_running:
            self.arl.warn("Submission stopped; look among the jobs whether it got through")
        self.dismiss(None)
