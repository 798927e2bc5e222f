"""The input of a function that is tried: a resource file, a row of the data, or what is typed; checked meanwhile."""

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.present.functions import FunctionRow, Lines, clean
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.completing import CompletingScreen
from agentic_rl_tui.app.screens.functions_list import FunctionsList
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError, InputError
from agentic_rl_tui.core.models.jsonwords import in_words
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.codeeditor import CodeEditor, Mark
from agentic_rl_tui.widgets.panels import Note
from agentic_rl_tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentic_rl_tui.app.screens.completing import Completer
    from agentic_rl_tui.core.functions.harness import ModelResource
    from agentic_rl_tui.core.jobfile import Completion

CHECK_AFTER_S = 0.15
ROLLOUTS = 4


@dataclass(frozen=True, slots=True)
class Source:
    """Where an input comes from: a resource file, a row of a data file, or the keyboard."""

    path: Path | None = None
    row: int | None = None
    answer: str | None = None

    @property
    def label(self) -> str:
        if self.path is None:
            return _("typed")
        return self.path.name if self.row is None else _("{name} row {row}").format(name=self.path.name, row=self.row)


class FunctionsInput(CompletingScreen, FunctionsList):
    @dataclass
    class InputMade(Message):
        classpath: str
        source: Source
        text: str
        resource: "ModelResource | None" = None

    @dataclass
    class InputFailed(Message):
        classpath: str
        error: ArlError

    @dataclass
    class InputChecked(Message):
        marks: tuple[Mark, ...]
        note: tuple[tuple[str, str], ...]
        is_ok: bool

    def __init__(self) -> None:
        super().__init__()
        self._source = Source()
        self._of = ""
        self._resource: ModelResource | None = None
        self._lent: ModelResource | None = None
        """The practice model that is on loan; None once it was given back."""
        self._input_timer: Timer | None = None

    @property
    def input(self) -> CodeEditor:
        return self.query_one("#try-input", CodeEditor)

    @property
    def completed(self) -> CodeEditor:
        return self.input

    def completer(self) -> "Completer | None":
        row = self.row
        if row is None:
            return None
        kind = row.info.kind

        def look(text: str, line: int, col: int) -> "Sequence[Completion]":
            from agentic_rl_tui.core.sdk.tryout_complete import complete_input

            return complete_input(kind, text, line, col)

        return look

    def row_changed(self, row: FunctionRow) -> None:
        if row.key != self._of:
            self._of = row.key
            self._make_first_input(row)

    @work(thread=True, exclusive=True, group="functions.input", exit_on_error=False)
    def _make_first_input(self, row: FunctionRow) -> None:
        """The first resource file that fits, else the first row of the training data."""
        from agentic_rl_tui.core.sdk.tryout import data_files, input_files

        root = self.arl.settings.workspace
        fitting = [item.path for item in input_files(root, row.info.kind) if item.fits]
        data = data_files(root)
        if fitting:
            self._read_input(row, Source(fitting[0]))
        elif data:
            self.app.call_from_thread(self.build_input, row, Source(data[0], 0))
        else:
            self.post_message(self.InputMade(row.key, Source(), "{}"))

    def _read_input(self, row: FunctionRow, source: Source) -> None:
        assert source.path is not None
        try:
            text = source.path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.post_message(
                self.InputFailed(
                    row.key,
                    InputError(_("{name} cannot be read: {reason}").format(name=source.path.name, reason=reason)),
                )
            )
            return
        self.post_message(self.InputMade(row.key, source, text))

    @work(exclusive=True, group="functions.input", exit_on_error=False)
    async def build_input(self, row: FunctionRow, source: Source) -> None:
        """Make the input of a data row, as a job would."""
        from agentic_rl_tui.core.functions.harness import RowSource, build_input

        assert source.path is not None
        assert source.row is not None
        try:
            made = await asyncio.to_thread(RowSource.read, source.path, source.row)
            resource = await self._model_for(row, made.row, source.row)
            answers = (source.answer,) if source.answer is not None else ()
            made = replace(made, resource=resource, rollouts=ROLLOUTS, answers=answers)
            payload = await build_input(self.arl.settings.workspace, row.info, made)
        except ArlError as error:
            self.post_message(self.InputFailed(row.key, error))
            return
        from agentic_rl_tui.core.functions.harness_inputs import masked

        text = json.dumps(masked(payload), ensure_ascii=False, indent=2)
        self.post_message(self.InputMade(row.key, source, text, resource))

    async def _model_for(self, row: FunctionRow, data: Any, index: int) -> "ModelResource | None":
        """The model that a rollout calls: the user's own of [try], else the platform's practice policy."""
        from agentic_rl_tui.core.models.kinds import FunctionKind
        from agentic_rl_tui.core.sdk.tryout import own_model

        if row.info.kind is not FunctionKind.ROLLOUT:
            return None
        own = own_model(self.arl.settings)
        if own is not None:
            return own
        backend = self.arl.backend
        lent = await backend.practice_models(dict(data), index, 1) if backend is not None else None
        if not lent:
            raise InputError(
                _("a rollout calls a model, and there is none to try it with"),
                advice=_(
                    "Use the local platform (--profile local), or name a model in agentic-rl.toml: "
                    "[try] base_url, model and api_key_env."
                ),
            )
        self._lent = lent[0]
        return self._lent

    @on(InputMade)
    def _input_made(self, event: InputMade) -> None:
        if event.classpath == self._of:
            self._source, self._resource = event.source, event.resource
            self.input.load(event.text, ".json")
            self._check_input_now()

    @on(InputFailed)
    def _input_failed(self, event: InputFailed) -> None:
        if event.classpath == self._of:
            self.show_result(
                ((("✗ ", "$failed"), (event.error.message, "$ink")), ((event.error.advice or "", "$muted"),))
            )
            self.arl.keep(event.error, _("make an input"))
            self._show_input_note((("! ", "$warn"), (_("no input"), "$muted")))

    @on(TextArea.Changed, "#try-input")
    def _input_edited(self) -> None:
        if self._input_timer is not None:
            self._input_timer.stop()
        self._input_timer = self.set_timer(CHECK_AFTER_S, self._check_input_now)

    def _check_input_now(self) -> None:
        row = self.row
        if row is not None:
            self._check_input(self.input.text, row)

    @work(
        thread=True,
        exclusive=True,
        group="functions.check_input",
        exit_on_error=False,
        description=N_("check the input"),
    )
    def _check_input(self, text: str, row: FunctionRow) -> None:
        from agentic_rl_tui.core.functions.harness_inputs import check_input
        from agentic_rl_tui.core.sdk.jsonplaces import line_of

        try:
            payload = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            line, col = getattr(error, "lineno", 1), getattr(error, "colno", 1)
            mark = Mark(line - 1, col - 1, col, "✗", "$failed")
            words = f"{line}:{col} {in_words(getattr(error, 'msg', str(error)))}"
            self.post_message(self.InputChecked((mark,), (("✗ ", "$failed"), (words, "$ink")), False))
            return
        problems = check_input(row.info.kind, payload)
        marks = [Mark(*line_of(text, problem.path), "✗", "$failed") for problem in problems]
        note: tuple[tuple[str, str], ...] = (("✓ ", "$succeeded"), (_("fits"), "$muted"))
        if problems:
            more = f"  +{len(problems) - 1}" if len(problems) > 1 else ""
            place = f"{marks[0].line + 1}:{marks[0].start + 1} {problems[0].path}"
            note = (("✗ ", "$failed"), (f"{place}: {problems[0].message}{more}", "$ink"))
        self.post_message(self.InputChecked(tuple(marks), note, not problems))

    @on(InputChecked)
    def _input_checked(self, event: InputChecked) -> None:
        self.input.marks = event.marks
        self._show_input_note(event.note)

    def _show_input_note(self, note: tuple[tuple[str, str], ...]) -> None:
        heading = self.query_one("#try-heading", Heading)
        heading.title = _("Input")
        heading.facts = ((clean(self._source.label), "$accent"),)
        heading.note = note

    def action_input(self) -> None:
        row = self.row
        if row is not None:
            self._offer_inputs(row)

    @work(thread=True, exclusive=True, group="functions.offer", exit_on_error=False)
    def _offer_inputs(self, row: FunctionRow) -> None:
        from agentic_rl_tui.core.sdk.tryout import data_files, input_files

        root = self.arl.settings.workspace
        items: list[Choice[Source]] = []
        for item in input_files(root, row.info.kind):
            words = "" if item.fits else _("made for another kind")
            items.append(
                Choice(Source(item.path), f"resources/{item.path.name}", words, "", "$ink" if item.fits else "$muted")
            )
        for path in data_files(root):
            name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
            items.append(Choice(Source(path, 0), name, _("a row, by its number")))
        items.append(Choice(Source(), _("type it"), _("start from what is there")))
        self.app.call_from_thread(self._ask_input, row, items)

    def _ask_input(self, row: FunctionRow, items: "list[Choice[Source]]") -> None:
        def chosen(choice: "Choice[Source] | None") -> None:
            if choice is None:
                return
            source = choice.value
            if source.path is None:
                self._source = source
                self._show_input_note(())
                self.show_tab("test")
                self.input.focus()
                self._check_input_now()
            elif source.row is None:
                self._read_input(row, source)
            else:
                self._source = source
                self.call_later(self._ask_row)

        self.app.push_screen(Choose(_("Input of {name}").format(name=row.info.class_name), items), chosen)

    async def action_row(self) -> None:
        if self._source.row is None:
            self.arl.refuse(_("The input comes from no data file; press i to choose one"))
            return
        await self._ask_row()

    async def _ask_row(self) -> None:
        await self.prompt.ask("row", _("row"), text=str(self._source.row or 0), hint=_("number from 0"))

    @on(Prompt.Given)
    def _given_row(self, event: Prompt.Given) -> None:
        row = self.row
        if row is None or event.purpose != "row":
            return
        if event.text.strip().isdigit():
            self.build_input(row, replace(self._source, row=int(event.text)))
        else:
            self.arl.refuse(_("{text} is no number").format(text=event.text))

    def show_result(self, lines: Lines) -> None:
        self.query_one("#try-result-text", Note).lines = lines

    def show_tab(self, name: str) -> None:
        """A subclass switches its tabs."""
