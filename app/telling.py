"""What people are told, and where: toasts that fade, problems that are kept, the bell."""

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import App
from textual.worker import Worker, WorkerState

from agentic_rl_tui.app.present.states import job_look
from agentic_rl_tui.app.surfaces import Problem, ProblemLog, problem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.models.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.settings import Settings


class Telling(App[int]):
    """The app's voice. No text that comes from outside is read as markup."""

    settings: "Settings"
    clock: "Callable[[], float]"
    zone: tzinfo
    problems: ProblemLog
    ends_told: set[str]

    def fail(self, error: ArlError, doing: str) -> None:
        """Tell that something the user or a refresh asked for failed, and keep it."""
        item = self.keep(error, doing)
        self.notify(item.message, title=item.title, severity="error", timeout=8, markup=False)

    def keep(self, error: BaseException, doing: str) -> Problem:
        """Keep an error for the problems pane without telling of it: for places that show it themselves."""
        item = problem(error, doing, at=datetime.fromtimestamp(self.clock(), self.zone))
        self.problems.add(item)
        return item

    def report_bug(self, error: BaseException, doing: str) -> None:
        item = self.keep(error, doing)
        self.notify(
            _("{message}\nPress ! to read and copy the report.").format(message=item.message),
            title=_("A fault of this program"),
            severity="error",
            timeout=10,
            markup=False,
        )

    @on(Worker.StateChanged)
    def _report_failed_worker(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.report_bug(event.worker.error, event.worker.name)

    def tell_end(self, job: "Job") -> None:
        """A job that was watched has ended: say so once, and ring where the user wants it."""
        if job.job_id in self.ends_told:
            return
        self.ends_told.add(job.job_id)
        look = job_look(job.status)
        name = plain(job.job_name or job.job_id, keep_newlines=False)
        severity: Literal["information", "error"] = "error" if job.status == JobStatus.FAILED else "information"
        self.notify(f"{look.glyph} {look.word}", title=name, severity=severity, timeout=8, markup=False)
        if self.settings.get("tui.bell", True):
            self.bell()

    def say(self, text: str) -> None:
        self.notify(text, timeout=3, markup=False)

    def warn(self, text: str) -> None:
        self.notify(text, severity="warning", timeout=5, markup=False)

    def refuse(self, reason: str) -> None:
        """Say why a key did nothing."""
        self.notify(reason, severity="warning", timeout=3, markup=False)

    def copy(self, text: str, what: str) -> None:
        """Send `text` to the terminal's clipboard; whether it arrives is the terminal's affair, so no claim is made."""
        self.copy_to_clipboard(text)
        self.say(_("Sent the {what} to the terminal's clipboard").format(what=what))
