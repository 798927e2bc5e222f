"""Place 3: the job file, its problems while typing, and the way to submit it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.jobfile import DIAGNOSTIC_COLUMNS, diagnostic_key, meaning, verdict
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.panels import Empty, Facts
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Diagnostic, JobDocument
    from agentic_rl_tui.core.models.jobs import Job

CHECK_AFTER_S = 0.15


def find_job_file(workspace: Path) -> Path | None:
    """The job file of a workspace: a YAML file at its top, one called after jobs first."""
    try:
        found = sorted(path for path in workspace.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())
    except OSError:
        return None
    ranked = sorted(found, key=lambda path: ("rl-job" not in path.name, "job" not in path.name, path.name))
    return ranked[0] if ranked else None


class JobFileScreen(PlaceScreen):
    """The text on the screen is checked after each pause in typing, in a thread; the file is written on save only."""

    place = "jobfile"
    CSS_PATH = themes.STYLES / "jobfile.tcss"
    BINDINGS = bindings("jobfile")

    @dataclass
    class Checked(Message):
        document: "JobDocument"
        turn: int

    def __init__(self) -> None:
        super().__init__()
        self.path: Path | None = None
        self.document: JobDocument | None = None
        self._on_disk = ""
        self._turn = 0
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        yield Heading(id="jobfile-heading", classes="place-heading")
        with Horizontal(id="jobfile-main"):
            yield Editor(id="jobfile-editor")
            with Vertical(id="jobfile-side"):
                yield Facts(id="jobfile-meaning")
        table: Table[Diagnostic] = Table(DIAGNOSTIC_COLUMNS, diagnostic_key, id="jobfile-problems")
        yield table
        yield Empty(id="jobfile-empty")

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)

    @property
    def table(self) -> "Table[Diagnostic]":
        return self.query_one("#jobfile-problems", Table)

    def on_mount(self) -> None:
        self.query_one(Heading).title = "Job file"
        self.open(self.arl.job_file or find_job_file(self.arl.settings.workspace))
        if self.arl.submit_ready:
            self.arl.submit_ready = False
            self.call_after_refresh(self.action_submit)

    def open(self, path: Path | None) -> None:
        self.path = path
        empty = self.query_one(Empty)
        empty.display = path is None
        self.query_one("#jobfile-main").display = path is not None
        self.table.display = False
        if path is None:
            empty.title = "No job file in this folder"
            empty.body = (
                (("agentic-rl-tui init", "$ink bold"), ("  writes a workspace with one", "$muted")),
                (("1", "$accent bold"), ("  to the files of this workspace", "$muted")),
            )
            return
        self.arl.job_file = path
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            self.arl.fail(ConfigError(f"{path} cannot be read: {error.strerror}"), "open the job file")
            text = ""
        self._on_disk = text
        self.editor.load(text, path.suffix)
        self.editor.focus()
        self._show_heading()
        self.check()

    @property
    def is_changed(self) -> bool:
        return self.path is not None and self.editor.text != self._on_disk

    # Checking

    @on(TextArea.Changed)
    def _edited(self) -> None:
        self._show_heading()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(CHECK_AFTER_S, self.check)

    def check(self) -> None:
        if self.path is not None:
            self._turn += 1
            self._check(self.editor.text, self.path, self._turn)

    @work(thread=True, exclusive=True, group="jobfile.check", exit_on_error=False)
    def _check(self, text: str, path: Path, turn: int) -> None:
        from agentic_rl_tui.core.jobfile import DiskFacts, check

        document = check(text, path=path, facts=DiskFacts(path.parent))
        self.post_message(self.Checked(document, turn))

    @on(Checked)
    def _checked(self, event: Checked) -> None:
        if event.turn != self._turn:
            return
        self.document = event.document
        self.table.items = event.document.diagnostics
        self.table.display = bool(event.document.diagnostics)
        self.query_one("#jobfile-meaning", Facts).sections = meaning(event.document)
        self._show_heading()

    def _show_heading(self) -> None:
        heading = self.query_one(Heading)
        if self.path is None:
            heading.facts, heading.chips, heading.note = (), (), ()
            return
        heading.facts = ((self.path.name, "$muted"),)
        heading.chips = (Chip("● not saved", "$warn on $raised"),) if self.is_changed else ()
        heading.note = verdict(self.document) if self.document is not None else (("checking …", "$muted"),)
        self.refresh_hints()

    @on(Table.Opened)
    def _go_to_problem(self) -> None:
        item = self.table.current
        if item is not None:
            self.editor.move_cursor((item.line - 1, item.col - 1), center=True)
            self.editor.focus()

    # Saving and submitting

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("jobfile.save", "jobfile.submit") and self.path is None:
            return "There is no job file open"
        return None

    def action_save(self) -> None:
        if self.may("jobfile.save"):
            self.save()

    def save(self) -> bool:
        """Write the text as it stands, byte for byte; False when the disk refused."""
        if self.path is None:
            return False
        text = self.editor.text
        try:
            self.path.write_bytes(text.encode())
        except OSError as error:
            self.arl.fail(ConfigError(f"{self.path} cannot be written: {error.strerror}"), "save the job file")
            return False
        self._on_disk = text
        self._show_heading()
        return True

    def action_submit(self) -> None:
        if self.may("jobfile.submit") and (not self.is_changed or self.save()):
            self.submit_file()

    @work(exclusive=True, group="jobfile.submit", exit_on_error=False)
    async def submit_file(self) -> None:
        import asyncio

        from agentic_rl_tui.core.jobfile import DiskFacts, load

        path = self.path
        if path is None:
            return
        try:
            document = await asyncio.to_thread(lambda: load(path, facts=DiskFacts(path.parent)))
        except ArlError as error:
            self.arl.fail(error, f"submit {path.name}")
            return
        from agentic_rl_tui.app.screens.submit import Submit

        self.app.push_screen(Submit(path, document), self._submitted)

    def _submitted(self, job: "Job | None") -> None:
        if job is not None:
            self.arl.open_job(job.job_id, job=job)

    def undo_layers(self) -> Iterator[Layer]:
        if self.table.has_focus:
            yield Layer("back to the text", self.editor.focus)

    def action_refresh(self) -> None:
        """Take the text from the disk; asks first where changes would be lost."""
        if not self.is_changed:
            self.open(self.path)
            return
        lines = ((("What you typed since the last save is lost.", "$muted"),),)
        self.app.push_screen(
            Confirm("Read the job file again?", lines, yes="Read again", no="Keep"),
            lambda is_sure: self.open(self.path) if is_sure else None,
        )
