"""The files of the workspace as a tree that is read where it is opened, with what each file is."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.workspace import PLAIN, FileFacts, file_facts, is_listed
from agentic_rl_tui.app.screens.jobfile_text import EditingScreen
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.processors import ProcessorInfo
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.bars import Heading, spread
from agentic_rl_tui.widgets.cells import Cell, Span, clip_middle, width_of
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.lines import FileLines
from agentic_rl_tui.widgets.panels import Empty
from agentic_rl_tui.widgets.table import Table

OPEN_AT_FIRST = 200
"""Folders open by themselves while the tree stays shorter than this."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tree. path is absolute; depth counts folders above it."""

    path: Path
    depth: int
    is_folder: bool
    is_open: bool
    facts: FileFacts
    rows: int | None = None
    state: str = ""


def _file(entry: Entry, width: int) -> Cell:
    """The name at the left, what it is at the right: a file that is nothing special has the whole room for its name."""
    kind = _kind(entry)
    if entry.rows is None and width_of(_name(entry, 2 * width)) + width_of(kind) + 2 > width:
        # The glyph says what it is, too.
        kind = []
    return spread(_name(entry, width - width_of(kind) - 2 if width_of(kind) else width), kind, width)


def _name(entry: Entry, width: int) -> list[Span]:
    lead = "  " * entry.depth
    name = plain(entry.path.name, keep_newlines=False)
    if entry.is_folder:
        return [(f"{lead}{'▾' if entry.is_open else '▸'} ", "$faint"), (name, "$ink bold")]
    room = max(1, width - len(lead) - cell_len(entry.facts.glyph) - 1)
    return [(lead, ""), (f"{entry.facts.glyph} ", entry.facts.style), (clip_middle(name, room), "$ink")]


_STATES = {"ok": ("✓", "$succeeded"), "warning": ("!", "$warn"), "error": ("✗", "$failed")}


def _kind(entry: Entry) -> list[Span]:
    if entry.is_folder:
        return []
    if entry.rows is not None:
        return [(ngettext("{count} row", "{count} rows", entry.rows).format(count=f"{entry.rows:,}"), "$muted")]
    return [(entry.facts.word, entry.facts.style)] if entry.facts.word else []


def _state(entry: Entry, _width: int) -> Cell:
    return [_STATES.get(entry.state, (" ", ""))]


COLUMNS: tuple[Column[Entry], ...] = (
    Column("name", N_("FILE"), _file, 26, 75),
    Column("state", "", _state, 1),
)


class WorkspaceTree(EditingScreen):
    """Folders are read when they are opened, in a thread; the sources are searched for functions in the background."""

    @dataclass
    class Listed(Message):
        """is_by_itself: nobody asked for this folder, it was read to be opened if it is short."""

        folder: Path
        found: tuple[tuple[Path, bool, FileFacts], ...]
        is_by_itself: bool = False

    @dataclass
    class Discovered(Message):
        processors: tuple[ProcessorInfo, ...]

    @dataclass
    class Counted(Message):
        path: Path
        rows: int

    def __init__(self) -> None:
        super().__init__()
        self._listing: dict[Path, tuple[tuple[Path, bool, FileFacts], ...]] = {}
        self._open: set[Path] = set()
        self._by_path: dict[str, list[ProcessorInfo]] = {}
        self._rows: dict[Path, int] = {}
        self._move_to: Path | None = None
        self._is_tree_due = False

    @property
    def root(self) -> Path:
        return self.arl.settings.workspace

    @property
    def table(self) -> "Table[Entry]":
        return self.query_one("#workspace-tree", Table)

    def state_of(self, name: str) -> str:  # noqa: ARG002
        """What the checks say of a file, by its path in the workspace: a subclass knows."""
        return ""

    def start_over(self) -> None:
        """Show the folder of the settings, from its top."""
        self._listing, self._open, self._by_path, self._rows = {}, set(), {}, {}
        self.query_one("#workspace-heading", Heading).title = plain(self.root.name, keep_newlines=False)
        self._read_folder(self.root)
        self.discover()

    def look_again(self) -> None:
        for folder in [self.root, *self._open]:
            self._read_folder(folder)
        self.discover()

    # Reading

    def _read_folder(self, folder: Path, *, is_by_itself: bool = False) -> None:
        self.run_worker(
            lambda: self._list(folder, is_by_itself), thread=True, group="workspace.list", exit_on_error=False
        )

    def _list(self, folder: Path, is_by_itself: bool) -> None:
        found = []
        try:
            with os.scandir(folder) as entries:
                for item in entries:
                    path = Path(item.path)
                    if is_listed(path):
                        is_folder = item.is_dir(follow_symlinks=False)
                        # Looking into a pipe would wait for ever.
                        found.append((path, is_folder, file_facts(path) if _is_regular(item) else PLAIN))
        except OSError:
            # A folder that vanished or may not be read shows as empty.
            found = []
        found.sort(key=lambda item: (not item[1], item[0].name.lower()))
        self.post_message(self.Listed(folder, tuple(found), is_by_itself))

    @on(Listed)
    def _listed(self, event: Listed) -> None:
        is_new = event.folder not in self._listing
        shown = sum(len(self._listing[folder]) for folder in (self.root, *self._open) if folder in self._listing)
        if event.is_by_itself:
            if shown + len(event.found) >= OPEN_AT_FIRST:
                return
            self._open.add(event.folder)
        self._listing[event.folder] = event.found
        if is_new and shown + len(event.found) < OPEN_AT_FIRST:
            for path, is_folder, _facts in event.found:
                if is_folder and not path.name.startswith("."):
                    self._read_folder(path, is_by_itself=True)
        self.tree_changed()
        for path, is_folder, facts in event.found:
            if not is_folder and facts.kind == "data" and path not in self._rows:
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
        self.tree_changed()

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
        self.tree_changed()

    # Showing

    def tree_changed(self) -> None:
        """Show the tree anew once everything that has arrived by now is taken in."""
        if not self._is_tree_due:
            self._is_tree_due = True
            self.call_later(self._show_due)

    def _show_due(self) -> None:
        self._is_tree_due = False
        self.show_tree()

    def show_tree(self) -> None:
        self.table.items = tuple(self._entries(self.root, 0))
        if self._move_to is not None and self.table.move_to(str(self._move_to)):
            self._move_to = None
        heading = self.query_one("#workspace-heading", Heading)
        count = sum(len(items) for items in self._by_path.values())
        words = ngettext("{count} function", "{count} functions", count).format(count=count)
        heading.facts = ((words, "$muted"),) if count else ()
        empty = self.query_one("#preview-empty", Empty)
        is_empty = not self.table.items and self.root in self._listing
        empty.title = _("This folder is empty") if is_empty else _("No file is shown") if self.table.items else ""
        empty.body = _how_to_begin() if is_empty else _how_to_look() if self.table.items else ()

    def _entries(self, folder: Path, depth: int) -> Iterator[Entry]:
        start = len(str(self.root)) + 1
        for path, is_folder, facts in self._listing.get(folder, ()):
            is_open = is_folder and path in self._open
            name = str(path)[start:].replace(os.sep, "/")
            processors = self._by_path.get(name) if not is_folder else None
            shown = file_facts(path, tuple(processors)) if processors else facts
            yield Entry(path, depth, is_folder, is_open, shown, self._rows.get(path), self.state_of(name))
            if is_open:
                yield from self._entries(path, depth + 1)

    # Folding

    def _toggle(self, entry: Entry) -> None:
        if entry.path in self._open:
            self._open.discard(entry.path)
        else:
            self._open.add(entry.path)
            self._read_folder(entry.path)
        self.show_tree()

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


def _is_regular(item: "os.DirEntry[str]") -> bool:
    """Also at the end of a link; one that leads into itself is none. Asks the disk about links alone."""
    return item.is_file(follow_symlinks=False) or (item.is_symlink() and Path(item.path).is_file())


def _how_to_begin() -> tuple[tuple[Span, ...], ...]:
    return (
        (("N", "$accent bold"), (_("  writes a workspace to start from"), "$muted")),
        (("agentic-rl-tui init", "$ink bold"), (_("  does the same in a shell"), "$muted")),
    )


def _how_to_look() -> tuple[tuple[Span, ...], ...]:
    return (
        (("↓", "$accent bold"), (_("  goes to the files of the folder"), "$muted")),
        (("↵", "$accent bold"), (_("  opens the folder or closes it"), "$muted")),
    )
