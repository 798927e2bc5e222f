"""Style words to Rich styles, for widgets that draw their own lines."""

from collections.abc import Iterable

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from agentic_rl_tui.widgets.cells import Line

_FLAGS = frozenset({"bold", "dim", "italic", "underline", "reverse", "strike"})
_LEAST_CONTRAST = 3.0
_MOST_KNOWN = 2000


class Painted(Widget):
    """A widget that paints spans. Styles are resolved once a theme and forgotten when the look changes.

    Style words: a theme variable (``$failed``) or a colour (``#ff8700``), flags (``bold``), and ``on`` before a
    background. The small set keeps resolving cheap; a variable that nobody defined has no effect.
    """

    _styles_known: dict[str, RichStyle] | None = None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_known = None

    def paint_style(self, words: str) -> RichStyle:
        if self._styles_known is None or len(self._styles_known) > _MOST_KNOWN:
            self._styles_known = {}
        known = self._styles_known.get(words)
        if known is None:
            known = self._styles_known[words] = self._resolve(words)
        return known

    def _resolve(self, words: str) -> RichStyle:
        flags: dict[str, bool] = {}
        ink: RichColor | None = None
        ground: RichColor | None = None
        is_ground = False
        for word in words.split():
            if word == "on":
                is_ground = True
            elif word in _FLAGS:
                flags[word] = True
            elif is_ground:
                ground = self._color(word, is_ground=True)
                is_ground = False
            else:
                ink = self._color(word)
        if ground is not None:
            own = ink or self.colors[3].rich_color
            told = self._told_from(own, ground)
            ink = told if told != own else ink
        return RichStyle(color=ink, bgcolor=ground, **flags)  # type: ignore[arg-type]

    def _told_from(self, ink: RichColor, ground: RichColor) -> RichColor:
        """The ink; where it cannot be told from the ground, whichever of the theme's ink and background can."""
        if ink.triplet is None or ground.triplet is None:
            return ink
        under = Color(*ground.triplet)
        if _contrast(Color(*ink.triplet), under) >= _LEAST_CONTRAST:
            return ink
        others = [color for color in (self.colors[3], self.background_colors[1]) if color.ansi is None]
        best = max(others, key=lambda color: _contrast(color, under), default=None)
        return ink if best is None else best.rich_color

    def _color(self, word: str, *, is_ground: bool = False) -> RichColor | None:
        if word.startswith("$"):
            value = self.app.theme_variables.get(word[1:])
            return None if value is None else Color.parse(value).rich_color
        color = Color.parse(word)
        return (color if is_ground else self._readable(color)).rich_color

    def _readable(self, color: Color) -> Color:
        """A colour from outside, moved towards the theme's ink until it can be told from the background."""
        ground = self.background_colors[1]
        ink = self.colors[3]
        if ground.ansi is not None or ink.ansi is not None:
            return color
        for share in (0.0, 0.3, 0.5, 0.7):
            moved = color.blend(ink, share)
            if _contrast(moved, ground) >= _LEAST_CONTRAST:
                return moved
        return ink

    def segments(self, line: Line, base: RichStyle) -> list[Segment]:
        return [Segment(text, base + self.paint_style(style) if style else base) for text, style in line if text]

    def strip(self, line: Iterable[tuple[str, str]], width: int, base: RichStyle | None = None) -> Strip:
        """A line in exactly `width` cells."""
        style = self.rich_style if base is None else base
        return Strip(self.segments(list(line), style)).adjust_cell_length(width, style)


def _contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two colours, 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [part / 255 for part in color.rgb]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
