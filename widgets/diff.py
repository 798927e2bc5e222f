"""Two texts against each other, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import Span, fit, safe
from agentic_rl_tui.widgets.paint import Painted


@dataclass(frozen=True, slots=True)
class DiffLine:
    """tag: ``-`` gone, ``+`` new, a space for the same, ``@`` for lines left out, ``=`` for a title.

    A number of 0 is not shown.
    """

    tag: str
    old: int
    new: int
    text: str


_STYLES = {"-": "$failed", "+": "$succeeded", " ": "$muted", "@": "$faint", "=": "$accent"}


class DiffView(Painted, ScrollView, can_focus=True):
    """In: `lines`. The sign, and not the colour alone, says what happened to a line."""

    DEFAULT_CSS = """
    DiffView {
        height: auto;
        max-height: 100%;
        overflow-x: auto;
        scrollbar-size: 1 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("right", "scroll_right", "Right", show=False),
        Binding("left", "scroll_left", "Left", show=False),
        Binding("pagedown,ctrl+f,space", "page_down", "Page down", show=False),
        Binding("pageup,ctrl+b", "page_up", "Page up", show=False),
        Binding("home,g", "scroll_home", "Top", show=False),
        Binding("end,G", "scroll_end", "Bottom", show=False),
    ]

    lines: reactive[Sequence[DiffLine]] = reactive[Sequence[DiffLine]]((), layout=True)

    def watch_lines(self) -> None:
        self._number_width = max((len(str(max(line.old, line.new))) for line in self.lines), default=1)
        longest = max((cell_len(line.text) for line in self.lines), default=0)
        self.virtual_size = Size(longest + 2 * self._number_width + 5, len(self.lines))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return max(1, len(self.lines))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        row = y + self.scroll_offset.y
        if row >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        line = self.lines[row]
        style = _STYLES.get(line.tag, "$muted")
        if line.tag == "@":
            return self.strip(fit([(f"{'⋯':>{2 * self._number_width + 3}}", style)], width), width)
        numbers = f"{line.old or '':>{self._number_width}} {line.new or '':>{self._number_width}} "
        ink = "$ink" if line.tag != " " else "$muted"
        text = safe(line.text)
        spans: list[Span] = [
            (numbers, "$faint"),
            ("▸ " if line.tag == "=" else f"{line.tag} ", f"{style} bold"),
            (text, style if line.tag != " " else ink),
        ]
        strip = self.strip(spans, max(width + self.scroll_offset.x, sum(cell_len(part) for part, _ in spans)))
        return strip.crop(self.scroll_offset.x, self.scroll_offset.x + width)
