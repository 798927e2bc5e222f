"""Style words to Rich styles, for widgets that draw their own lines."""

from collections.abc import Iterable

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.css.errors import UnresolvedVariableError
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from agentic_rl_tui.widgets.cells import Line


class Painted(Widget):
    """A widget that paints spans. Styles are resolved once a theme and forgotten when the look changes."""

    _styles_known: dict[str, RichStyle] | None = None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_known = None

    def paint_style(self, words: str) -> RichStyle:
        """The Rich style of Textual style words; a variable nobody defined has no effect."""
        if self._styles_known is None:
            self._styles_known = {}
        known = self._styles_known.get(words)
        if known is None:
            try:
                known = Style.parse(words).rich_style if words else RichStyle.null()
            except UnresolvedVariableError:
                known = RichStyle.null()
            self._styles_known[words] = known
        return known

    def segments(self, line: Line, base: RichStyle) -> list[Segment]:
        return [Segment(text, base + self.paint_style(style) if style else base) for text, style in line if text]

    def strip(self, line: Iterable[tuple[str, str]], width: int, base: RichStyle | None = None) -> Strip:
        """A line in exactly `width` cells."""
        style = self.rich_style if base is None else base
        return Strip(self.segments(list(line), style)).adjust_cell_length(width, style)
