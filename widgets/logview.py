"""A log of any length: moving through it, searching it, hiding what is not wanted."""

from dataclasses import dataclass

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp

from agentic_rl_tui.widgets.logview_seek import LogSeek, compile_search

__all__ = ["LogView", "compile_search"]

_WHEEL_ROWS = 3
_SIDE_STEP = 16
_GAP_S = 60


class LogView(LogSeek, can_focus=True):
    """Lines of a `LineSource`; only those on the screen are read and drawn.

    In: `source`, `is_following`, `is_wrapped`, `is_raw`, `has_numbers`, `gap_s` (the least time between two lines that
    is marked; 0 marks none), `pattern`, `placeholder` (shown while there is no line); call `grew` when the source has
    new lines, `sift` to hide lines.
    Out: `Asked` (the owner opens a prompt and calls `search`, `sift` or `go_to`), `Moved`, `FollowChanged`,
    `SearchEnded`, `FilterChanged`.
    Text from the source is data: no escape sequence and no markup in it acts.
    """

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS = [
        Binding("down,j", "move(1)", "Down", id="log.down", show=False),
        Binding("up,k", "move(-1)", "Up", id="log.up", show=False),
        Binding("right", "aside(1)", "Right", id="log.right", show=False),
        Binding("left", "aside(-1)", "Left", id="log.left", show=False),
        Binding("home,g", "first", "First line", id="log.first", show=False),
        Binding("end,G", "last", "Last line", id="log.last", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", "Page down", id="log.page_down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", id="log.page_up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", id="log.half_down", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", id="log.half_up", show=False),
        Binding("f", "follow", "Follow", id="log.follow"),
        Binding("slash", "ask('search')", "Search", id="log.search"),
        Binding("n", "again(1)", "Next match", id="log.next", show=False),
        Binding("N", "again(-1)", "Previous match", id="log.previous", show=False),
        Binding("e", "trouble(1)", "Next error", id="log.next_error", show=False),
        Binding("E", "trouble(-1)", "Previous error", id="log.previous_error", show=False),
        Binding("w", "wrap", "Wrap", id="log.wrap", show=False),
        Binding("number_sign", "numbers", "Line numbers", id="log.numbers", show=False),
        Binding("v", "level", "Level", id="log.level", show=False),
        Binding("ampersand", "ask('filter')", "Filter", id="log.filter", show=False),
        Binding("t", "gaps", "Time gaps", id="log.gaps", show=False),
        Binding("d", "raw", "Raw", id="log.raw", show=False),
        Binding("ctrl+g", "ask('line')", "Go to line", id="log.line", show=False),
    ]

    @dataclass
    class Asked(Message):
        view: "LogView"
        what: str

    @dataclass
    class Moved(Message):
        view: "LogView"

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LogView.Moved)

    @dataclass
    class FollowChanged(Message):
        view: "LogView"
        is_following: bool

    # Where we are

    @property
    def is_at_end(self) -> bool:
        return (self.top, self.sub) >= self._bottom()

    def watch_source(self) -> None:
        self.top = self.sub = self._aside = 0
        self.match_line = None
        self._begin_sifting()
        self.grew()

    def _place(self, top: int, sub: int = 0) -> None:
        """Put a line, or a row of a line, at the top of the screen."""
        self.top, self.sub = max(0, top), max(0, sub)
        self.scroll_to(y=self.top, animate=False, immediate=True, force=True)
        self._redraw()
        self.post_message(self.Moved(self))

    def on_scroll_to(self, event: ScrollTo) -> None:
        """The scroll bar was dragged."""
        event.stop()
        event.prevent_default()
        if event.y is not None:
            self._go(round(event.y), 0)

    def on_scroll_up(self, event: ScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.action_page(-1)

    def on_scroll_down(self, event: ScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.action_page(1)

    # Moving

    def move_rows(self, rows: int) -> None:
        top, sub = self.top, self.sub + rows
        while sub < 0 and top > 0:
            top -= 1
            sub += self._height(top)
        while top < self.line_count - 1 and sub >= (height := self._height(top)):
            sub -= height
            top += 1
        self._go(top, max(0, sub))

    def _go(self, top: int, sub: int) -> None:
        self._anchor = None
        target = max((0, 0), min((top, sub), self._bottom()))
        if target < (self.top, self.sub):
            self._let_go()
        if target != (self.top, self.sub):
            self._place(*target)

    def go_to(self, line: int) -> None:
        """Bring a line (from 0) into view, a third of the way down."""
        line = max(0, min(line, self.line_count - 1))
        self._let_go()
        self._place(*max((0, 0), min((line - self.page_rows // 3, 0), self._bottom())))

    def go_to_number(self, number: int) -> None:
        """Go to a line of the whole log (from 0), or the one after it that is shown."""
        self.go_to(number if self.sifted is None else self.sifted.index_of(number))

    def _let_go(self) -> None:
        self._anchor = None
        self.is_following = False

    def watch_is_following(self, is_following: bool) -> None:
        if is_following:
            self._place(*self._bottom())
        self.post_message(self.FollowChanged(self, is_following))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A text that is whole has nothing to follow, and its key gives room to one that does something."""
        return not (self.is_prose and action == "follow") and super().check_action(action, parameters)

    def action_move(self, rows: int) -> None:
        self.move_rows(rows)

    def action_page(self, pages: float) -> None:
        self.move_rows(round((self.page_rows - 1) * pages) or (1 if pages > 0 else -1))

    def action_first(self) -> None:
        self._let_go()
        self._place(0)

    def action_last(self) -> None:
        if self.is_following:
            self._place(*self._bottom())
        self.is_following = True

    def action_follow(self) -> None:
        self.is_following = not self.is_following

    def action_aside(self, steps: int) -> None:
        if not self.is_wrapped:
            self._aside = max(0, self._aside + steps * _SIDE_STEP)
            self._redraw()

    def action_raw(self) -> None:
        self.is_raw = not self.is_raw

    def watch_is_raw(self) -> None:
        self._forget()
        self.post_message(self.Moved(self))

    def action_gaps(self) -> None:
        self.gap_s = 0 if self.gap_s else _GAP_S

    def watch_gap_s(self) -> None:
        self._forget()
        self._place(*(self._bottom() if self.is_following else (self.top, 0)))

    def action_wrap(self) -> None:
        self.is_wrapped = not self.is_wrapped

    def watch_is_wrapped(self) -> None:
        self._aside = 0
        self._windows.clear()
        self._place(*(self._bottom() if self.is_following else (self.top, 0)))

    def action_numbers(self) -> None:
        self.has_numbers = not self.has_numbers

    def watch_has_numbers(self) -> None:
        self._forget()

    def action_ask(self, what: str) -> None:
        self.post_message(self.Asked(self, what))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.move_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.move_rows(-_WHEEL_ROWS)

    def on_resize(self) -> None:
        self._shown_grew()
