"""What helps while the job file is typed: problems, completion, the meaning of keys, fixes, outline, presets."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.present.jobfile import doc_line, doc_sections, marks, preset_reasons
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.jobfile_text import EditingScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.panels import Facts
from agentic_rl_tui.widgets.popup import Popup, PopupItem
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.discovery import Discovery
    from agentic_rl_tui.core.jobfile import (
        Completion,
        Diagnostic,
        Fix,
        JobDocument,
        KeyDoc,
        Meaning,
        OutlineItem,
        WorkspaceFacts,
    )

CHECK_AFTER_S = 0.15
COMPLETE_AFTER_S = 0.05
DESCRIBE_AFTER_S = 0.08


class JobFileAssist(EditingScreen):
    """Everything that takes time runs in threads on a copy of the text; the newest request wins."""

    @dataclass
    class Checked(Message):
        document: "JobDocument"
        meaning: "Meaning | None"
        turn: int
        seconds: float

    @dataclass
    class Offered(Message):
        items: "tuple[Completion, ...]"
        text: str
        place: tuple[int, int]
        is_asked: bool

    @dataclass
    class Described(Message):
        doc: "KeyDoc | None"

    @dataclass
    class Planned(Message):
        """A change of the text that waits for a yes."""

        title: str
        before: str
        after: str
        reasons: tuple[tuple[tuple[str, str], ...], ...] = ()

    @dataclass
    class PlanFailed(Message):
        error: ArlError
        doing: str

    def __init__(self) -> None:
        super().__init__()
        self.document: JobDocument | None = None
        self.doc: KeyDoc | None = None
        self._turn = 0
        self._check_s = 0.0
        self._timer: Timer | None = None
        self._complete_timer: Timer | None = None
        self._describe_timer: Timer | None = None
        self._offers: tuple[Completion, ...] = ()
        self._discovery: Discovery | None = None

    @property
    def table(self) -> "Table[Diagnostic]":
        return self.query_one("#jobfile-problems", Table)

    @property
    def popup(self) -> Popup:
        return self.query_one(Popup)

    # Checking

    @on(TextArea.Changed)
    def _edited(self) -> None:
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

    @work(thread=True, exclusive=True, group="jobfile.check", exit_on_error=False)
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

    # Completion

    @on(CodeEditor.Typed)
    def _typed(self, event: CodeEditor.Typed) -> None:
        if event.is_deletion and not self.popup.is_open:
            return
        if self._complete_timer is not None:
            self._complete_timer.stop()
        self._complete_timer = self.set_timer(COMPLETE_AFTER_S, self._ask)

    def action_complete(self) -> None:
        self._ask(is_asked=True)

    def _ask(self, is_asked: bool = False) -> None:
        if self.path is not None and self.editor.has_focus and not self.editor.read_only:
            self._complete(self.editor.text, self.editor.cursor_location, self.path, is_asked)

    @work(thread=True, exclusive=True, group="jobfile.complete", exit_on_error=False)
    def _complete(self, text: str, place: tuple[int, int], path: Path, is_asked: bool) -> None:
        from agentic_rl_tui.core.jobfile import DiskFacts, complete

        facts = self.document.facts if self.document is not None else None
        row, column = place
        found = complete(text, row + 1, column + 1, facts or DiskFacts(path.parent))
        self.post_message(self.Offered(tuple(found), text, place, is_asked))

    @on(Offered)
    def _offer(self, event: Offered) -> None:
        editor = self.editor
        if event.place != editor.cursor_location or event.text != editor.text:
            return
        row, column = event.place
        line = editor.document.get_line(row)
        items = event.items
        if not event.is_asked:
            typed = line[:column].lstrip(" -")
            # Nothing typed yet, or the word is complete: a list would only be in the way.
            items = tuple(
                item for item in items if line[item.start_col - 1 : item.end_col - 1].strip() != item.insert.strip()
            )
            if not typed or not items or (len(items) != len(event.items) and len(items) > 3):
                self.close_popup()
                return
        if not items:
            self.close_popup()
            self.arl.refuse(_("Nothing is known that fits here"))
            return
        self._offers = items
        start = min(item.start_col for item in items) - 1
        cell = editor.cursor_cell
        shift = sum(1 for _char in line[start:column])
        self.popup.show_at(
            [PopupItem(item.label, item.detail) for item in items], cell.__class__(cell.x - shift - 1, cell.y)
        )
        editor.has_popup = True
        editor.enter_chooses = event.is_asked
        self.refresh_hints()

    def close_popup(self) -> None:
        self.popup.close()
        self.editor.has_popup = False
        self.refresh_hints()

    @on(CodeEditor.PopupKey)
    def _popup_key(self, event: CodeEditor.PopupKey) -> None:
        moves = {"up": -1, "down": 1, "pageup": -7, "pagedown": 7}
        if event.key in moves:
            self.popup.move(moves[event.key])
            self.editor.enter_chooses = True
        elif event.key in ("tab", "enter"):
            self._take_offer(self.popup.index)
        else:
            self.close_popup()

    @on(Popup.Chosen)
    def _popup_clicked(self, event: Popup.Chosen) -> None:
        self._take_offer(event.index)

    def _take_offer(self, index: int) -> None:
        self.close_popup()
        if 0 <= index < len(self._offers):
            item = self._offers[index]
            row, _column = self.editor.cursor_location
            end = min(item.end_col - 1, len(self.editor.document.get_line(row)))
            self.editor.history.checkpoint()
            self.editor.replace(item.insert, (row, item.start_col - 1), (row, end), maintain_selection_offset=False)
            self.editor.history.checkpoint()

    # The key under the cursor

    @on(TextArea.SelectionChanged)
    def _moved(self) -> None:
        if self.popup.is_open and self._offers:
            column = self.editor.cursor_location[1]
            if column < min(item.start_col for item in self._offers) - 1:
                self.close_popup()
        if self._describe_timer is not None:
            self._describe_timer.stop()
        self._describe_timer = self.set_timer(DESCRIBE_AFTER_S, self._describe_here)

    def _describe_here(self) -> None:
        if self.path is not None:
            self._describe(self.editor.text, self.editor.cursor_location)

    @work(thread=True, exclusive=True, group="jobfile.describe", exit_on_error=False)
    def _describe(self, text: str, place: tuple[int, int]) -> None:
        from agentic_rl_tui.core.jobfile import describe

        self.post_message(self.Described(describe(text, place[0] + 1, place[1] + 1)))

    @on(Described)
    def _described(self, event: Described) -> None:
        self.doc = event.doc
        self.query_one("#jobfile-doc", Facts).sections = doc_sections(event.doc)
        self.query_one("#jobfile-docline", Heading).facts = doc_line(event.doc)

    def action_describe(self) -> None:
        from agentic_rl_tui.app.screens.jobfile_doc import KeyHelp

        row, _column = self.editor.cursor_location
        here = tuple(item for item in self.table.items if item.line == row + 1)
        if self.doc is None and not here:
            self.arl.say(_("Nothing is known of this line"))
            return
        self.app.push_screen(KeyHelp(self.doc, here))

    # Changes that are shown before they are made

    def _plan(self, title: str, after: str, reasons: "tuple[tuple[tuple[str, str], ...], ...]" = ()) -> None:
        self.post_message(self.Planned(title, self.editor.text, after, reasons))

    @on(Planned)
    def _show_plan(self, event: Planned) -> None:
        if event.after == event.before:
            self.arl.say(_("Nothing would change"))
            return

        def answered(is_sure: bool | None) -> None:
            self.editor.focus()
            if not is_sure:
                return
            if self.editor.text != event.before:
                self.arl.warn(_("The text changed in the meantime; nothing was done"))
                return
            self.change_text(event.after)

        self.app.push_screen(
            Difference(event.title, event.before, event.after, reasons=event.reasons, yes=_("Apply")), answered
        )

    @on(PlanFailed)
    def _plan_failed(self, event: PlanFailed) -> None:
        self.arl.fail(event.error, event.doing)

    def action_fix(self) -> None:
        """Fix the problem of the cursor's line, or of the chosen row of the list."""
        from agentic_rl_tui.core.jobfile import apply_fix

        document = self.document
        if document is None or document.text != self.editor.text:
            self.arl.refuse(_("Still checking; press again in a moment"))
            return
        if self.table.has_focus:
            item = self.table.current
            here = [item] if item is not None else []
        else:
            row = self.editor.cursor_location[0] + 1
            here = [item for item in document.diagnostics if item.line == row]
        fixes: list[tuple[Diagnostic, Fix]] = [(item, item.fix) for item in here if item.fix is not None]
        if not fixes:
            self.arl.refuse(_("There is no fix for this line") if here else _("There is no problem on this line"))
            return

        def show(pair: "tuple[Diagnostic, Fix]") -> None:
            item, fix = pair
            reasons = (((item.message, "$ink"),), ((item.why, "$muted"),))
            self._plan(fix.label, apply_fix(document.text, fix), reasons)

        if len(fixes) == 1:
            show(fixes[0])
            return
        items = [Choice(pair, pair[1].label, pair[0].message) for pair in fixes]
        self.app.push_screen(
            Choose(_("Which problem?"), items), lambda choice: show(choice.value) if choice is not None else None
        )

    def action_fix_all(self) -> None:
        if self.document is not None and self.path is not None:
            self._plan_fixes(self.editor.text, self.path)

    @work(thread=True, exclusive=True, group="jobfile.plan", exit_on_error=False)
    def _plan_fixes(self, text: str, path: Path) -> None:
        from agentic_rl_tui.core.jobfile import check, fix_all

        document = check(text, path=path, facts=self._facts(path))
        self.post_message(self.Planned(_("Fix everything that can be fixed safely"), text, fix_all(document)))

    def action_preset(self) -> None:
        from agentic_rl_tui.core.jobfile import preset_edits, presets_for

        document = self.document
        found = presets_for(document) if document is not None else ()
        if not found:
            self.arl.refuse(_("The file's syntax must be right before a preset can be applied"))
            return

        def show(choice: "Choice[str] | None") -> None:
            if choice is None or document is None:
                return
            try:
                plan = preset_edits(document, choice.value)
            except ArlError as error:
                self.arl.fail(error, _("apply {label}").format(label=choice.label))
                return
            title = _("Preset {name}").format(name=_(plan.preset.name))
            self._plan(title, plan.text, preset_reasons(plan))

        items = [Choice(preset.name, _(preset.name), _(preset.summary)) for preset in found]
        self.app.push_screen(Choose(_("Hyper-parameters for …"), items), show)

    def action_scenario(self) -> None:
        from agentic_rl_tui.core.jobfile import SCENARIOS

        current = self.document.scenario if self.document is not None else ""
        items = [
            Choice(name, _(name), _scenario_words(scenario), _("now") if name == current else "")
            for name, scenario in SCENARIOS.items()
        ]

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is not None:
                self._switch(self.editor.text, choice.value)

        self.app.push_screen(Choose(_("How the model is to learn"), items), chosen)

    @work(thread=True, exclusive=True, group="jobfile.plan", exit_on_error=False)
    def _switch(self, text: str, name: str) -> None:
        from agentic_rl_tui.core.jobfile import apply_edits, switch_scenario

        facts = self._facts(self.path) if self.path is not None else None
        try:
            after = apply_edits(text, switch_scenario(text, name, facts=facts))
        except ArlError as error:
            self.post_message(self.PlanFailed(error, _("switch to {name}").format(name=name)))
            return
        self.post_message(self.Planned(_("Switch to {name}").format(name=_(name)), text, after))

    def action_outline(self) -> None:
        from agentic_rl_tui.core.jobfile import outline

        items = [
            Choice(item.line, "  " * depth + item.label, "", str(item.line))
            for item, depth in _flat(outline(self.document or self.editor.text), 0)
        ]
        if not items:
            self.arl.say(_("The file has no sections yet"))
            return
        row = self.editor.cursor_location[0] + 1
        start = max((number for number, item in enumerate(items) if item.value <= row), default=0)

        def go(choice: "Choice[int] | None") -> None:
            self.editor.focus()
            if choice is not None:
                self.editor.move_cursor((choice.value - 1, 0), center=True)

        self.app.push_screen(Choose(_("Go to"), items, start=start), go)

    def undo_layers(self) -> Iterator[Layer]:
        if self.popup.is_open:
            yield Layer(_("close list"), self.close_popup)
        if self.table.has_focus:
            yield Layer(_("back to the text"), self.editor.focus)
        elif self.editor.has_focus:
            # Without a focus the single keys of everywhere work: 1 to 5, ?, q.
            yield Layer(_("leave the text"), self.leave_text)

    def leave_text(self) -> None:
        self.set_focus(None)

    def action_edit(self) -> None:
        self.editor.focus()


def _scenario_words(scenario: object) -> str:
    parts = [
        word
        for word, name in ((_("teacher"), "has_teacher"), (_("rollout"), "has_rollout"), (_("reward"), "has_reward"))
        if getattr(scenario, name)
    ]
    return " + ".join(parts)


def _flat(items: "tuple[OutlineItem, ...]", depth: int) -> "Iterator[tuple[OutlineItem, int]]":
    for item in items:
        yield item, depth
        if depth < 2:
            yield from _flat(item.children, depth + 1)
