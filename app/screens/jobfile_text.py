"""The text of the job file: read, kept safe while it is typed, saved, and watched on the disk."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.present.times import coarse_duration
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.finding import FindingScreen
from agentic_rl_tui.core.drafts import Draft, Drafts
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, InputError
from agentic_rl_tui.core.textfile import ChangedOnDisk, TextFile, smallest_change
from agentic_rl_tui.widgets.codeeditor import CodeEditor

LOOK_EVERY_S = 1.0
DRAFT_AFTER_S = 1.0
GIVE_WAY_S = 0.001
LONGEST_LINE = 200_000
"""Characters of a line that the editor takes."""


def has_long_line(text: str) -> bool:
    """Whether a line would make every key wait: the editor draws a line as a whole."""
    return len(text) > LONGEST_LINE and max(map(len, text.split("\n"))) > LONGEST_LINE


def _readable(file: TextFile) -> TextFile:
    """The same file. Raises InputError when it cannot be edited here."""
    if has_long_line(file.text):
        raise InputError(
            _("{name} has a line of more than {count:,} characters").format(name=file.path.name, count=LONGEST_LINE),
            advice=_("Use another editor."),
        )
    return file


class EditingScreen(FindingScreen):
    """A place that edits one text file at a time: nothing typed is lost, nobody else's change is written over."""

    @dataclass
    class FoundOnDisk(Message):
        now: TextFile

    @dataclass
    class DraftFound(Message):
        draft: Draft

    def __init__(self) -> None:
        super().__init__()
        self.path: Path | None = None
        self.file: TextFile | None = None
        self.drafts = Drafts()
        self._asked_about = ""
        self._draft_timer: Timer | None = None
        self._last_text = ""

    @property
    def editor(self) -> CodeEditor:
        return self.query_one(CodeEditor)

    @property
    def searched(self) -> CodeEditor:
        return self.editor

    @property
    def is_changed(self) -> bool:
        return self.file is not None and self.editor.text != self.file.text

    def on_mount(self) -> None:
        # A thread that checks a long text gives way to a key after this long, at each of the key's steps.
        sys.setswitchinterval(min(sys.getswitchinterval(), GIVE_WAY_S))
        if self.arl.options.is_polling:
            self.set_interval(LOOK_EVERY_S, self.look_at_disk)

    def text_loaded(self) -> None:
        """The text was replaced as a whole, or saved: a subclass shows its state anew."""

    # Reading

    def read(self, path: Path) -> bool:
        """Show a file; False when it cannot be read, which is told."""
        self.keep_draft_now()
        try:
            self.file = _readable(TextFile.read(path))
        except ArlError as error:
            self.file = None
            self.arl.fail(error, _("open {name}").format(name=path.name))
        self.path = path
        self._asked_about = ""
        self.end_search()
        text = self._last_text = self.file.text if self.file is not None else ""
        self.editor.load(text, path.suffix)
        self.editor.read_only = self.file is None
        self.text_loaded()
        if self.file is not None:
            self._find_draft(path, self.file.text)
        return self.file is not None

    def change_text(self, after: str) -> None:
        """Make the text another one as a single step of the undo history."""
        before = self.editor.text
        if after != before:
            start, end, replacement = smallest_change(before, after)
            self.editor.become(start, end, replacement)

    # Drafts

    @work(
        thread=True, exclusive=True, group="editing.draft_find", exit_on_error=False, description=N_("look for a draft")
    )
    def _find_draft(self, path: Path, text: str) -> None:
        draft = self.drafts.find(path)
        if draft is None:
            return
        if draft.text == text:
            self.drafts.drop(path)
        else:
            self.post_message(self.DraftFound(draft))

    @on(DraftFound)
    def _offer_draft(self, event: DraftFound) -> None:
        file = self.file
        if file is None or event.draft.path != file.path.absolute() or self.is_changed:
            return
        draft = event.draft
        when = coarse_duration(self.arl.clock() - draft.saved_s)
        moved = "" if draft.base_digest == file.stamp.digest else _("the file was changed since")
        items = [
            Choice("take", _("Take it"), _("go on with what you typed; undo brings the file's text back")),
            Choice("look", _("Show the difference"), moved),
            Choice("drop", _("Throw it away"), _("stay with the file as it is")),
        ]

        def answered(choice: "Choice[str] | None") -> None:
            if choice is None:
                return
            if choice.value == "take":
                self.change_text(draft.text)
            elif choice.value == "look":
                self.compare(
                    _("Unsaved text of {name}").format(name=file.path.name),
                    file.text,
                    draft.text,
                    yes=_("Take it"),
                    apply=lambda: self.change_text(draft.text),
                    otherwise=lambda: self._offer_draft(event),
                )
            else:
                self.drafts.drop(file.path)

        title = _("You typed something {when} ago that was never saved").format(when=when)
        self.app.push_screen(Choose(title, items), answered)

    @on(TextArea.Changed)
    def _keep_draft_soon(self) -> None:
        self._last_text = self.editor.text
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(DRAFT_AFTER_S, self._keep_draft)

    def _keep_draft(self) -> None:
        file = self.file
        if file is not None:
            text, changed = self.editor.text, self.is_changed
            self.run_worker(
                lambda: self._write_draft(file, text, changed), thread=True, group="editing.draft", exit_on_error=False
            )

    def _write_draft(self, file: TextFile, text: str, changed: bool) -> None:
        try:
            if changed:
                self.drafts.keep(file.path, text, file.stamp.digest)
            else:
                self.drafts.drop(file.path)
        except OSError as error:
            self.log.warning(f"the draft of {file.path} cannot be written: {error}")

    def keep_draft_now(self) -> None:
        """Before the text goes away: what was not saved is offered when the file is opened next."""
        if self._draft_timer is not None:
            self._draft_timer.stop()
        if self.file is not None and self._last_text != self.file.text:
            self._write_draft(self.file, self._last_text, True)

    def on_unmount(self) -> None:
        self.keep_draft_now()

    # Saving

    def save(self, *, overwrite: bool = False) -> bool:
        """Write the text; False when it was not, with a dialog or a notice that says why."""
        if self.file is None:
            return False
        try:
            self.file = self.file.save(self.editor.text, overwrite=overwrite)
        except ChangedOnDisk:
            self._compare_with_disk()
            return False
        except ArlError as error:
            self.arl.fail(error, _("save {name}").format(name=self.file.path.name))
            return False
        self._asked_about = ""
        self.drafts.drop(self.file.path)
        self.text_loaded()
        return True

    # The disk

    def look_at_disk(self) -> None:
        """See whether somebody else wrote the file."""
        if self.file is not None and self.is_current:
            self._look(self.file)

    @work(thread=True, exclusive=True, group="editing.look", exit_on_error=False, description=N_("look at the disk"))
    def _look(self, file: TextFile) -> None:
        try:
            now = file.changed_on_disk()
        except ArlError:
            # Gone for now; saving writes it again, and an editor that replaces files makes it come back.
            return
        if now is not None:
            self.post_message(self.FoundOnDisk(now))

    @on(FoundOnDisk)
    def _found_on_disk(self, event: FoundOnDisk) -> None:
        now = event.now
        if self.file is None or now.path != self.file.path or now.stamp.digest == self._asked_about:
            return
        if not self.is_changed:
            self._take(now)
            self.arl.say(_("{name} was changed on disk and read again").format(name=now.path.name))
        else:
            self._ask_about(now)

    def _compare_with_disk(self) -> None:
        assert self.file is not None
        try:
            now = self.file.changed_on_disk()
        except ArlError as error:
            self.arl.fail(error, _("save {name}").format(name=self.file.path.name))
            return
        if now is not None:
            self._ask_about(now)

    def _take(self, now: TextFile) -> None:
        self.file = now
        self.change_text(now.text)
        self.text_loaded()

    def _ask_about(self, now: TextFile) -> None:
        self._asked_about = now.stamp.digest
        items = [
            Choice("look", _("Show the difference"), _("their text against yours")),
            Choice("mine", _("Keep mine"), _("saving then writes over theirs")),
            Choice("theirs", _("Take theirs"), _("undo brings your text back")),
        ]

        def answered(choice: "Choice[str] | None") -> None:
            if choice is None:
                self._asked_about = ""
                return
            if choice.value == "theirs":
                self._take(now)
            elif choice.value == "mine":
                self.file = now
                self.text_loaded()
            else:
                self.compare(
                    _("On disk, and yours"),
                    now.text,
                    self.editor.text,
                    yes="",
                    apply=lambda: None,
                    otherwise=lambda: self._ask_about(now),
                )

        title = _("{name} was changed by somebody else").format(name=now.path.name)
        self.app.push_screen(Choose(title, items), answered)

    def compare(
        self,
        title: str,
        before: str,
        after: str,
        *,
        yes: str,
        apply: Callable[[], object],
        otherwise: Callable[[], object] = lambda: None,
    ) -> None:
        """Show a difference and act on the answer."""

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                apply()
            else:
                otherwise()

        self.app.push_screen(Difference(title, before, after, yes=yes), answered)

    def action_refresh(self) -> None:
        """Take the text from the disk; asks first where changes would be lost."""
        path = self.path
        if path is None:
            return
        if not self.is_changed:
            self.read(path)
            return
        lines = (((_("What you typed since the last save is lost."), "$muted"),),)

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self.file = None
                self.drafts.drop(path)
                self.read(path)

        self.app.push_screen(
            Confirm(_("Read {name} again?").format(name=path.name), lines, yes=_("Read again"), no=_("Keep")), answered
        )
