"""Changes of the job file that are shown as a difference before they are made; and the outline to jump by."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.jobfile import preset_reasons
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.jobfile_complete import JobFileCompletion
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Diagnostic, Fix, OutlineItem


class JobFileChange(JobFileCompletion):
    """Fixes, presets and switches of the scenario; one step of the undo history each."""

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

    @work(thread=True, exclusive=True, group="jobfile.plan", exit_on_error=False, description=N_("plan a change"))
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

    @work(thread=True, exclusive=True, group="jobfile.plan", exit_on_error=False, description=N_("plan a change"))
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
