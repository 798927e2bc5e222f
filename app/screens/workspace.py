"""Place 1: the files of the workspace, what each of them is, whether it is sound, and a look inside."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.external import edit_outside
from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.columns import titled
from agentic_rl_tui.app.present.times import coarse_duration
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.finding import SearchedEditor
from agentic_rl_tui.app.screens.workspace_checks import FINDING_COLUMNS, FindingRow, WorkspaceChecks
from agentic_rl_tui.app.screens.workspace_preview import RowPane
from agentic_rl_tui.app.screens.workspace_tree import COLUMNS, Entry
from agentic_rl_tui.app.workspace_switch import open_workspace
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError, InputError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.workspaces import Recent
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Note
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table


class WorkspaceScreen(WorkspaceChecks):
    """The verbs on files; tree, preview and checks are the layers below."""

    place = "workspace"
    CSS_PATH = themes.STYLES / "workspace.tcss"
    BINDINGS = bindings("workspace")

    @dataclass
    class Written(Message):
        folder: Path
        error: ArlError | None

    def body(self) -> ComposeResult:
        with Horizontal(id="workspace-main"):
            with Vertical(id="workspace-left"):
                yield Heading(id="workspace-heading", classes="place-heading")
                table: Table[Entry] = Table(titled(COLUMNS), lambda entry: str(entry.path), id="workspace-tree")
                yield table
            with Vertical(id="workspace-right"):
                yield Heading(id="preview-heading", classes="place-heading")
                with ContentSwitcher(id="preview", initial="preview-empty"):
                    yield Empty(id="preview-empty")
                    yield Editor(read_only=True, id="preview-text")
                    yield LogView(id="preview-lines")
                    with RowPane(id="preview-rows"):
                        yield Note(id="preview-row-text")
                    yield Empty(id="preview-binary")
                    yield SearchedEditor(id="preview-edit")
                yield Heading(id="checks-heading")
                findings: Table[FindingRow] = Table(
                    titled(FINDING_COLUMNS), lambda row: row.key, id="workspace-findings"
                )
                yield findings
                yield Note(id="workspace-finding")

    def on_mount(self) -> None:
        self.query_one("#preview-lines", LogView).has_numbers = True
        self.findings.display = False
        self.query_one("#workspace-finding").display = False
        self.watch(self.findings, "has_focus", self.show_finding, init=False)
        self.table.focus()
        self.start_over()
        self.check_all()
        self._remember()

    def action_refresh(self) -> None:
        self.look_again()
        self.check_all()
        self.forget_preview()

    @property
    def is_editing(self) -> bool:
        return self.switcher.current == "preview-edit"

    def why_not(self, action_id: str) -> str | None:
        entry = self.table.current
        if action_id in ("workspace.edit", "workspace.external") and (entry is None or entry.is_folder):
            return _("Choose a file first")
        if action_id in ("workspace.rename", "workspace.delete") and entry is None:
            return _("There is nothing chosen")
        if action_id == "workspace.save" and not self.is_editing:
            return _("No file is being edited")
        if action_id == "workspace.row" and self.rows is None:
            return _("This is no data set")
        if action_id == "workspace.rollouts" and not self._may_be_dump(entry):
            return _("This is no file of rollouts")
        if action_id == "workspace.fix" and not self.findings.items:
            return _("There is nothing to fix")
        return None

    def _may_be_dump(self, entry: Entry | None) -> bool:
        from agentic_rl_tui.core.sdk.dumpfiles import is_stepwise

        if entry is not None and entry.is_folder:
            return is_stepwise(entry.path)
        return self.rows is not None and self.is_dump

    @on(Table.Opened, "#workspace-tree")
    def _opened(self) -> None:
        entry = self.table.current
        if entry is None:
            return
        if entry.is_folder:
            self._toggle(entry)
        elif entry.facts.kind == "job":
            self.arl.open_job_file(entry.path)
        else:
            self.focus_preview()

    # Editing

    def action_edit(self) -> None:
        entry = self.table.current
        if entry is not None and self.may("workspace.edit") and self.read(entry.path):
            self._shown = entry.path
            self._close_sources()
            self.switcher.current = "preview-edit"
            self.editor.focus()
            self.text_loaded()

    def text_loaded(self) -> None:
        if self.path is None or not self.is_editing:
            return
        heading = self.query_one("#preview-heading", Heading)
        name = self.path.relative_to(self.root).as_posix() if self.path.is_relative_to(self.root) else str(self.path)
        heading.title = plain(name, keep_newlines=False)
        heading.facts = ((_("editing"), "$accent"),)
        unsaved = (Chip(_("● not saved"), "$warn on $raised"),) if self.is_changed else ()
        heading.chips = (*unsaved, *self.search_chip())
        heading.note = ()

    def found_changed(self) -> None:
        self.text_loaded()

    @on(CodeEditor.Changed, "#preview-edit")
    def _edited(self) -> None:
        self.text_loaded()

    def action_save(self) -> None:
        if self.may("workspace.save") and self.save():
            self.arl.say(_("Saved {name}").format(name=self.path.name if self.path else ""))
            self._after_change()

    def stop_editing(self) -> None:
        """Back to looking; what was not saved is asked about first."""
        if not self.is_changed:
            self._leave_editor()
            return
        items = [
            Choice("save", _("Save"), self.path.name if self.path else ""),
            Choice("stay", _("Go on editing"), ""),
            Choice("drop", _("Throw the changes away"), ""),
        ]

        def answered(choice: "Choice[str] | None") -> None:
            if choice is None or choice.value == "stay":
                return
            if choice.value == "save":
                if self.save():
                    self._leave_editor()
                return
            if self.path is not None:
                self.drafts.drop(self.path)
            self._leave_editor()

        self.app.push_screen(Choose(_("The file has changes that are not saved"), items), answered)

    def _leave_editor(self) -> None:
        self.file, self.path = None, None
        self.end_search()
        self.query_one("#preview-heading", Heading).chips = ()
        self.switcher.current = "preview-empty"
        self.table.focus()
        self._after_change()

    def action_external(self) -> None:
        entry = self.table.current
        if entry is None or not self.may("workspace.external"):
            return
        if self.is_editing and self.is_changed and not self.save():
            return
        if edit_outside(self.arl, entry.path):
            if self.is_editing:
                self.look_at_disk()
            self._after_change()

    def _after_change(self) -> None:
        self.look_again()
        self.check_all()
        if not self.is_editing:
            self.forget_preview()

    def undo_layers(self) -> Iterator[Layer]:
        if self.is_editing and self.editor.has_focus:
            yield from self.search_layers()
            yield Layer(_("stop editing"), self.stop_editing)
        yield from super().undo_layers()

    # Files

    def _folder_here(self) -> Path:
        entry = self.table.current
        if entry is None:
            return self.root
        return entry.path if entry.is_folder and entry.is_open else entry.path.parent

    async def action_new(self) -> None:
        if self.may("workspace.new"):
            folder = self._folder_here()
            start = f"{folder.relative_to(self.root).as_posix()}/" if folder != self.root else ""
            await self.prompt.ask("file.new", _("new file"), text=start, hint=_("a name that ends in / makes a folder"))

    async def action_rename(self) -> None:
        entry = self.table.current
        if entry is not None and self.may("workspace.rename"):
            text = entry.path.relative_to(self.root).as_posix()
            await self.prompt.ask("file.rename", _("rename to"), text=text)

    @on(Prompt.Given)
    def _given_file(self, event: Prompt.Given) -> None:
        name = event.text.strip()
        if not name or not event.purpose.startswith(("file.", "template.")):
            return
        if event.purpose == "template.place":
            self._write_template(Path(name).expanduser())
            return
        try:
            target = self._inside(name)
            if event.purpose == "file.new":
                self._make(target, is_folder=name.endswith("/"))
            else:
                self._rename(target)
        except OSError as error:
            reason = InputError(f"{name}: {error.strerror or error}")
            self.arl.fail(reason, _("write in the workspace"))
        except ArlError as error:
            self.arl.fail(error, _("write in the workspace"))
        else:
            self._move_to = target
            self._open.update(p for p in target.parents if p.is_relative_to(self.root) and p != self.root)
            self._after_change()

    def _inside(self, name: str) -> Path:
        target = Path(os.path.normpath(self.root / name))
        if not target.is_relative_to(self.root) or target == self.root:
            raise InputError(_("{name} lies outside the workspace").format(name=name))
        return target

    @staticmethod
    def _make(target: Path, *, is_folder: bool) -> None:
        if is_folder:
            target.mkdir(parents=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.open("x").close()

    def _rename(self, target: Path) -> None:
        entry = self.table.current
        if entry is None or target == entry.path:
            return
        if target.exists():
            raise InputError(_("{name} exists already").format(name=target.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        entry.path.rename(target)

    def action_delete(self) -> None:
        entry = self.table.current
        if entry is None or not self.may("workspace.delete"):
            return
        path = entry.path
        name = plain(path.relative_to(self.root).as_posix(), keep_newlines=False)
        lines = [((_("This cannot be undone."), "$muted"),)]
        if entry.is_folder and not path.is_symlink():
            count = sum(len(files) for _folder, _folders, files in os.walk(path))
            words = ngettext("{count} file lies in it.", "{count} files lie in it.", count)
            lines.insert(0, ((words.format(count=f"{count:,}"), "$ink"),))

        def answered(is_sure: bool | None) -> None:
            if not is_sure:
                return
            try:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            except OSError as error:
                self.arl.fail(InputError(f"{name}: {error.strerror or error}"), _("delete {name}").format(name=name))
            self._after_change()

        question = _("Delete {name}?").format(name=name)
        self.app.push_screen(Confirm(question, tuple(lines), yes=_("Delete"), no=_("Keep")), answered)

    # Workspaces

    def action_template(self) -> None:
        from agentic_rl_tui.core.templates import TEMPLATES

        if not self.may("workspace.template"):
            return
        items = [Choice(name, name, _(template.title)) for name, template in TEMPLATES.items()]

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is not None:
                self._template = choice.value
                self.call_later(self._ask_place)

        self.app.push_screen(Choose(_("A workspace to start from"), items), chosen)

    async def _ask_place(self) -> None:
        is_empty = not any(self.root.iterdir())
        place = self.root if is_empty else self.root.parent / self._template
        await self.prompt.ask("template.place", _("write it to"), text=str(place))

    @work(thread=True, exclusive=True, group="workspace.template", exit_on_error=False)
    def _write_template(self, folder: Path) -> None:
        from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

        error: ArlError | None = None
        try:
            write_workspace(TEMPLATES[self._template], folder)
        except ArlError as found:
            error = found
        self.post_message(self.Written(folder, error))

    @on(Written)
    def _written(self, event: Written) -> None:
        if event.error is not None:
            self.arl.fail(event.error, _("write the workspace"))
        else:
            self.go_to_workspace(event.folder)

    def action_open(self) -> None:
        now = self.arl.clock()
        items: list[Choice[Path | None]] = [
            Choice(visit.path, str(visit.path), "", coarse_duration(max(0.0, now - visit.at_s)))
            for visit in Recent().visits()
            if visit.path != self.root.absolute()
        ]
        items.append(Choice(None, _("the folder that is typed"), is_free=True))
        dialog: Choose[Path | None] = Choose(
            _("Open a workspace"), items, hint=_("a recent one, or the path of a folder")
        )

        def chosen(choice: "Choice[Path | None] | None") -> None:
            if choice is None:
                return
            path = choice.value or Path(dialog.typed.strip() or ".").expanduser()
            if path.is_dir():
                self.go_to_workspace(path)
            else:
                self.arl.refuse(_("{path} is no folder").format(path=path))

        self.app.push_screen(dialog, chosen)

    @work(exclusive=True, group="workspace.go", exit_on_error=False)
    async def go_to_workspace(self, folder: Path) -> None:
        try:
            await open_workspace(self.arl, folder)
        except ArlError as error:
            self.arl.fail(error, _("open {name}").format(name=folder.name))
            return
        self._shown = None
        self._close_sources()
        self.checks = {}
        self.switcher.current = "preview-empty"
        self.start_over()
        self.check_all()
        self.show_checks()
        self._remember()
        self.table.focus()

    def _remember(self) -> None:
        root = self.root

        def write() -> None:
            try:
                Recent().add(root)
            except OSError as error:
                self.log.warning(f"the list of recent workspaces cannot be written: {error}")

        self.run_worker(write, thread=True, group="workspace.remember", exit_on_error=False)
