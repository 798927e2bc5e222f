"""The meaning of the key under the cursor: beside the text, below it on narrow screens, and in full on demand."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.present.jobfile import doc_line, doc_sections
from agentic_rl_tui.app.screens.jobfile_check import JobFileCheck
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.panels import Facts

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import KeyDoc

DESCRIBE_AFTER_S = 0.08


class JobFileKey(JobFileCheck):
    @dataclass
    class Described(Message):
        doc: "KeyDoc | None"

    def __init__(self) -> None:
        super().__init__()
        self.doc: KeyDoc | None = None
        self._describe_timer: Timer | None = None

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self) -> None:
        if self._describe_timer is not None:
            self._describe_timer.stop()
        self._describe_timer = self.set_timer(DESCRIBE_AFTER_S, self._describe_here)

    def _describe_here(self) -> None:
        if self.path is not None:
            self._describe(self.editor.text, self.editor.cursor_location)

    @work(thread=True, exclusive=True, group="jobfile.describe", exit_on_error=False, description=N_("explain a key"))
    def _describe(self, text: str, place: tuple[int, int]) -> None:
        from agentic_rl_tui.core.jobfile import describe

        self.post_message(self.Described(describe(text, place[0] + 1, place[1] + 1)))

    @on(Described)
    def _described(self, event: Described) -> None:
        self.doc = event.doc
        doc = self.query_one("#jobfile-doc", Facts)
        doc.sections = doc_sections(event.doc)
        doc.set_class(event.doc is None, "-empty")
        self.query_one("#jobfile-docline", Heading).facts = doc_line(event.doc)

    def action_describe(self) -> None:
        from agentic_rl_tui.app.screens.jobfile_doc import KeyHelp

        row, _column = self.editor.cursor_location
        here = tuple(item for item in self.table.items if item.line == row + 1)
        if self.doc is None and not here:
            self.arl.say(_("Nothing is known of this line"))
            return
        self.app.push_screen(KeyHelp(self.doc, here))
