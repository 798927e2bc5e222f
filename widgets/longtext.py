"""A text area whose cost of a key does not grow with the length of the text."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from rich.cells import cell_len
from textual.document._document import Document
from textual.document._edit import Edit
from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Size
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location

from agentic_rl_tui.widgets.syntax import tokens

LONG_FROM = 1_500
"""Lines from which words are told by their own line instead of a parse of the whole text."""
_BRACKETS_WITHIN = 4_000
"""Characters that are searched for the partner of a bracket."""


class _PerLine(Sequence[Any]):
    """A list with one entry for each line of a document, made where it is asked for; it cannot be out of date."""

    def __init__(self, document: Any, kind: str) -> None:
        self._document = document
        self._kind = kind

    def __len__(self) -> int:
        return int(self._document.line_count)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(index)
        return (row, 0) if self._kind == "info" else [row] if self._kind == "offsets" else []


class _Flat(WrappedDocument):
    """A document that is never wrapped: every line is one row, which needs no bookkeeping at an edit."""

    def flatten(self) -> None:
        document = self.document
        self._width = 0
        self._offset_to_line_info = _PerLine(document, "info")  # type: ignore[assignment]
        self._line_index_to_offsets = _PerLine(document, "offsets")  # type: ignore[assignment]
        self._wrap_offsets = _PerLine(document, "breaks")  # type: ignore[assignment]

    @property
    def height(self) -> int:
        return self.document.line_count

    def wrap(self, width: int, tab_width: int | None = None) -> None:  # noqa: ARG002
        if tab_width:
            self._tab_width = tab_width

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Nothing to do: see `_PerLine`."""

    def get_tab_widths(self, line_index: int) -> list[int]:  # noqa: ARG002
        return []


class _Words(dict[int, list[tuple[int, int | None, str]]]):
    """The coloured words of a line, found when the line is drawn. Columns are counted in UTF-8 bytes."""

    def __init__(self, area: "LongTextArea") -> None:
        super().__init__()
        self._area = area

    def __bool__(self) -> bool:
        return True

    def __missing__(self, row: int) -> list[tuple[int, int | None, str]]:
        line = self._area.document.get_line(row)
        found: list[tuple[int, int | None, str]] = list(tokens(self._area.language, line))
        if not line.isascii():
            found = [(len(line[:start].encode()), len(line[:end].encode()), name) for start, end, name in found]
        self[row] = found
        return found


class LongTextArea(TextArea):
    """In and out as of `TextArea`. Lines are never wrapped, whatever `soft_wrap` says."""

    def __init__(self, **names: Any) -> None:
        self._text_known: str | None = None
        self._longest = 0
        self._rows_edited: tuple[int, int] | None = None
        super().__init__(**names)

    @property
    def is_long(self) -> bool:
        return self.document.line_count >= LONG_FROM

    @property
    def text(self) -> str:
        """The whole text; joined once between two edits."""
        if self._text_known is None:
            self._text_known = self.document.text
        return self._text_known

    @text.setter
    def text(self, value: str) -> None:
        self.load_text(value)

    def _set_document(self, text: str, language: str | None) -> None:
        self._text_known = None
        self._rows_edited = None
        super()._set_document(text, None if text.count("\n") >= LONG_FROM else language)
        flat = self.wrapped_document
        flat.__class__ = _Flat
        assert isinstance(flat, _Flat)
        flat.flatten()
        self._longest = max(map(cell_len, self.document.lines), default=0)
        self._refresh_size()

    # Edits

    def edit(self, edit: Edit) -> EditResult:
        self._text_known = None
        if "\n" not in edit.text and "\r" not in edit.text and edit.top[0] == edit.bottom[0]:
            self._rows_edited = (edit.top[0], edit.top[0])
        try:
            return super().edit(edit)
        finally:
            self._rows_edited = None

    def _undo_batch(self, edits: Sequence[Edit]) -> None:
        self._text_known = None
        super()._undo_batch(edits)

    def _redo_batch(self, edits: Sequence[Edit]) -> None:
        self._text_known = None
        super()._redo_batch(edits)

    def _build_highlight_map(self) -> None:
        if not self.is_long:
            if isinstance(self._highlights, _Words):
                self._highlights.clear()
            super()._build_highlight_map()
            return
        if isinstance(self.document, SyntaxAwareDocument):
            # It grew: parsing all of it at each key is what makes long texts slow.
            self.document.__class__ = Document  # type: ignore[assignment]
            self._highlight_query = None
        if not isinstance(self._highlights, _Words):
            self._highlights = _Words(self)
        if self._rows_edited is None:
            self._highlights.clear()
            self._line_cache.clear()
            return
        first, last = self._rows_edited
        for row in range(first, last + 1):
            self._highlights.pop(row, None)
        for key in [key for key in self._line_cache.keys() if first <= key[2] <= last]:  # noqa: SIM118
            self._line_cache.discard(key)

    def _refresh_size(self) -> None:
        if not self.is_long:
            super()._refresh_size()
            return
        row = self.cursor_location[0]
        self._longest = max([self._longest, *map(cell_len, self.document.lines[max(0, row - 50) : row + 2])])
        self.virtual_size = Size(self._longest + self.gutter_width + 1, self.document.line_count)
        self._refresh_scrollbars()

    # Brackets

    def _yield_character_locations(self, start: Location) -> Iterator[tuple[str, Location]]:
        for number, found in enumerate(super()._yield_character_locations(start)):
            if number >= _BRACKETS_WITHIN:
                return
            yield found

    def _yield_character_locations_reverse(self, start: Location) -> Iterator[tuple[str, Location]]:
        for number, found in enumerate(super()._yield_character_locations_reverse(start)):
            if number >= _BRACKETS_WITHIN:
                return
            yield found
