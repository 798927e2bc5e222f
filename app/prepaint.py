"""A first sight of the app before anything heavy is imported: its header and footer, drawn by hand.

What is typed meanwhile is neither echoed nor lost: it waits in the terminal for the app.
"""

import os
import sys
from collections.abc import Callable

from agentic_rl_tui.app.language import cells
from agentic_rl_tui.app.places import PLACES
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.styles import themes

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?1049l"


class FirstSight:
    """The painted screen. `hand_over` when the app draws itself; `restore` at the very end, always."""

    def __init__(self) -> None:
        self._is_painted = False
        self._undo: Callable[[], None] | None = None

    def paint(self, place: str, theme: str) -> None:
        """Draw where the app will draw: nothing unless that is a terminal."""
        terminal = sys.__stderr__
        if terminal is None or not terminal.isatty() or sys.__stdin__ is None or not sys.__stdin__.isatty():
            return
        try:
            size = os.get_terminal_size(terminal.fileno())
            self._undo = _silence(sys.__stdin__.fileno())
        except OSError:
            return
        terminal.write(_ENTER + frame(place, theme, size.columns, size.lines))
        terminal.flush()
        self._is_painted = True

    def hand_over(self) -> None:
        """From here on the app leaves the screen by itself."""
        self._is_painted = False

    def restore(self) -> None:
        terminal = sys.__stderr__
        if self._is_painted and terminal is not None:
            terminal.write(_LEAVE)
            terminal.flush()
            self._is_painted = False
        if self._undo is not None:
            self._undo()
            self._undo = None


def _silence(file: int) -> Callable[[], None]:
    """Switch off echo and line editing; the answer puts them back as they were."""
    import termios

    before = termios.tcgetattr(file)
    silent = termios.tcgetattr(file)
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(file, termios.TCSANOW, silent)
    return lambda: termios.tcsetattr(file, termios.TCSANOW, before)


def frame(place: str, theme: str, columns: int, lines: int) -> str:
    """The control text of an empty place: colours only where the terminal shows all of them."""
    palette = themes.LIGHT_TOKENS if theme == themes.LIGHT else themes.TOKENS
    is_coloured = os.environ.get("COLORTERM", "") in ("truecolor", "24bit") and "NO_COLOR" not in os.environ
    is_coloured = is_coloured and theme != themes.ANSI

    def style(ink: str, ground: str, *, bold: bool = False) -> str:
        weight = ";1" if bold else ""
        if not is_coloured:
            return f"\x1b[0{weight}m"
        return f"\x1b[0{weight};38;2;{_rgb(palette[ink])};48;2;{_rgb(palette[ground])}m"

    parts = [
        ("accent", "surface", False, " ◆ "),
        ("ink", "surface", True, "agentic-rl"),
        ("muted", "surface", False, "  "),
    ]
    for name, key, word in PLACES:
        is_here = name == place
        ground = "raised" if is_here else "surface"
        parts.append(("accent" if is_here else "faint", ground, False, f" {key} "))
        if is_here or columns >= 110:
            parts.append(("ink" if is_here else "muted", ground, is_here, f"{_(word)} "))
    header, left = "", columns
    for ink, ground, bold, text in parts:
        text = text[:left]
        if cells(text) > left:
            break
        header += style(ink, ground, bold=bold) + text
        left -= cells(text)
    plain = style("muted", "surface")
    return f"{style('ink', 'base')}\x1b[2J\x1b[H{header}{plain}{' ' * left}\x1b[{lines};1H{plain}{' ' * columns}\x1b[0m"


def _rgb(color: str) -> str:
    return ";".join(str(int(color[start : start + 2], 16)) for start in (1, 3, 5))
