"""A place with an editor that offers what can be typed at the cursor."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.popup import Popup, PopupItem

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Completion

COMPLETE_AFTER_S = 0.05


class CompletingScreen(PlaceScreen):
    """Subclasses name the editor and look for completions, which runs in a thread on a copy of the text."""

    @dataclass
    class Offered(Message):
        items: "tuple[Completion, ...]"
        text: str
        place: tuple[int, int]
        is_asked: bool

    def __init__(self) -> None:
        super().__init__()
        self._complete_timer: Timer | None = None
        self._offers: tuple[Completion, ...] = ()

    @property
    @abstractmethod
    def completed(self) -> CodeEditor:
        """The editor."""

    def completer(self) -> "Completer | None":
        """What looks for completions of the text as it is now; None where nothing can be offered."""
        return None

    @property
    def popup(self) -> Popup:
        return self.query_one(Popup)

    @on(CodeEditor.Typed)
    def _typed(self, event: CodeEditor.Typed) -> None:
        if event.is_deletion and not self.popup.is_open:
            return
        if self._complete_timer is not None:
            self._complete_timer.stop()
        self._complete_timer = self.set_timer(COMPLETE_AFTER_S, self._ask)

    def action_complete(self) -> None:
        self._ask(is_asked=True)

    def _ask(self, is_asked: bool = False) -> None:
        completer = self.completer()
        if completer is not None and self.completed.has_focus and not self.completed.read_only:
            self._complete(completer, self.completed.text, self.completed.cursor_location, is_asked)

    @work(thread=True, exclusive=True, group="complete", exit_on_error=False, description=N_("look for completions"))
    def _complete(self, completer: "Completer", text: str, place: tuple[int, int], is_asked: bool) -> None:
        row, column = place
        self.post_message(self.Offered(tuple(completer(text, row + 1, column + 1)), text, place, is_asked))

    @on(Offered)
    def _offer(self, event: Offered) -> None:
        editor = self.completed
        if event.place != editor.cursor_location or event.text != editor.text:
            return
        row, column = event.place
        line = editor.document.get_line(row)
        items = event.items
        if not event.is_asked:
            typed = line[:column].lstrip(" -")
            # Nothing typed yet, or the word is complete: a list would only be in the way.
            items = tuple(
                item for item in items if line[item.start_col - 1 : item.end_col - 1].strip() != item.insert.strip()
            )
            if not typed or not items or (len(items) != len(event.items) and len(items) > 3):
                self.close_popup()
                return
        if not items:
            self.close_popup()
            self.arl.refuse(_("Nothing is known that fits here"))
            return
        self._offers = items
        start = min(item.start_col for item in items) - 1
        cell = editor.cursor_cell
        shift = column - start
        self.popup.show_at(
            [PopupItem(item.label, item.detail) for item in items], cell.__class__(cell.x - shift - 1, cell.y)
        )
        editor.has_popup = True
        editor.enter_chooses = event.is_asked
        self.refresh_hints()

    def close_popup(self) -> None:
        self.popup.close()
        self.completed.has_popup = False
        self.refresh_hints()

    @on(CodeEditor.PopupKey)
    def _popup_key(self, event: CodeEditor.PopupKey) -> None:
        moves = {"up": -1, "down": 1, "pageup": -7, "pagedown": 7}
        if event.key in moves:
            self.popup.move(moves[event.key])
            self.completed.enter_chooses = True
        elif event.key in ("tab", "enter"):
            self._take_offer(self.popup.index)
        else:
            self.close_popup()

    @on(Popup.Chosen)
    def _popup_clicked(self, event: Popup.Chosen) -> None:
        self._take_offer(event.index)

    def _take_offer(self, index: int) -> None:
        self.close_popup()
        if 0 <= index < len(self._offers):
            editor, item = self.completed, self._offers[index]
            row, _column = editor.cursor_location
            end = min(item.end_col - 1, len(editor.document.get_line(row)))
            editor.history.checkpoint()
            editor.replace(item.insert, (row, item.start_col - 1), (row, end), maintain_selection_offset=False)
            editor.history.checkpoint()

    @on(TextArea.SelectionChanged)
    def _left_the_word(self) -> None:
        if self.popup.is_open and self._offers:
            column = self.completed.cursor_location[1]
            if column < min(item.start_col for item in self._offers) - 1:
                self.close_popup()

    def undo_layers(self) -> Iterator[Layer]:
        if self.popup.is_open:
            yield Layer(_("close list"), self.close_popup)
        yield from super().undo_layers()


if TYPE_CHECKING:
    from collections.abc import Callable

    Completer = Callable[[str, int, int], Sequence[Completion]]
