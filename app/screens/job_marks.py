"""Notes and pins: what a person keeps about jobs on this machine."""

from collections.abc import Sequence

from agentic_rl_tui.app.present.jobs import JobRow
from agentic_rl_tui.app.screens.job_remake import JobRemake
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError


class JobMarks(JobRemake):
    """Changes are small and local, so they are written at once."""

    def action_note(self) -> None:
        from agentic_rl_tui.app.screens.job_note import NoteDialog

        row = self.target
        if row is None or not self.may(f"{self.scope}.note"):
            return

        def written(text: str | None) -> None:
            if text is not None:
                self._write(row, text)

        self.app.push_screen(NoteDialog(row.name, self.arl.notes.get(row.job_id).text), written)

    def _write(self, row: JobRow, text: str) -> None:
        try:
            self.arl.notes.write(row.job_id, text)
        except OSError as error:
            self._refused(error)
        self.marks_changed()

    def action_pin(self) -> None:
        rows = self.targets
        if rows and self.may(f"{self.scope}.pin"):
            self._pin(rows, is_pinned=not all(row.is_pinned for row in rows))

    def _pin(self, rows: Sequence[JobRow], *, is_pinned: bool) -> None:
        try:
            self.arl.notes.pin([row.job_id for row in rows], is_pinned=is_pinned)
        except OSError as error:
            self._refused(error)
        self.marks_changed()

    def _refused(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        text = _("{path} cannot be written: {reason}").format(path=self.arl.notes.path, reason=reason)
        self.arl.fail(InputError(text), _("keep the note"))

    def marks_changed(self) -> None:
        """Show the notes and pins as they are now."""
