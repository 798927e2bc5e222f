"""From a job file to a job: what blocks it, what will happen and may cost, then every step as it happens."""

import threading
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
from agentic_rl_tui.app.present.jobfile import amount_line, plan, price_line, verdict
from agentic_rl_tui.app.present.preflight import check_lines, finding_lines
from agentic_rl_tui.app.present.steps import StepLine, step_line, told
from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.app.surfaces import Problem
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Note

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import JobDocument, Meaning
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk.preflight import Check

_GAP: tuple[Span, ...] = (("", ""),)


class Submit(Dialog["Job | None"]):
    """Answers the new job, or None when it was left. The document is the file as it lies on the disk."""

    BINDINGS = [
        Binding("f5,ctrl+j", "submit", N_("Submit"), show=False),
        Binding("left,right", "other", N_("Other button"), show=False),
        Binding("y", "copy", N_("Copy"), show=False),
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

    @dataclass
    class CheckMoved(Message):
        check: "Check"

        def can_replace(self, message: Message) -> bool:
            same = isinstance(message, Submit.CheckMoved) and message.check.name == self.check.name
            return same and self.check.state == "running"

    @dataclass
    class CheckedAll(Message):
        means: "Meaning | None"

    def __init__(self, path: Path, document: "JobDocument") -> None:
        super().__init__()
        self._path = path
        self._document = document
        self._checks: dict[str, Check] = {}
        self._means: Meaning | None = None
        self._steps: dict[str, StepLine] = {}
        self._is_checked = False
        self._wants_submit = False
        self._is_running = False
        self._error: ArlError | None = None
        self._problem: Problem | None = None
        self._cancel = threading.Event()

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-wide"):
            yield Static(_("Submit {name}?").format(name=self._path.name), id="dialog-title", markup=False)
            with VerticalScroll(id="submit-body"):
                yield Note(id="submit-text")
            with Horizontal(id="dialog-buttons"):
                yield Button(_("Close"), id="no", compact=True)
                yield Button(_("Submit"), id="yes", compact=True, classes="-primary")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()
        self._show()
        self.preflight()

    def on_unmount(self) -> None:
        self._cancel.set()

    # Checking

    @work(thread=True, exclusive=True, group="submit.check", exit_on_error=False)
    def preflight(self) -> None:
        from agentic_rl_tui.core.jobfile import meaning
        from agentic_rl_tui.core.sdk.preflight import preflight

        try:
            secret = self.arl.settings.api_key()
        except ArlError:
            # Without a usable key the submission itself says so; the checks here need none.
            secret = None
        secrets = (secret.reveal(),) if secret is not None else ()
        preflight(
            self._document,
            secrets=secrets,
            on_check=self._pass_check_on,
            cancel=self._cancel,
        )
        means = meaning(self._document) if self._document.job is not None else None
        self.post_message(self.CheckedAll(means))

    def _pass_check_on(self, check: "Check") -> None:
        self.post_message(self.CheckMoved(check))

    @on(CheckMoved)
    def _check_moved(self, event: CheckMoved) -> None:
        self._checks[event.check.name] = event.check
        self._show()

    @on(CheckedAll)
    def _checked_all(self, event: CheckedAll) -> None:
        self._is_checked = True
        self._means = event.means
        self._show()
        self.query_one("#yes" if self.is_ready else "#no", Button).focus()
        if self._wants_submit:
            self.action_submit()

    @property
    def is_ready(self) -> bool:
        return self._is_checked and self._document.is_ok and not any(check.blocks for check in self._checks.values())

    # Showing

    def _show(self) -> None:
        yes, no = self.query_one("#yes", Button), self.query_one("#no", Button)
        yes.display = self.is_ready and not self._is_running
        yes.label = _("Try again") if self._error is not None else _("Submit")
        no.label = _("Stop") if self._is_running else _("Close")
        self.query_one("#submit-text", Note).lines = tuple(self._lines())
        if self._is_running:
            self.query_one("#submit-body", VerticalScroll).scroll_end(animate=False)

    def _lines(self) -> list[tuple[Span, ...]]:
        if self._steps or self._is_running:
            return self._step_lines()
        checks = list(self._checks.values())
        lines = [line for check in checks for line in check_lines(check)]
        if not self._is_checked:
            return [*lines, _GAP, ((_("checking before anything is sent …"), "$muted"),)]
        findings = list(finding_lines(checks))
        if findings:
            lines += [_GAP, *findings]
        if not self.is_ready:
            return [*lines, _GAP, ((_("Correct these first; nothing was sent."), "$muted"),)]
        facts = [line for line in (amount_line(self._means), price_line(self._means)) if line]
        shown = plan(self._document, self.arl.settings.profile_name)
        return [verdict(self._document), _GAP, *shown, *facts, _GAP, *lines]

    def _step_lines(self) -> list[tuple[Span, ...]]:
        lines = [step_line(step) for step in self._steps.values()] or [((_("starting …"), "$muted"),)]
        if self._error is not None:
            lines += [_GAP, (("✗ ", "$failed"), (self._error.message, "$ink"))]
            if self._error.advice:
                lines.append(((f"→ {self._error.advice}", "$muted"),))
            lines.append(((_("y copies all of it"), "$faint"),))
        elif self._is_running:
            lines += [_GAP, ((_("esc stops; what is done stays on the service and is used again"), "$faint"),)]
        return lines

    # Submitting

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_copy(self) -> None:
        if self._problem is not None:
            self.arl.copy(self._problem.text, _("error"))

    def action_submit(self) -> None:
        if not self._is_checked:
            self._wants_submit = True
        elif self.is_ready and not self._is_running:
            self._is_running = True
            self._error = None
            self._steps = {}
            self._show()
            self.query_one("#no", Button).focus()
            self.query_one("#dialog-title", Static).update(_("Submitting {name}").format(name=self._path.name))
            self.submit()

    @work(exclusive=True, group="submit.run", exit_on_error=False)
    async def submit(self) -> None:
        backend = self.arl.backend
        if backend is None:
            self.post_message(
                self.Refused(ArlError(_("the platform is still starting"), advice=_("Try again in a moment.")))
            )
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
        self._steps = self._steps or {"start": StepLine(_("submit"), "failed")}
        self._problem = self.arl.keep(event.error, _("submit {name}").format(name=self._path.name))
        self._show()
        self.query_one("#yes", Button).focus()

    @on(Button.Pressed, "#yes")
    def _yes(self) -> None:
        self.action_submit()

    @on(Button.Pressed, "#no")
    def _no(self) -> None:
        self.action_dismiss_dialog()

    def action_dismiss_dialog(self) -> None:
        self._cancel.set()
        if self._is_running:
            self.workers.cancel_group(self, "submit.run")
            self.arl.warn(self._told_so_far())
        self.dismiss(None)

    def _told_so_far(self) -> str:
        """What had happened when it was stopped."""
        done = [step.label for step in self._steps.values() if step.state == "finished" and not step.is_reused]
        if any(step.state == "started" and name.startswith("submit") for name, step in self._steps.items()):
            return _("Submission stopped. The job was being created: look among the jobs whether it got through")
        if not done:
            return _("Submission stopped. Nothing had been sent yet")
        return _("Submission stopped. Done by then, and used again next time: {steps}").format(steps=", ".join(done))
