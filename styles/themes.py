"""The product's own themes: one palette of meanings, drawn for dark, light and 16-colour terminals.

A palette is small on purpose. Greys carry the structure, one accent says where the focus is, and every other colour
stands for a state of the user's work.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.theme import Theme

STYLES = Path(__file__).parent
"""The folder of the style sheets."""

DARK = "arl-dark"
LIGHT = "arl-light"
ANSI = "arl-ansi"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by meaning. `ink`..`faint` are text from strong to weak, `quiet` and `fill` shapes without text,
    `base`..`raised` surfaces from back to front."""

    base: str
    surface: str
    raised: str
    line: str
    ink: str
    muted: str
    faint: str
    quiet: str
    accent: str
    cursor: str
    cursor_blurred: str
    selection: str
    match: str
    match_ink: str
    running: str
    waiting: str
    succeeded: str
    failed: str
    canceled: str
    warn: str
    fill: str


_DARK = Palette(
    base="#0f1217",
    surface="#171a1f",
    raised="#1f2329",
    line="#2e333b",
    ink="#dde2ea",
    muted="#a6afbc",
    faint="#8a93a2",
    quiet="#5b6675",
    accent="#a9a4ff",
    cursor="#20264a",
    cursor_blurred="#1e2228",
    selection="#39407a",
    match="#e3c067",
    match_ink="#15171c",
    running="#62b8ff",
    waiting="#b3a37a",
    succeeded="#7dd19a",
    failed="#ff8080",
    canceled="#98a1af",
    warn="#e8bd62",
    fill="#4a8cc7",
)

_LIGHT = Palette(
    base="#fcfbf8",
    surface="#f1f0ed",
    raised="#eae8e3",
    line="#d8d5cd",
    ink="#20242c",
    muted="#4d5561",
    faint="#5f6772",
    quiet="#8a919b",
    accent="#5443cb",
    cursor="#e8e5fc",
    cursor_blurred="#eeece7",
    selection="#c9c2f5",
    match="#f5d76e",
    match_ink="#20242c",
    running="#0a5cb0",
    waiting="#6f5d24",
    succeeded="#176c3d",
    failed="#bb2136",
    canceled="#5c6470",
    warn="#825600",
    fill="#4f8fcb",
)

_ANSI = Palette(
    base="ansi_default",
    surface="ansi_default",
    raised="ansi_default",
    line="ansi_bright_black",
    ink="ansi_default",
    muted="ansi_default",
    faint="ansi_bright_black",
    quiet="ansi_bright_black",
    accent="ansi_bright_magenta",
    cursor="ansi_blue",
    cursor_blurred="ansi_default",
    selection="ansi_blue",
    match="ansi_yellow",
    match_ink="ansi_black",
    running="ansi_bright_cyan",
    waiting="ansi_yellow",
    succeeded="ansi_bright_green",
    failed="ansi_bright_red",
    canceled="ansi_bright_black",
    warn="ansi_bright_yellow",
    fill="ansi_cyan",
)


def tokens(palette: Palette) -> dict[str, str]:
    """The CSS variables of a palette, and the ones Textual's own widgets read."""
    own = {field.name.replace("_", "-"): getattr(palette, field.name) for field in fields(palette)}
    builtin = {
        "block-cursor-background": palette.cursor,
        "block-cursor-foreground": palette.ink,
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": palette.cursor_blurred,
        "block-cursor-blurred-foreground": palette.ink,
        "block-hover-background": palette.cursor_blurred,
        "border": palette.accent,
        "border-blurred": palette.line,
        "input-cursor-background": palette.accent,
        "input-cursor-foreground": palette.base,
        "input-selection-background": palette.selection,
        "screen-selection-background": palette.selection,
        "scrollbar": palette.line,
        "scrollbar-hover": palette.quiet,
        "scrollbar-active": palette.accent,
        "scrollbar-background": palette.base,
        "scrollbar-background-hover": palette.base,
        "scrollbar-background-active": palette.base,
        "scrollbar-corner-color": palette.base,
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "link-color": palette.accent,
        "link-background": "transparent",
        "link-background-hover": palette.cursor_blurred,
        "link-color-hover": palette.accent,
        "link-style": "underline",
        "link-style-hover": "underline",
    }
    return own | builtin


TOKENS = tokens(_DARK)
"""Defaults of every variable that the style sheets name."""

LIGHT_TOKENS = tokens(_LIGHT)


def _theme(name: str, palette: Palette, *, dark: bool, ansi: bool = False) -> "Theme":
    from textual.theme import Theme

    return Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.running,
        accent=palette.accent,
        warning=palette.warn,
        error=palette.failed,
        success=palette.succeeded,
        foreground=palette.ink,
        background=palette.base,
        surface=palette.surface,
        panel=palette.raised,
        boost=palette.raised,
        dark=dark,
        ansi=ansi,
        variables=tokens(palette),
    )


def themes() -> tuple["Theme", ...]:
    return (
        _theme(DARK, _DARK, dark=True),
        _theme(LIGHT, _LIGHT, dark=False),
        _theme(ANSI, _ANSI, dark=True, ansi=True),
    )
