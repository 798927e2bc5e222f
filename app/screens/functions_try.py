"""Trying a function on this machine: its input, the run with live output, the result, the history, sweeps."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea
from textual.worker import Worker, get_current_worker

from agentic_rl_tui.app.present.functions import (
    FunctionRow,
    Lines,
    SweepState,
    clean,
    pretty,
    report_lines,
    status_word,
    sweep_lines,
    sweep_progress,
)
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.functions_list import FunctionsList
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, FunctionFailed, InputError
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.codeeditor import CodeEditor, Mark
from agentic_rl_tui.widgets.lines import LineBuffer
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Note
from agentic_rl_tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.harness import ModelResource, RowResult, SweepReport, TestReport
    from agentic_rl_tui.core.functions.output import OutputLine

CHECK_AFTER_S = 0.15
MOST_KEPT = 30
SWEEP_ROWS = 20
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


@dataclass(frozen=True, slots=True)
class Run:
    """One entry of the history."""

    classpath: str
    label: str
    at_s: float
    report: "TestReport"


class FunctionsTry(FunctionsList):
    """Runs go through the harness, in a process of their own and from a clean copy of the package."""

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
    class Printed(Message):
        line: "OutputLine"

    @dataclass
    class Ran(Message):
        report: "TestReport"
        label: str

    @dataclass
    class RunFailed(Message):
        error: ArlError

    @dataclass
    class SweepMoved(Message):
        state: SweepState

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, FunctionsTry.SweepMoved)

    @dataclass
    class Swept(Message):
        report: "SweepReport"

    @dataclass
    class InputChecked(Message):
        marks: tuple[Mark, ...]
        note: tuple[tuple[str, str], ...]
        is_ok: bool

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Run] = []
        self.report: TestReport | None = None
        self._source = Source()
        self._of = ""
        self._resource: ModelResource | None = None
        self._lines = LineBuffer()
        self._input_timer: Timer | None = None
        self._run_worker: Worker[None] | None = None

    @property
    def input(self) -> CodeEditor:
        return self.query_one("#try-input", CodeEditor)

    @property
    def is_trying(self) -> bool:
        return self._run_worker is not None and not self._run_worker.is_finished

    # The input

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
        return lent[0]

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
        thread=True, exclusive=True, group="functions.check_input", exit_on_error=False, description="check the input"
    )
    def _check_input(self, text: str, row: FunctionRow) -> None:
        from agentic_rl_tui.core.functions.harness_inputs import check_input
        from agentic_rl_tui.core.sdk.jsonplaces import line_of

        try:
            payload = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            line, col = getattr(error, "lineno", 1), getattr(error, "colno", 1)
            mark = Mark(line - 1, col - 1, col, "✗", "$failed")
            words = f"{line}:{col} {getattr(error, 'msg', error)}"
            self.post_message(self.InputChecked((mark,), (("✗ ", "$failed"), (words, "$ink")), False))
            return
        problems = check_input(row.info.kind, payload)
        marks = []
        for problem in problems:
            line, start, end = line_of(text, problem.path)
            marks.append(Mark(line, start, end, "✗", "$failed"))
        note: tuple[tuple[str, str], ...] = (("✓ ", "$succeeded"), (_("fits"), "$muted"))
        if problems:
            more = f"  +{len(problems) - 1}" if len(problems) > 1 else ""
            note = (("✗ ", "$failed"), (f"{problems[0].path}: {problems[0].message}{more}", "$ink"))
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
    def _given(self, event: Prompt.Given) -> None:
        row = self.row
        if row is None:
            return
        number = int(event.text) if event.text.strip().isdigit() else None
        if number is None:
            self.arl.refuse(_("{text} is no number").format(text=event.text))
        elif event.purpose == "row":
            self.build_input(row, replace(self._source, row=number))
        elif event.purpose == "sweep":
            self._begin(self._sweep(row, max(1, number)))

    # Running

    def action_run(self) -> None:
        row = self.row
        if row is None or not self.may("functions.run"):
            return
        try:
            payload = json.loads(self.input.text)
        except (json.JSONDecodeError, RecursionError):
            self.arl.refuse(_("The input is no JSON yet; the gutter shows where"))
            self.input.focus()
            return
        self.show_tab("test")
        self._begin(self._run_here(row, payload, self._source.label, self._resource))

    def _begin(self, worker: "Worker[None]") -> None:
        self._run_worker = worker
        self._lines.clear()
        self.query_one("#functions-log", LogView).grew()
        self.show_result(((("● ", "$running"), (_("running …"), "$ink"), (_("  esc stops it"), "$faint")),))
        self.refresh_hints()

    @work(exclusive=True, group="functions.run", exit_on_error=False)
    async def _run_here(self, row: FunctionRow, payload: Any, label: str, resource: "ModelResource | None") -> None:
        from agentic_rl_tui.core.functions.harness import try_function
        from agentic_rl_tui.core.sdk.tryout import options_for, with_key

        root = self.arl.settings.workspace
        if isinstance(payload, dict):
            payload = with_key(payload, resource)
        try:
            options = await asyncio.to_thread(options_for, root, row.info)
            report = await try_function(
                root, row.info.classpath, json.dumps(payload), options=options, on_output=self._pass_output
            )
        except ArlError as error:
            self.post_message(self.RunFailed(error))
        else:
            self.post_message(self.Ran(report, label))

    def _pass_output(self, line: "OutputLine") -> None:
        self.post_message(self.Printed(line))

    @on(Printed)
    def _printed(self, event: Printed) -> None:
        self._lines.append([f"{event.line.stream:<6} {line}" for line in event.line.text.splitlines() or [""]])
        self.query_one("#functions-log", LogView).grew()
        if self.is_trying and self.report is None:
            tail = self._lines.lines(max(0, len(self._lines) - 6), len(self._lines))
            head: Lines = ((("● ", "$running"), (_("running …"), "$ink"), (_("  esc stops it"), "$faint")),)
            self.show_result((*head, *(((clean(text), "$muted"),) for text in tail)))

    @on(Ran)
    def _ran(self, event: Ran) -> None:
        self.report = event.report
        run = Run(event.report.classpath.dotted, event.label, self.arl.clock(), event.report)
        self.history.insert(0, run)
        del self.history[MOST_KEPT:]
        self.show_result(report_lines(event.report))
        self.refresh_hints()

    @on(RunFailed)
    def _run_failed(self, event: RunFailed) -> None:
        lines: list[tuple[tuple[str, str], ...]] = [(("✗ ", "$failed"), (event.error.message, "$ink"))]
        if event.error.advice:
            lines.append(((f"→ {event.error.advice}", "$muted"),))
        if isinstance(event.error, FunctionFailed) and event.error.traceback:
            lines += [((text, "$muted"),) for text in event.error.traceback.splitlines()]
        self.show_result(tuple(lines))
        self.arl.keep(event.error, _("run the function"))
        self.refresh_hints()

    def cancel_run(self) -> None:
        if self._run_worker is not None:
            self._run_worker.cancel()
            self._run_worker = None
            self.show_result(((("○ ", "$canceled"), (_("canceled"), "$ink")),))

    def show_result(self, lines: Lines) -> None:
        self.query_one("#try-result-text", Note).lines = lines

    # Many rows

    async def action_sweep(self) -> None:
        if self.row is not None:
            await self.prompt.ask("sweep", _("rows to run"), text=str(SWEEP_ROWS), hint=_("a number"))

    @work(exclusive=True, group="functions.run", exit_on_error=False)
    async def _sweep(self, row: FunctionRow, count: int) -> None:
        from agentic_rl_tui.core.functions.harness import read_rows, row_inputs, sweep
        from agentic_rl_tui.core.sdk.tryout import data_files, options_for

        root = self.arl.settings.workspace
        worker = get_current_worker()
        try:
            files = [self._source.path] if self._source.row is not None else await asyncio.to_thread(data_files, root)
            path = next(iter(files), None)
            if path is None:
                raise InputError(_("the workspace has no data set to take rows from"))
            rows = await asyncio.to_thread(lambda: list(read_rows(path, limit=count)))
            resource = await self._model_for(row, rows[0][1], rows[0][0]) if rows else None
            options = await asyncio.to_thread(options_for, root, row.info)
            done: list[RowResult] = []

            def note(result: "RowResult") -> None:
                done.append(result)
                if not worker.is_cancelled:
                    self.post_message(self.SweepMoved(SweepState(len(done), len(rows), tuple(done))))

            report = await sweep(
                root,
                row.info.classpath,
                row_inputs(row.info.kind, rows, resource=resource),
                options=replace(options, concurrency=4),
                on_output=self._pass_output,
                on_row=note,
            )
        except ArlError as error:
            self.post_message(self.RunFailed(error))
        else:
            self.post_message(self.Swept(report))

    @on(SweepMoved)
    def _sweep_moved(self, event: SweepMoved) -> None:
        if self.is_trying:
            self.show_result(sweep_progress(event.state))

    @on(Swept)
    def _swept(self, event: Swept) -> None:
        self.show_result(sweep_lines(event.report))
        self.refresh_hints()

    # What came before

    def action_history(self) -> None:
        """An earlier run; its answer is shown against the newest one's."""
        row = self.row
        mine = [run for run in self.history if row is not None and run.classpath == row.key]
        if not mine:
            self.arl.refuse(_("This function has not been run yet"))
            return
        items = [
            Choice(
                run,
                datetime.fromtimestamp(run.at_s, self.arl.zone).strftime("%H:%M:%S"),
                f"{run.label}  {status_word(run.report.status.value)}",
                "" if run.report.score is None else f"{run.report.score:.4g}",
            )
            for run in mine
        ]

        def chosen(choice: "Choice[Run] | None") -> None:
            if choice is None:
                return
            if choice.value is mine[0]:
                self.show_result(report_lines(choice.value.report))
                return
            before, after = (pretty(run.report.output) for run in (choice.value, mine[0]))
            title = _("Answer of {time} and of the last run").format(time=choice.label)
            self.app.push_screen(Difference(title, before, after))

        self.app.push_screen(
            Choose(_("Runs of {name}").format(name=mine[0].report.classpath.class_name), items), chosen
        )

    def action_copy(self) -> None:
        note = self.query_one("#try-result-text", Note)
        text = "\n".join("".join(part for part, _style in line) for line in note.lines)
        if self.report is not None and self.report.error is not None and self.report.error.full_traceback:
            text += f"\n\n{self.report.error.full_traceback}"
        self.arl.copy(text, _("result"))

    def show_tab(self, name: str) -> None:
        """A subclass switches its tabs."""

    def undo_layers(self) -> Iterator[Layer]:
        if self.is_trying:
            yield Layer(_("stop the run"), self.cancel_run)
        if not self.table.has_focus:
            yield Layer(_("back to the list"), self.table.focus)
