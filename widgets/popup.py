"""A short list beside the cursor: what can be typed here."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import Span, clip, fit
from agentic_rl_tui.widgets.paint import Painted

MOST_ROWS = 8
_WIDEST = 64


@dataclass(frozen=True, slots=True)
class PopupItem:
    label: str
    detail: str = ""


class Popup(Painted):
    """In: `show_at`, `move`. Out: `Chosen` on a click. It never takes the focus."""

    DEFAULT_CSS = """
    Popup {
        overlay: screen;
        constrain: inside inflect;
        position: absolute;
        background: $raised;
        color: $ink;
        height: auto;
        width: auto;
        display: none;
        padding: 0;
    }
    """

    items: reactive[tuple[PopupItem, ...]] = reactive((), layout=True)
    index: reactive[int] = reactive(0)

    @dataclass
    class Chosen(Message):
        popup: "Popup"
        index: int

    @property
    def is_open(self) -> bool:
        return bool(self.display) and bool(self.items)

    def show_at(self, items: Sequence[PopupItem], place: Offset) -> None:
        """Open below a cell of the screen."""
        self.items = tuple(items)
        self.index = 0
        self.styles.width = self._width
        self.styles.height = min(len(self.items), MOST_ROWS)
        self.absolute_offset = place + Offset(0, 1)
        self.display = True
        self.refresh(layout=True)

    def close(self) -> None:
        self.display = False

    def move(self, rows: int) -> None:
        if self.items:
            last = len(self.items) - 1
            at = self.index + rows
            # One step past an end goes round; a page stops there.
            self.index = at % (last + 1) if abs(rows) == 1 else min(max(at, 0), last)

    @property
    def _label_width(self) -> int:
        return min(max((cell_len(item.label) for item in self.items), default=0), 40)

    @property
    def _width(self) -> int:
        detail = max((cell_len(item.detail) for item in self.items), default=0)
        return min(self._label_width + (detail + 2 if detail else 0) + 2, _WIDEST)

    @property
    def _first(self) -> int:
        return min(max(0, self.index - MOST_ROWS + 2), max(0, len(self.items) - MOST_ROWS))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        number = self._first + y
        if number >= len(self.items):
            return Strip.blank(width, self.rich_style)
        item = self.items[number]
        is_chosen = number == self.index
        back = " on $cursor" if is_chosen else ""
        label = clip(item.label, self._label_width)
        gap = " " * (self._label_width - cell_len(label) + 2)
        line: list[Span] = [
            (" ", back.strip()),
            (label, f"$ink{' bold' if is_chosen else ''}{back}"),
            (gap, back.strip()),
        ]
        line.append((item.detail, f"$muted{back}"))
        return self.strip(fit(line, width, style=back.strip()), width)

    def on_click(self, event: events.Click) -> None:
        number = self._first + event.y
        if number < len(self.items):
            event.stop()
            self.post_message(self.Chosen(self, number))
