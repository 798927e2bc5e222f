"""Words in the text that is edited: found while they are typed, counted, gone through; and lines by their number."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.message import Message

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.bars import Chip
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.prompt import Prompt

_FIND, _LINE = "text.find", "text.line"


class SearchedEditor(CodeEditor):
    """An editor with the keys of the search, which work while typing. Out: `Wanted`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("text")

    @dataclass
    class Wanted(Message):
        """What is wished: ``find``, or the match ``next`` or ``previous``."""

        what: str

    def action_want(self, what: str) -> None:
        self.post_message(self.Wanted(what))


def matches(text: str, words: str) -> list[int]:
    """Where `words` begin in a text; capitals among them make case count."""
    if not words:
        return []
    if words == words.lower() and len(text.lower()) == len(text):
        text = text.lower()
    found = []
    at = text.find(words)
    while at >= 0:
        found.append(at)
        at = text.find(words, at + len(words))
    return found


class FindingScreen(PlaceScreen):
    """Subclasses name the editor and show `search_chip`."""

    def __init__(self) -> None:
        super().__init__()
        self._words = ""
        self._found: list[int] = []
        self._begin = (0, 0)

    @property
    @abstractmethod
    def searched(self) -> CodeEditor:
        """The editor."""

    def found_changed(self) -> None:
        """A subclass shows the chip."""

    def search_chip(self) -> tuple[Chip, ...]:
        """``/ words  3 of 12``; nothing while nothing is searched for."""
        if not self._words:
            return ()
        words = plain(self._words, keep_newlines=False)
        if not self._found:
            return (Chip(_("/ {words}  not found").format(words=words), "$warn on $raised"),)
        place = self._offset(min(self.searched.selection))
        number = bisect_right(self._found, place)
        count = _("/ {words}  {number} of {count}").format(words=words, number=max(1, number), count=len(self._found))
        return (Chip(count),)

    @on(SearchedEditor.Wanted)
    async def _search_wanted(self, event: SearchedEditor.Wanted) -> None:
        if event.what == "find":
            await self.action_find()
        else:
            self.action_next_match(1 if event.what == "next" else -1)

    async def action_find(self) -> None:
        self._begin = min(self.searched.selection)
        await self.prompt.ask(_FIND, _("find"), text=self._words, hint=_("capitals make case count"))

    async def action_line(self) -> None:
        count = self.searched.document.line_count
        await self.prompt.ask(_LINE, _("line"), hint=_("1 to {count}").format(count=f"{count:,}"))

    def action_next_match(self, direction: int = 1) -> None:
        if self._words:
            self._find(self._words, direction)
        else:
            self.arl.refuse(_("Nothing is searched for; / or ctrl+f begins"))

    @on(Prompt.Typed)
    def _typing(self, event: Prompt.Typed) -> None:
        if event.purpose == _FIND:
            self.searched.move_cursor(self._begin)
            self._find(event.text, 0)

    @on(Prompt.Given)
    def _found_answer(self, event: Prompt.Given) -> None:
        editor = self.searched
        if event.purpose == _FIND:
            same = event.text == self._words and min(editor.selection) == self._begin
            self._find(event.text, 1 if same else 0)
            editor.focus()
        elif event.purpose == _LINE:
            number = event.text.strip().replace(",", "")
            if number.isdigit() and 1 <= int(number) <= editor.document.line_count:
                editor.move_cursor((int(number) - 1, 0), center=True)
            else:
                self.arl.refuse(_("There is no line {text}").format(text=event.text))
            editor.focus()

    @on(Prompt.Left)
    def _given_up(self, event: Prompt.Left) -> None:
        if event.purpose == _FIND:
            self.end_search()

    def end_search(self) -> None:
        self._words, self._found = "", []
        self.found_changed()

    def _find(self, words: str, direction: int) -> None:
        """To the match at the cursor or behind it (0), the next (1) or the one before (-1); goes round."""
        editor = self.searched
        self._words = words
        self._found = matches(editor.text, words)
        if self._found:
            here = self._offset(min(editor.selection))
            after = bisect_right(self._found, here - (direction == 0))
            index = after if direction >= 0 else bisect_right(self._found, here - 1) - 1
            start = self._found[index % len(self._found)]
            editor.reveal(editor.place(start), editor.place(start + len(words)))
        self.found_changed()

    def _offset(self, place: tuple[int, int]) -> int:
        row, column = place
        document = self.searched.document
        return sum(map(len, document.lines[:row])) + row * len(document.newline) + column

    def search_layers(self) -> Iterator[Layer]:
        if self._words:
            yield Layer(_("end the search"), self.end_search)

    def undo_layers(self) -> Iterator[Layer]:
        yield from self.search_layers()
        yield from super().undo_layers()
