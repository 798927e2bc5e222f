"""Cancel and delete: what both the list of jobs and the screen of one job do, with the question before it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.mirror import forget
from agentic_rl_tui.app.present.jobs import JobRow
from agentic_rl_tui.app.screens.base import PlaceScreen
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span

MOST_NAMED = 8
SHORT_ID = 4
_MEANING = {
    "cancel": N_("What is done so far is kept. A canceled job cannot go on."),
    "delete": N_("The log and the results on the platform are lost for good."),
}


def _question(verb: str, rows: Sequence[JobRow]) -> tuple[str, str]:
    """The title of the question and the words of its yes."""
    count = len(rows)
    if verb == "cancel":
        title = _("Cancel {name}?") if count == 1 else ngettext("Cancel {count} job?", "Cancel {count} jobs?", count)
        yes = _("Cancel job") if count == 1 else ngettext("Cancel {count} job", "Cancel {count} jobs", count)
    else:
        title = _("Delete {name}?") if count == 1 else ngettext("Delete {count} job?", "Delete {count} jobs?", count)
        yes = _("Delete job") if count == 1 else ngettext("Delete {count} job", "Delete {count} jobs", count)
    return title.format(name=rows[0].name, count=count), yes.format(count=count)


class JobVerbs(PlaceScreen):
    """Asks, acts, and reports each job by itself. Subclasses say what becomes of the screen in `acted`."""

    scope: ClassVar[str] = ""
    """The scope of the keymap in which the verbs stand."""

    @dataclass
    class Acted(Message):
        """A verb ended for one job."""

        verb: str
        row: JobRow
        error: ArlError | None = None

    def objection(self, verb: str, rows: Sequence[JobRow]) -> str | None:
        """Why a verb has nothing to act on."""
        if not rows:
            return _("There is no job to act on")
        if verb == "cancel" and not any(row.can_cancel for row in rows):
            text = _("{name} is over ({state}); there is nothing to cancel")
            return text.format(name=rows[0].name, state=rows[0].look.word)
        if verb == "delete" and (active := next((row for row in rows if row.is_active), None)) is not None:
            text = _("{name} is {state}; cancel it before you delete it")
            return text.format(name=active.name, state=active.look.word)
        return None

    def ask(self, verb: str, rows: Sequence[JobRow]) -> None:
        """Name the jobs and what will become of them; more than one must be confirmed by typing."""
        rows = [row for row in rows if row.can_cancel] if verb == "cancel" else list(rows)
        shown: list[tuple[Span, ...]] = [
            ((f"{row.look.glyph} ", row.look.style), (row.name, "$ink"), (f"  {row.job_id}", "$faint"))
            for row in rows[:MOST_NAMED]
        ]
        if len(rows) > MOST_NAMED:
            more = _("  and {count} more").format(count=len(rows) - MOST_NAMED)
            shown.append(((more, "$muted"),))
        title, yes = _question(verb, rows)
        question = Confirm(
            title,
            (*shown, (("", ""),), ((_(_MEANING[verb]), "$muted"),)),
            yes=yes,
            no=_("Keep"),
            type_first=rows[0].job_id[-SHORT_ID:] if len(rows) > 1 else None,
        )

        def answered(is_sure: bool | None) -> None:
            for row in rows if is_sure else ():
                self.act(verb, row)

        self.app.push_screen(question, answered)

    @work(group="jobs.act", exit_on_error=False)
    async def act(self, verb: str, row: JobRow) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            await (backend.cancel(row.job_id) if verb == "cancel" else backend.delete(row.job_id))
        except ArlError as error:
            self.post_message(self.Acted(verb, row, error))
        else:
            self.post_message(self.Acted(verb, row))

    @on(Acted)
    def _acted(self, event: Acted) -> None:
        if event.error is not None:
            doing = _("cancel {name}") if event.verb == "cancel" else _("delete {name}")
            self.arl.fail(event.error, doing.format(name=event.row.name))
        elif event.verb == "delete":
            self._forget(event.row.job_id)
        self.acted(event)

    def _forget(self, job_id: str) -> None:
        """What this machine keeps of a deleted job goes with it; its note stays readable for a while."""
        if (kept := self.arl.mirror_of(job_id)) is not None:
            forget(kept)
        with suppress(OSError):
            self.arl.notes.job_gone(job_id)

    def acted(self, event: Acted) -> None:
        """What the screen shows after a verb ended."""
