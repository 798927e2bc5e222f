"""What people are told, and where: toasts that fade, problems that are kept."""

import os
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from textual import on
from textual.app import App
from textual.worker import Worker, WorkerState

from agentic_rl_tui.app.plainview import show_plain
from agentic_rl_tui.app.surfaces import Problem, ProblemLog, problem
from agentic_rl_tui.app.terminal import clipboard
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentic_rl_tui.core.settings import Settings


class Telling(App[int]):
    """The app's voice. No text that comes from outside is read as markup."""

    settings: "Settings"
    clock: "Callable[[], float]"
    zone: tzinfo
    problems: ProblemLog
    copied: str = ""
    """What was copied last and may not have arrived."""

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

    def say(self, text: str) -> None:
        self.notify(text, timeout=3, markup=False)

    def warn(self, text: str) -> None:
        self.notify(text, severity="warning", timeout=5, markup=False)

    def refuse(self, reason: str) -> None:
        """Say why a key did nothing."""
        self.notify(reason, severity="warning", timeout=3, markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        self._clipboard = text
        if not self.is_headless and self._driver is not None:
            self._driver.write(clipboard(text, os.environ))

    def copy(self, text: str, what: str) -> None:
        """Send `text` to the terminal's clipboard; whether it arrives is the terminal's affair, so no claim is made."""
        self.copied = text
        self.copy_to_clipboard(text)
        told = _("Sent the {what} to the terminal's clipboard; if nothing arrives, V shows the text to be selected")
        self.notify(told.format(what=what), timeout=5, markup=False)

    def show_plain(self, text: str) -> None:
        """The text that was copied last, once; else the given one."""
        wanted, self.copied = self.copied or text, ""
        if not show_plain(self, wanted):
            self.refuse(_("This terminal cannot be handed to another program"))
