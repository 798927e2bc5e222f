"""The job file while it is typed: its problems in gutter and list, and the way from one to the next."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.present.jobfile import marks
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.jobfile_text import EditingScreen
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.discovery import Discovery
    from agentic_rl_tui.core.jobfile import Diagnostic, JobDocument, Meaning, WorkspaceFacts

CHECK_AFTER_S = 0.15


class JobFileCheck(EditingScreen):
    """Checks run in a thread on a copy of the text, after each pause in typing; the newest wins."""

    @dataclass
    class Checked(Message):
        document: "JobDocument"
        meaning: "Meaning | None"
        turn: int
        seconds: float

    def __init__(self) -> None:
        super().__init__()
        self.document: JobDocument | None = None
        self._turn = 0
        self._check_s = 0.0
        self._was_changed: bool | None = None
        self._timer: Timer | None = None
        self._discovery: Discovery | None = None

    @property
    def table(self) -> "Table[Diagnostic]":
        return self.query_one("#jobfile-problems", Table)

    @on(TextArea.Changed)
    def _edited(self) -> None:
        changed = self.is_changed
        if changed != self._was_changed or self.search_chip():
            self._was_changed = changed
            self.show_heading()
        if self._timer is not None:
            self._timer.stop()
        # A file that takes long to check is checked less often, so that typing stays quick.
        self._timer = self.set_timer(max(CHECK_AFTER_S, 2 * self._check_s), self.check)

    def show_heading(self) -> None:
        """A subclass shows the name, and whether the text is saved."""

    def check(self) -> None:
        if self.path is not None:
            self._turn += 1
            self._check(self.editor.text, self.path, self._turn)

    @work(thread=True, exclusive=True, group="jobfile.check", exit_on_error=False, description=N_("check the job file"))
    def _check(self, text: str, path: Path, turn: int) -> None:
        from agentic_rl_tui.core.jobfile import check, meaning

        started = time.monotonic()
        document = check(text, path=path, facts=self._facts(path))
        try:
            means = meaning(document) if document.job is not None else None
        except ArlError:
            means = None
        self.post_message(self.Checked(document, means, turn, time.monotonic() - started))

    def _facts(self, path: Path) -> "WorkspaceFacts":
        from agentic_rl_tui.core.functions.discovery import discover
        from agentic_rl_tui.core.jobfile import DiskFacts

        known = self._discovery
        same = known is not None and known.workspace == path.parent.absolute()
        self._discovery = known.refresh() if known is not None and same else discover(path.parent)
        return DiskFacts(path.parent, self._discovery.processors)

    @on(Checked)
    def _checked(self, event: Checked) -> None:
        if event.turn != self._turn:
            return
        self.document = event.document
        self._check_s = event.seconds
        self.table.items = event.document.diagnostics
        self.table.display = bool(event.document.diagnostics)
        self.editor.marks = marks(event.document.diagnostics)
        self.show_meaning(event.document, event.meaning)
        self.show_heading()

    def show_meaning(self, document: "JobDocument", means: "Meaning | None") -> None:
        """A subclass shows what the file asks for."""

    @on(Table.Opened, "#jobfile-problems")
    def _go_to_problem(self) -> None:
        item = self.table.current
        if item is not None:
            self._go_to(item)

    def _go_to(self, item: "Diagnostic") -> None:
        self.editor.move_cursor((item.line - 1, item.col - 1), center=True)
        self.editor.focus()

    def action_next_problem(self, direction: int = 1) -> None:
        """To the next problem below the cursor, or above it; goes round."""
        items = self.table.items
        if not items:
            self.arl.say(_("No problems"))
            return
        row, column = self.editor.cursor_location
        here = (row + 1, column + 1)
        ordered = sorted(items, key=lambda item: (item.line, item.col))
        if direction > 0:
            target = next((item for item in ordered if (item.line, item.col) > here), ordered[0])
        else:
            target = next((item for item in reversed(ordered) if (item.line, item.col) < here), ordered[-1])
        self._go_to(target)
        self.table.move_to(self.table.key(target))

    def undo_layers(self) -> Iterator[Layer]:
        yield from super().undo_layers()
        if self.table.has_focus:
            yield Layer(_("back to the text"), self.editor.focus)
        elif self.editor.has_focus:
            # Without a focus the single keys of everywhere work: 1 to 5, ?, q.
            yield Layer(_("leave the text"), self.leave_text)

    def leave_text(self) -> None:
        self.set_focus(None)

    def action_edit(self) -> None:
        self.editor.focus()
