"""From a job file to a job: what blocks it, what will happen and may cost, then every step as it happens."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.backend import Backend
from agentic_rl_tui.app.present.jobfile import amount_line, plan, price_lines, verdict
from agentic_rl_tui.app.present.preflight import check_lines, finding_lines
from agentic_rl_tui.app.present.steps import StepLine
from agentic_rl_tui.app.screens.deed import GAP, DeedDialog
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import JobDocument, Meaning
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk.preflight import Check


class Submit(DeedDialog["Job"]):
    """The document is the file as it lies on the disk."""

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
        self._is_checked = False
        self._wants_submit = False
        self._cancel = threading.Event()

    def on_mount(self) -> None:
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
        self.show()

    @on(CheckedAll)
    def _checked_all(self, event: CheckedAll) -> None:
        self._is_checked = True
        self._means = event.means
        self.show()
        self.focus_button("yes" if self.why_not() is None else "no")
        if self._wants_submit:
            self.action_go()

    def action_go(self) -> None:
        """While the checks go on, the wish is kept and carried out when they have passed."""
        if not self._is_checked:
            self._wants_submit = True
        else:
            super().action_go()

    # Words

    @property
    def question(self) -> str:
        return _("Submit {name}?").format(name=self._path.name)

    @property
    def title_while_running(self) -> str:
        return _("Submitting {name}").format(name=self._path.name)

    @property
    def verb(self) -> str:
        return _("Submit")

    @property
    def doing(self) -> str:
        return _("submit {name}").format(name=self._path.name)

    def why_not(self) -> str | None:
        if not self._is_checked:
            return _("Still checking; it is submitted when that is done")
        if not self._document.is_ok or any(check.blocks for check in self._checks.values()):
            return _("Correct these first; nothing was sent.")
        return None

    def before_lines(self) -> list[tuple[Span, ...]]:
        checks = list(self._checks.values())
        lines = [line for check in checks for line in check_lines(check)]
        if not self._is_checked:
            return [*lines, GAP, ((_("checking before anything is sent …"), "$muted"),)]
        findings = list(finding_lines(checks))
        if findings:
            lines += [GAP, *findings]
        reason = self.why_not()
        if reason is not None:
            return [*lines, GAP, ((reason, "$muted"),)]
        facts = [line for line in (amount_line(self._means), *price_lines(self._means)) if line]
        shown = plan(self._document, self.arl.settings.profile_name)
        return [verdict(self._document), GAP, *shown, *facts, GAP, *lines]

    # Submitting

    async def perform(self, backend: Backend) -> "Job":
        return await backend.submit(self._path, self.tell)

    def stopped_words(self, done: list[StepLine]) -> str:
        if any(step.state == "started" and name.startswith("submit") for name, step in self.steps.items()):
            return _("Submission stopped. The job was being created: look among the jobs whether it got through")
        names = [step.label for step in done if not step.is_reused]
        if not names:
            return _("Submission stopped. Nothing had been sent yet")
        return _("Submission stopped. Done by then, and used again next time: {steps}").format(steps=", ".join(names))

    def action_dismiss_dialog(self) -> None:
        self._cancel.set()
        super().action_dismiss_dialog()
