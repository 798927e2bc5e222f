"""Place 1: the files of the workspace, what each of them is, and a look inside."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.steps import size
from agentic_rl_tui.app.present.workspace import PLAIN, FileFacts, file_facts, is_listed
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.core.models.processors import ProcessorInfo
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.cells import Cell
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.editor import LANGUAGES, Editor
from agentic_rl_tui.widgets.lines import FileLines
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty
from agentic_rl_tui.widgets.table import Table

LARGEST_HIGHLIGHTED = 512_000
OPEN_AT_FIRST = 200
"""Folders open by themselves while there are fewer entries than this."""
_PREVIEW_AFTER_S = 0.06


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tree. path is absolute; depth counts folders above it."""

    path: Path
    depth: int
    is_folder: bool
    is_open: bool
    facts: FileFacts
    rows: int | None = None


def _name(entry: Entry, _width: int) -> Cell:
    lead = "  " * entry.depth
    name = plain(entry.path.name, keep_newlines=False)
    if entry.is_folder:
        return [(f"{lead}{'▾' if entry.is_open else '▸'} ", "$faint"), (name, "$ink bold")]
    return [(lead, ""), (f"{entry.facts.glyph} ", entry.facts.style), (name, "$ink")]


def _kind(entry: Entry, _width: int) -> Cell:
    if entry.rows is not None:
        return [(f"{entry.rows:,} rows", "$muted")]
    return [(entry.facts.word, entry.facts.style)]


COLUMNS: tuple[Column[Entry], ...] = (
    Column("name", "FILE", _name, 18, 60),
    Column("kind", "", _kind, 13, align="right"),
)


class WorkspaceScreen(PlaceScreen):
    """Folders are read when they are opened, in a thread; the sources are searched for functions in the background."""

    place = "workspace"
    CSS_PATH = themes.STYLES / "workspace.tcss"
    BINDINGS = bindings("workspace")

    @dataclass
    class Listed(Message):
        folder: Path
        found: tuple[tuple[Path, bool, FileFacts], ...]

    @dataclass
    class Discovered(Message):
        processors: tuple[ProcessorInfo, ...]

    @dataclass
    class Counted(Message):
        path: Path
        rows: int

    @dataclass
    class Previewed(Message):
        path: Path
        text: str | None
        lines: FileLines | None
        note: str

    def __init__(self) -> None:
        super().__init__()
        self._listing: dict[Path, tuple[tuple[Path, bool, FileFacts], ...]] = {}
        self._open: set[Path] = set()
        self._by_path: dict[str, list[ProcessorInfo]] = {}
        self._rows: dict[Path, int] = {}
        self._shown: Path | None = None
        self._lines: FileLines | None = None

    @property
    def root(self) -> Path:
        return self.arl.settings.workspace

    def body(self) -> ComposeResult:
        with Horizontal(id="workspace-main"):
            with Vertical(id="workspace-left"):
                yield Heading(id="workspace-heading", classes="place-heading")
                table: Table[Entry] = Table(COLUMNS, lambda entry: str(entry.path), id="workspace-tree")
                yield table
            with Vertical(id="workspace-right"):
                yield Heading(id="preview-heading", classes="place-heading")
                with ContentSwitcher(id="preview", initial="preview-empty"):
                    yield Empty(id="preview-empty")
                    yield Editor(read_only=True, id="preview-text")
                    yield LogView(id="preview-lines")
                    yield Empty(id="preview-binary")

    @property
    def table(self) -> "Table[Entry]":
        return self.query_one("#workspace-tree", Table)

    def on_mount(self) -> None:
        self.query_one("#workspace-heading", Heading).title = plain(self.root.name, keep_newlines=False)
        self.query_one("#preview-lines", LogView).has_numbers = True
        self.table.focus()
        self._read(self.root)
        self.discover()

    def action_refresh(self) -> None:
        for folder in [self.root, *self._open]:
            self._read(folder)
        self.discover()

    # Reading

    def _read(self, folder: Path) -> None:
        self.run_worker(lambda: self._list(folder), thread=True, group="workspace.list", exit_on_error=False)

    def _list(self, folder: Path) -> None:
        found = []
        try:
            with os.scandir(folder) as entries:
                for item in entries:
                    path = Path(item.path)
                    if is_listed(path):
                        is_folder = item.is_dir(follow_symlinks=False)
                        found.append((path, is_folder, PLAIN if is_folder else file_facts(path)))
        except OSError:
            # A folder that vanished or may not be read shows as empty.
            found = []
        found.sort(key=lambda item: (not item[1], item[0].name.lower()))
        self.post_message(self.Listed(folder, tuple(found)))

    @on(Listed)
    def _listed(self, event: Listed) -> None:
        is_new = event.folder not in self._listing
        self._listing[event.folder] = event.found
        if is_new and sum(map(len, self._listing.values())) < OPEN_AT_FIRST:
            for path, is_folder, _ in event.found:
                if is_folder and not path.name.startswith("."):
                    self._open.add(path)
                    self._read(path)
        self._show()
        for path, is_folder, facts in event.found:
            if not is_folder and facts.word == "data" and path not in self._rows:
                self._count(path)

    def _count(self, path: Path) -> None:
        def count() -> None:
            try:
                lines = FileLines(path)
            except OSError:
                return
            lines.index()
            self.post_message(self.Counted(path, len(lines)))
            lines.close()

        self.run_worker(count, thread=True, group="workspace.count", exit_on_error=False)

    @on(Counted)
    def _counted(self, event: Counted) -> None:
        self._rows[event.path] = event.rows
        self._show()

    @work(thread=True, exclusive=True, group="workspace.discover", exit_on_error=False)
    def discover(self) -> None:
        from agentic_rl_tui.core.functions.discovery import discover

        self.post_message(self.Discovered(tuple(discover(self.root).processors)))

    @on(Discovered)
    def _discovered(self, event: Discovered) -> None:
        self._by_path = {}
        for item in event.processors:
            if not item.is_abstract:
                self._by_path.setdefault(item.path, []).append(item)
        self._show()

    # Showing

    def _show(self) -> None:
        self.table.items = tuple(self._entries(self.root, 0))
        heading = self.query_one("#workspace-heading", Heading)
        count = sum(len(items) for items in self._by_path.values())
        heading.facts = ((f"{count} function{'' if count == 1 else 's'}", "$muted"),) if count else ()
        if not self.table.items and self.root in self._listing:
            empty = self.query_one("#preview-empty", Empty)
            empty.title = "This folder is empty"
            empty.body = ((("agentic-rl-tui init", "$ink bold"), ("  writes a workspace to start from", "$muted")),)

    def _entries(self, folder: Path, depth: int) -> Iterator[Entry]:
        for path, is_folder, facts in self._listing.get(folder, ()):
            is_open = is_folder and path in self._open
            processors = self._by_path.get(path.relative_to(self.root).as_posix()) if path.suffix == ".py" else None
            shown = file_facts(path, tuple(processors)) if processors else facts
            yield Entry(path, depth, is_folder, is_open, shown, self._rows.get(path))
            if is_open:
                yield from self._entries(path, depth + 1)

    @on(Table.Highlighted, "#workspace-tree")
    def _moved(self) -> None:
        self.set_timer(_PREVIEW_AFTER_S, self._preview_current)

    def _preview_current(self) -> None:
        entry = self.table.current
        if entry is not None and not entry.is_folder and entry.path != self._shown:
            self._shown = entry.path
            self._preview(entry.path)

    @work(thread=True, exclusive=True, group="workspace.preview", exit_on_error=False)
    def _preview(self, path: Path) -> None:
        try:
            length = path.stat().st_size
            is_text = path.suffix.lower() in LANGUAGES and length <= LARGEST_HIGHLIGHTED
            if is_text:
                text = path.read_bytes().decode("utf-8", "replace")
                self.post_message(self.Previewed(path, plain(text), None, size(length)))
                return
            lines = FileLines(path)
        except OSError as error:
            self.post_message(self.Previewed(path, None, None, error.strerror or "cannot be read"))
            return
        if _is_binary(path):
            lines.close()
            self.post_message(self.Previewed(path, None, None, f"{size(length)}, not text"))
            return
        lines.index()
        self.post_message(self.Previewed(path, None, lines, size(length)))

    @on(Previewed)
    def _previewed(self, event: Previewed) -> None:
        if event.path != self._shown:
            if event.lines is not None:
                event.lines.close()
            return
        heading = self.query_one("#preview-heading", Heading)
        heading.title = plain(event.path.relative_to(self.root).as_posix(), keep_newlines=False)
        heading.facts = ((event.note, "$muted"),)
        switcher = self.query_one("#preview", ContentSwitcher)
        old, self._lines = self._lines, event.lines
        if event.text is not None:
            self.query_one("#preview-text", Editor).load(event.text, event.path.suffix)
            switcher.current = "preview-text"
        elif event.lines is not None:
            self.query_one("#preview-lines", LogView).source = event.lines
            switcher.current = "preview-lines"
        else:
            self.query_one("#preview-binary", Empty).title = event.note
            switcher.current = "preview-binary"
        if old is not None:
            old.close()

    # Verbs

    @on(Table.Opened, "#workspace-tree")
    def _opened(self) -> None:
        entry = self.table.current
        if entry is None:
            return
        if entry.is_folder:
            self._toggle(entry)
        elif entry.facts.word == "job file":
            self.arl.open_job_file(entry.path)
        else:
            self._focus_preview()

    def _toggle(self, entry: Entry) -> None:
        if entry.path in self._open:
            self._open.discard(entry.path)
        else:
            self._open.add(entry.path)
            self._read(entry.path)
        self._show()

    def action_unfold(self) -> None:
        entry = self.table.current
        if entry is not None and entry.is_folder and not entry.is_open:
            self._toggle(entry)

    def action_fold(self) -> None:
        """Close the folder under the cursor, or go to the one around it."""
        entry = self.table.current
        if entry is None:
            return
        if entry.is_open:
            self._toggle(entry)
        else:
            self.table.move_to(str(entry.path.parent))

    def _focus_preview(self) -> None:
        switcher = self.query_one("#preview", ContentSwitcher)
        if switcher.current in ("preview-text", "preview-lines"):
            switcher.query_one(f"#{switcher.current}").focus()

    def undo_layers(self) -> Iterator[Layer]:
        if not self.table.has_focus:
            yield Layer("back to the files", self.table.focus)

    def on_unmount(self) -> None:
        if self._lines is not None:
            self._lines.close()


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" in file.read(8192)
