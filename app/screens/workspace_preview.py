"""A look inside the file under the cursor: source with colours, any text by lines, data sets row by row."""

import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.present.rows import conversation_lines, raw_lines
from agentic_rl_tui.app.present.steps import size
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.jobfile_text import has_long_line
from agentic_rl_tui.app.screens.workspace_tree import WorkspaceTree
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.editor import LANGUAGES, Editor
from agentic_rl_tui.widgets.lines import FileLines
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Note
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.datasets import RowIndex

LARGEST_HIGHLIGHTED = 512_000
_PREVIEW_AFTER_S = 0.06
_PROGRESS_BYTES = 16 << 20


class RowPane(VerticalScroll):
    """One row of a data set. Out: `Step` (another row is wished), `Again` (the next or previous match)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "step(1)", N_("Next row"), show=False),
        Binding("left,h", "step(-1)", N_("Previous row"), show=False),
        Binding("n", "again(1)", N_("Next match"), show=False),
        Binding("N", "again(-1)", N_("Previous match"), show=False),
        Binding("j", "scroll_down", N_("Down"), show=False),
        Binding("k", "scroll_up", N_("Up"), show=False),
        Binding("g", "scroll_home", N_("Top"), show=False),
        Binding("G", "scroll_end", N_("Bottom"), show=False),
    ]

    @dataclass
    class Step(Message):
        rows: int

    @dataclass
    class Again(Message):
        direction: int

    def action_step(self, rows: int) -> None:
        self.post_message(self.Step(rows))

    def action_again(self, direction: int) -> None:
        self.post_message(self.Again(direction))


class WorkspacePreview(WorkspaceTree):
    """Everything is read in threads; the newest wish wins and the older one is told to stop."""

    @dataclass
    class Previewed(Message):
        path: Path
        note: str
        text: str | None = None
        lines: FileLines | None = None
        rows: "RowIndex | None" = None
        is_dump: bool = False

    @dataclass
    class Indexing(Message):
        path: Path
        share: float

    @dataclass
    class RowFound(Message):
        path: Path
        row: int | None

    def __init__(self) -> None:
        super().__init__()
        self._shown: Path | None = None
        self._text_lines: FileLines | None = None
        self.rows: RowIndex | None = None
        self.is_dump = False
        self.row_number = 0
        self._wanted = ""
        self._want_line = 0
        self._stop = threading.Event()

    @property
    def switcher(self) -> ContentSwitcher:
        return self.query_one("#preview", ContentSwitcher)

    @on(Table.Highlighted, "#workspace-tree")
    def _moved(self) -> None:
        self.set_timer(_PREVIEW_AFTER_S, self._preview_current)
        self.refresh_hints()

    def _preview_current(self) -> None:
        entry = self.table.current
        is_editing = self.switcher.current == "preview-edit"
        if entry is not None and not entry.is_folder and entry.path != self._shown and not is_editing:
            self.preview(entry.path)

    def preview(self, path: Path, line: int = 0) -> None:
        """Show a file; line counts from 1."""
        self._want_line = line
        if path == self._shown and line:
            self._go_to_line(line)
            return
        self._shown = path
        self._stop.set()
        self._stop = threading.Event()
        self._preview(path, self._stop)

    def forget_preview(self) -> None:
        """Read the file again when it is looked at next: it changed."""
        self._shown = None
        self._preview_current()

    @work(thread=True, exclusive=True, group="workspace.preview", exit_on_error=False)
    def _preview(self, path: Path, stop: threading.Event) -> None:
        from agentic_rl_tui.core.datasets import CheckCanceled, open_rows
        from agentic_rl_tui.core.sdk.dumps import is_dump

        def progress(done: int, total: int) -> None:
            if done % _PROGRESS_BYTES < 1 << 18 and total > _PROGRESS_BYTES:
                self.post_message(self.Indexing(path, done / total))

        try:
            facts = path.stat()
            length = facts.st_size
            if not stat.S_ISREG(facts.st_mode):
                # A pipe would be waited for without end, a device read without end.
                what = _("a folder") if path.is_dir() else _("no regular file")
                self.post_message(self.Previewed(path, what))
            elif (text := _highlighted(path, length)) is not None:
                self.post_message(self.Previewed(path, size(length), text=plain(text)))
            elif _is_binary(path):
                self.post_message(self.Previewed(path, _("{size}, not text").format(size=size(length))))
            elif path.suffix.lower() in (".jsonl", ".ndjson"):
                rows = open_rows(path, progress=progress, cancel=stop)
                self.post_message(self.Previewed(path, size(length), rows=rows, is_dump=is_dump(path)))
            else:
                lines = FileLines(path)
                lines.index(stop.is_set)
                self.post_message(self.Previewed(path, size(length), lines=lines))
        except CheckCanceled:
            return
        except OSError as error:
            self.post_message(self.Previewed(path, error.strerror or _("cannot be read")))
        except ArlError as error:
            self.post_message(self.Previewed(path, error.message))

    @on(Indexing)
    def _indexing(self, event: Indexing) -> None:
        if event.path == self._shown:
            self.query_one("#preview-heading", Heading).note = (
                (_("{share:.0%} indexed").format(share=event.share), "$running"),
            )

    @on(Previewed)
    def _previewed(self, event: Previewed) -> None:
        if event.path != self._shown or self.switcher.current == "preview-edit":
            # Another file is looked at by now, or this one is being edited.
            for unused in (event.lines, event.rows):
                if unused is not None:
                    unused.close()
            return
        heading = self.query_one("#preview-heading", Heading)
        inside = event.path.is_relative_to(self.root)
        name = event.path.relative_to(self.root).as_posix() if inside else str(event.path)
        heading.title = plain(name, keep_newlines=False)
        heading.facts = ((event.note, "$muted"),)
        heading.note = ()
        self._close_sources()
        self.is_dump = event.is_dump
        self._text_lines, self.rows = event.lines, event.rows
        if event.text is not None:
            self.query_one("#preview-text", Editor).load(event.text, event.path.suffix)
            self.switcher.current = "preview-text"
        elif event.rows is not None:
            self.switcher.current = "preview-rows"
            self.show_row(0)
        elif event.lines is not None:
            self.query_one("#preview-lines", LogView).source = event.lines
            self.switcher.current = "preview-lines"
        else:
            self.query_one("#preview-binary", Empty).title = event.note
            self.switcher.current = "preview-binary"
        if self._want_line:
            self._go_to_line(self._want_line)

    def _go_to_line(self, line: int) -> None:
        self._want_line = 0
        if self.switcher.current == "preview-text":
            editor = self.query_one("#preview-text", Editor)
            editor.move_cursor((line - 1, 0), center=True)
            self.call_after_refresh(editor.scroll_to, y=max(0, line - 6), animate=False)
        elif self.switcher.current == "preview-lines":
            self.query_one("#preview-lines", LogView).go_to(line - 1)
        elif self.rows is not None:
            row = self.rows.row_at_line(line)
            if row is not None:
                self.show_row(row)

    # Rows of a data set

    def action_rollouts(self) -> None:
        if not self.may("workspace.rollouts"):
            return
        entry = self.table.current
        path = entry.path if entry is not None and entry.is_folder else self._shown
        if path is not None:
            self.arl.open_dump(path)

    def show_row(self, number: int) -> None:
        from agentic_rl_tui.core.datasets import conversation

        rows = self.rows
        heading = self.query_one("#preview-heading", Heading)
        note = self.query_one("#preview-row-text", Note)
        if rows is None:
            return
        if not len(rows):
            heading.note = ((_("no rows"), "$muted"),)
            note.lines = ()
            return
        self.row_number = number = min(max(0, number), len(rows) - 1)
        words = _("row {row:,} of {count:,}").format(row=number, count=len(rows))
        line = _("line {line:,}").format(line=rows.line_number(number))
        facts: list[tuple[str, str]] = [(words, "$ink"), (f"  {line}", "$muted")]
        if self.is_dump:
            facts.insert(1, (f"  {_('t as trajectories')}", "$accent"))
        try:
            talk = conversation(rows[number])
        except ArlError as error:
            note.lines = (
                (("✗ ", "$failed"), (error.message, "$ink")),
                *raw_lines(rows.raw(number)[:20_000].decode("utf-8", "replace")),
            )
        else:
            note.lines = conversation_lines(talk)
            turns = ngettext("{count} turn", "{count} turns", len(talk.turns)).format(count=len(talk.turns))
            tokens = _("≈{count:,} tokens").format(count=talk.tokens)
            facts.append((f"  {turns}  {tokens}", "$muted"))
        heading.note = tuple(facts)
        self.query_one("#preview-rows", RowPane).scroll_home(animate=False)

    @on(RowPane.Step)
    def _step_row(self, event: RowPane.Step) -> None:
        self.show_row(self.row_number + event.rows)

    def action_next_row(self, step: int = 1) -> None:
        if self.may("workspace.row"):
            self.show_row(self.row_number + step)

    async def action_row(self) -> None:
        if self.may("workspace.row"):
            await self.prompt.ask("workspace.row", _("row"), text=str(self.row_number), hint=_("number from 0"))

    async def action_search(self) -> None:
        if self.may("workspace.search"):
            await self.prompt.ask("workspace.search", _("search"), text=self._wanted)

    @on(LogView.Asked)
    async def _asked(self, event: LogView.Asked) -> None:
        await self.prompt.ask(f"lines.{event.what}", _("search") if event.what == "search" else _("line"))

    @on(Prompt.Given)
    def _given_here(self, event: Prompt.Given) -> None:
        text = event.text.strip()
        if event.purpose == "workspace.row":
            if text.isdigit():
                self.show_row(int(text))
            else:
                self.arl.refuse(_("{text} is no number").format(text=text))
        elif event.purpose == "workspace.search" and text:
            self._wanted = text
            self.search_again(1, here=True)
        elif event.purpose == "lines.search":
            self.query_one("#preview-lines", LogView).search(event.text)
        elif event.purpose == "lines.line" and text.isdigit():
            self.query_one("#preview-lines", LogView).go_to(int(text) - 1)

    @on(RowPane.Again)
    def _again(self, event: RowPane.Again) -> None:
        if self._wanted:
            self.search_again(event.direction)

    def search_again(self, direction: int, *, here: bool = False) -> None:
        current = self.switcher.current
        if current == "preview-rows" and self.rows is not None and self._shown is not None:
            start = self.row_number if here else self.row_number + direction
            self._search_rows(self.rows, self._shown, self._wanted, start, direction)
        elif current == "preview-text":
            self._search_text(here=here)
        elif current == "preview-lines":
            self.query_one("#preview-lines", LogView).search(self._wanted)

    def _search_text(self, *, here: bool) -> None:
        editor = self.query_one("#preview-text", Editor)
        row = editor.cursor_location[0] + (0 if here else 1)
        lines = editor.document.lines
        for number in [*range(row, len(lines)), *range(row)]:
            at = lines[number].lower().find(self._wanted.lower())
            if at >= 0:
                editor.focus()
                editor.move_cursor((number, at), center=True)
                editor.move_cursor((number, at + len(self._wanted)), select=True)
                return
        self.arl.refuse(_("{text} is not in this file").format(text=self._wanted))

    @work(thread=True, exclusive=True, group="workspace.search", exit_on_error=False)
    def _search_rows(self, rows: "RowIndex", path: Path, text: str, start: int, direction: int) -> None:
        """Forwards from `start`, then from the top; backwards the last match before it."""
        ignore = text == text.lower()
        found = None
        if direction > 0:
            for first in (start, 0):
                hit = next(rows.search(text, ignore_case=ignore, start=first, cancel=self._stop), None)
                if hit is not None:
                    found = hit.row
                    break
        else:
            for hit in rows.search(text, ignore_case=ignore, cancel=self._stop):
                if hit.row > start:
                    break
                found = hit.row
        self.post_message(self.RowFound(path, found))

    @on(RowFound)
    def _row_found(self, event: RowFound) -> None:
        if event.path != self._shown:
            return
        if event.row is None:
            self.arl.refuse(_("{text} is in no row").format(text=self._wanted))
        else:
            self.show_row(event.row)
            self.query_one("#preview-rows").focus()

    def focus_preview(self) -> None:
        current = self.switcher.current
        if current in ("preview-text", "preview-lines", "preview-rows"):
            self.switcher.query_one(f"#{current}").focus()

    def undo_layers(self) -> Iterator[Layer]:
        yield from super().undo_layers()
        if not self.table.has_focus:
            yield Layer(_("back to the files"), self.table.focus)

    def _close_sources(self) -> None:
        for source in (self._text_lines, self.rows):
            if source is not None:
                source.close()
        self._text_lines, self.rows = None, None

    def on_unmount(self) -> None:
        self._stop.set()
        self._close_sources()


def _highlighted(path: Path, length: int) -> str | None:
    """The text of a source that is shown with its colours; others, and very long lines, are shown by lines."""
    if path.suffix.lower() not in LANGUAGES or length > LARGEST_HIGHLIGHTED:
        return None
    text = path.read_bytes().decode("utf-8", "replace")
    return None if has_long_line(text) else text


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" in file.read(8192)
