"""An editor that shows problems in its gutter and offers what can be typed; made for files of any length."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.widgets.text_area import Location

from agentic_rl_tui.widgets.editor import Editor


@dataclass(frozen=True, slots=True)
class Mark:
    """A problem in the text. line counts from 0, columns too; style is the gutter glyph's and the underline's."""

    line: int
    start: int
    end: int
    glyph: str
    style: str


class CodeEditor(Editor):
    """In: `load`, `become`, `marks`, `has_popup`. Out: `Changed` (of TextArea), `PopupKey`, `Typed`.

    While `has_popup` is set, the keys that choose from a popup are told instead of edited with.
    """

    POPUP_KEYS = frozenset({"up", "down", "pageup", "pagedown", "tab", "escape", "enter"})

    @dataclass
    class PopupKey(Message):
        editor: "CodeEditor"
        key: str

    @dataclass
    class Typed(Message):
        """A character was typed, or one before the cursor deleted: the moment to offer completions."""

        editor: "CodeEditor"
        is_deletion: bool = False

    def __init__(self, **names: Any) -> None:
        self._marks: Mapping[int, Sequence[Mark]] = {}
        super().__init__(**names)
        self.has_popup = False
        self.enter_chooses = False

    # Text

    def become(self, start: int, end: int, replacement: str) -> None:
        """Replace text[start:end] as one step of the undo history; the cursor stays on its line."""
        row, column = self.cursor_location
        self.history.checkpoint()
        self.replace(replacement, self.place(start), self.place(end), maintain_selection_offset=False)
        self.history.checkpoint()
        self.move_cursor((min(row, self.document.line_count - 1), column))

    def reveal(self, first: Location, last: Location) -> None:
        """Select from one place to another and bring both into sight, without a step aside where none is needed."""
        self.move_cursor(first)
        self.move_cursor(last, select=True)
        self.call_after_refresh(self._reveal, first, last)

    def _reveal(self, first: Location, last: Location) -> None:
        region, top = self.scrollable_content_region, self.scroll_offset.y
        if not top < first[0] < top + region.height - 1:
            self.scroll_to(y=max(0, first[0] - region.height // 2), animate=False)
        if cell_len(self.document.get_line(last[0])[: last[1]]) + self.gutter_width < region.width:
            self.scroll_to(x=0, animate=False)

    def place(self, offset: int) -> Location:
        """The row and column of an offset into the text."""
        before = self.text[:offset]
        newline = self.document.newline
        row = before.count(newline)
        return row, len(before) - (before.rfind(newline) + len(newline) if row else 0)

    # Marks

    @property
    def marks(self) -> Mapping[int, Sequence[Mark]]:
        return self._marks

    @marks.setter
    def marks(self, marks: Sequence[Mark]) -> None:
        by_line: dict[int, list[Mark]] = defaultdict(list)
        for mark in marks:
            by_line[mark.line].append(mark)
        if by_line != self._marks:
            self._marks = dict(by_line)
            self._line_cache.clear()
            self.refresh()

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        for mark in self._marks.get(line_index, ()):
            color = self.paint_style(mark.style)
            line.stylize(color + self.paint_style("underline"), mark.start, max(mark.end, mark.start + 1))
        return line

    def _render_line(self, y: int) -> Strip:
        strip = super()._render_line(y)
        marks = self._marks.get(y + self.scroll_offset.y) if self._marks and not self.soft_wrap else None
        segments = list(strip)
        if not marks or not self.show_line_numbers or not segments:
            return strip
        number, style, control = segments[0]
        gutter = [
            Segment(number[:-2], style, control),
            Segment(marks[0].glyph, (style or self.rich_style) + self.paint_style(marks[0].style)),
            Segment(" ", style),
        ]
        return Strip([*gutter, *segments[1:]], strip.cell_length)

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        chooses = self.has_popup and key in self.POPUP_KEYS and (key != "enter" or self.enter_chooses)
        if chooses:
            event.stop()
            event.prevent_default()
            self.post_message(self.PopupKey(self, key))
        elif key == "escape" or key.startswith("alt+"):
            # The base class would move the focus, and type the letter; both are keys of the screen instead.
            event.prevent_default()
        elif key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            self._new_line()
        elif event.is_printable and not self.read_only:
            self.call_after_refresh(self.post_message, self.Typed(self))

    def _new_line(self) -> None:
        """Break the line and indent like it; one step further after a key without a value."""
        start, end = self.selection
        row, column = min(start, end)
        before = self.document.get_line(row)[:column]
        indent = before[: len(before) - len(before.lstrip(" "))]
        if self.language == "yaml":
            stripped = before.strip()
            if stripped.startswith("- ") and len(stripped) > 2:
                indent += "  "
            if stripped.endswith(":") and not stripped.startswith("#"):
                indent += "  "
        elif self.language == "python" and before.rstrip().endswith(":"):
            indent += " " * self.indent_width
        self._replace_via_keyboard("\n" + indent, start, end)

    def action_delete_left(self) -> None:
        super().action_delete_left()
        self.post_message(self.Typed(self, is_deletion=True))

    @property
    def cursor_cell(self) -> Offset:
        """Where the cursor is on the screen."""
        return self.cursor_screen_offset
