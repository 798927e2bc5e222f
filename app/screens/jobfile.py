"""Place 3: the job file, what it means, its problems while typing, and the way to submit it."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll

from agentic_rl_tui.app.external import edit_outside
from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.columns import titled
from agentic_rl_tui.app.present.jobfile import DIAGNOSTIC_COLUMNS, diagnostic_key, meaning_sections, verdict
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.finding import SearchedEditor
from agentic_rl_tui.app.screens.jobfile_change import JobFileChange
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.workspaces import job_files
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Empty, Facts
from agentic_rl_tui.widgets.popup import Popup
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Diagnostic, JobDocument, Meaning
    from agentic_rl_tui.core.models.jobs import Job


def find_job_file(workspace: Path) -> Path | None:
    """The job file of a workspace: a YAML file at its top, one called after jobs first."""
    return next(iter(job_files(workspace)), None)


class JobFileScreen(JobFileChange):
    """The text on the screen is checked after each pause in typing, in a thread; the file is written on save only."""

    place = "jobfile"
    CSS_PATH = themes.STYLES / "jobfile.tcss"
    BINDINGS = bindings("jobfile")

    _start_line = 0
    _verdict: tuple[Span, ...] = ()

    def body(self) -> ComposeResult:
        yield Heading(id="jobfile-heading", classes="place-heading")
        with Horizontal(id="jobfile-main"):
            yield SearchedEditor(id="jobfile-editor")
            with Vertical(id="jobfile-side"):
                with VerticalScroll(id="jobfile-meaning-scroll"):
                    yield Facts(id="jobfile-meaning")
                yield Facts(id="jobfile-doc", classes="-empty")
        yield Heading(id="jobfile-docline")
        table: Table[Diagnostic] = Table(titled(DIAGNOSTIC_COLUMNS), diagnostic_key, id="jobfile-problems")
        yield table
        yield Empty(id="jobfile-empty")
        yield Popup(id="jobfile-popup")

    def on_mount(self) -> None:
        self.query_one("#jobfile-heading", Heading).title = _("Job file")
        self.query_one("#jobfile-meaning-scroll").can_focus = False
        self.open(self.arl.job_file or find_job_file(self.arl.settings.workspace), self._start_line)
        if self.arl.submit_ready:
            self.arl.submit_ready = False
            self.call_after_refresh(self.action_submit)

    def start_at(self, path: Path, line: int) -> None:
        """Show a line of a file, at once or as soon as the place has been made."""
        if self.query("#jobfile-empty"):
            self.open(path, line)
        else:
            self._start_line = line

    def open(self, path: Path | None, line: int = 0) -> None:
        """Show a job file, or that there is none."""
        is_same = path is not None and path == self.path and self.file is not None
        empty = self.query_one("#jobfile-empty", Empty)
        empty.display = path is None
        self.query_one("#jobfile-main").display = path is not None
        self.query_one("#jobfile-docline").set_class(path is None, "-empty")
        # An editor that is not seen must not take the keys.
        self.editor.disabled = path is None
        if path is None:
            self.keep_draft_now()
            self.path, self.file = None, None
            self.table.display = False
            self.show_heading()
            empty.title = _("No job file in this folder")
            empty.body = (
                (("agentic-rl-tui init", "$ink bold"), (_("  writes a workspace with one"), "$muted")),
                (("1", "$accent bold"), (_("  shows the files of this workspace"), "$muted")),
            )
            self.call_after_refresh(self.set_focus, None)
            return
        self.arl.job_file = path
        if not is_same:
            self.table.display = False
            self.document = None
            self.read(path)
            self.check()
        if line:
            self.editor.move_cursor((line - 1, 0), center=True)
        self.editor.focus()

    def text_loaded(self) -> None:
        self._was_changed = None
        self.show_heading()

    def found_changed(self) -> None:
        self.show_heading()

    def show_meaning(self, document: "JobDocument", means: "Meaning | None") -> None:
        self.query_one("#jobfile-meaning", Facts).sections = meaning_sections(means)
        self._verdict = verdict(document)

    def show_heading(self) -> None:
        heading = self.query_one("#jobfile-heading", Heading)
        if self.path is None:
            heading.facts, heading.chips, heading.note = (), (), ()
            return
        heading.facts = ((plain(self.path.name, keep_newlines=False), "$muted"),)
        chips = [Chip(_("● not saved"), "$warn on $raised")] if self.is_changed else []
        if self.file is not None and not self.file.is_exact:
            chips.append(Chip(_("! odd bytes are kept"), "$warn on $raised"))
        heading.chips = (*chips, *self.search_chip())
        heading.note = self._verdict if self.document is not None else ((_("checking …"), "$muted"),)
        self.refresh_hints()

    # Verbs

    def why_not(self, action_id: str) -> str | None:
        if action_id.startswith("jobfile.") and action_id != "jobfile.choose" and self.path is None:
            return _("There is no job file open")
        if action_id == "jobfile.fix_all" and self.document is not None and not self._has_fix():
            return _("There is nothing to fix")
        return None

    def _has_fix(self) -> bool:
        return self.document is not None and any(item.fix for item in self.document.diagnostics)

    def action_save(self) -> None:
        if self.may("jobfile.save") and self.save():
            self.arl.say(_("Saved {name}").format(name=self.path.name if self.path else ""))

    def action_choose(self) -> None:
        """Another job file of the workspace."""
        found = job_files(self.arl.settings.workspace)
        if not found:
            self.arl.refuse(_("There is no job file in this folder"))
            return
        items = [Choice(path, path.name, "", _("is open") if path == self.path else "") for path in found]

        def chosen(choice: "Choice[Path] | None") -> None:
            if choice is not None:
                self.open(choice.value)

        self.app.push_screen(Choose(_("Job files of this workspace"), items), chosen)

    def action_external(self) -> None:
        path = self.path
        if path is None or not self.may("jobfile.external"):
            return
        if self.is_changed and not self.save():
            return
        row, _column = self.editor.cursor_location
        if edit_outside(self.arl, path, row + 1):
            self.look_at_disk()

    def action_submit(self) -> None:
        if self.may("jobfile.submit") and (not self.is_changed or self.save()):
            self.submit_file()

    @work(exclusive=True, group="jobfile.submit", exit_on_error=False)
    async def submit_file(self) -> None:
        import asyncio

        from agentic_rl_tui.core.jobfile import load

        path = self.path
        if path is None:
            return
        try:
            document = await asyncio.to_thread(lambda: load(path, facts=self._facts(path)))
        except ArlError as error:
            self.arl.fail(error, _("submit {name}").format(name=path.name))
            return
        from agentic_rl_tui.app.screens.submit import Submit

        self.app.push_screen(Submit(path, document), self._submitted)

    def _submitted(self, job: "Job | None") -> None:
        if job is not None:
            self.arl.open_job(job.job_id, job=job)
