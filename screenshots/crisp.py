"""Draw a terminal's picture so that it looks the same with every font.

A viewer of a picture has whichever monospaced font it has. Its blocks, lines and braille dots differ in width and
height from the cells of the picture: bars get seams, frames get gaps, and curves run out of their axes. Here these
characters become shapes, and every other text is held to its cells piece by piece.
"""

import html
import re
from collections.abc import Iterator

from rich.cells import split_graphemes

CELL_W, CELL_H = 12.2, 24.4
_BASELINE, _TOP = 20.0, 1.5
_FONTS = (
    '"Fira Code", "JetBrains Mono", "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",'
    ' "Noto Sans Mono CJK SC", "PingFang SC", "Microsoft YaHei", monospace'
)
_TEXT = re.compile(
    r'<text class="(?P<style>[^"]+)" x="(?P<x>[^"]+)" y="(?P<y>[^"]+)"[^>]*?(?P<clip> clip-path="[^"]+")>'
    r"(?P<body>[^<]*)</text>"
)
_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)

_THIN, _THICK = 1.4, 3.0
_LIGHT: dict[str, str] = {
    "─": "lr", "│": "ud", "┌": "rd", "╭": "rd", "┐": "ld", "╮": "ld", "└": "ru", "╰": "ru", "┘": "lu", "╯": "lu",
    "├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud", "╴": "l", "╵": "u", "╶": "r", "╷": "d",
}  # fmt: skip
"""Which sides of the cell a line of each character reaches."""
_HEAVY = {"━": "lr", "┃": "ud", "╸": "l", "╹": "u", "╺": "r", "╻": "d"}
_DASHED = {"╌": ("lr", 2), "┄": ("lr", 3), "┈": ("lr", 4), "╎": ("ud", 2), "┆": ("ud", 3), "┊": ("ud", 4)}
_DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of the eight dots of braille, in the order of its bits."""


def _box(x: float, y: float, w: float, h: float) -> str:
    return f"M{x:.2f} {y:.2f}h{w:.2f}v{h:.2f}h{-w:.2f}z"


def _strokes(sides: str, x: float, y: float, wide: float) -> str:
    middle_x, middle_y, half = x + CELL_W / 2, y + CELL_H / 2, wide / 2
    parts = []
    if "l" in sides or "r" in sides:
        start = x if "l" in sides else middle_x - half
        stop = x + CELL_W if "r" in sides else middle_x + half
        parts.append(_box(start, middle_y - half, stop - start, wide))
    if "u" in sides or "d" in sides:
        top = y if "u" in sides else middle_y - half
        bottom = y + CELL_H if "d" in sides else middle_y + half
        parts.append(_box(middle_x - half, top, wide, bottom - top))
    return "".join(parts)


def _dashes(sides: str, count: int, x: float, y: float) -> str:
    if sides == "lr":
        step = CELL_W / count
        return "".join(_box(x + step * (i + 0.2), y + CELL_H / 2 - 0.7, step * 0.6, _THIN) for i in range(count))
    step = CELL_H / count
    return "".join(_box(x + CELL_W / 2 - 0.7, y + step * (i + 0.2), _THIN, step * 0.6) for i in range(count))


def _braille(bits: int, x: float, y: float) -> str:
    radius, size = 1.9, 3.8
    shapes = []
    for bit, (column, row) in enumerate(_DOTS):
        if bits >> bit & 1:
            left = x + CELL_W * (0.25 + 0.5 * column) - radius
            middle = y + CELL_H * (row + 0.5) / 4
            turn = f"a{radius} {radius} 0 1 0 "
            shapes.append(f"M{left:.2f} {middle:.2f}{turn}{size} 0{turn}{-size} 0z")
    return "".join(shapes)


def _block(code: int, x: float, y: float) -> str | None:
    """The shapes of U+2580 to U+2595 without the shades."""
    if code == 0x2580:
        return _box(x, y, CELL_W, CELL_H / 2)
    if 0x2581 <= code <= 0x2588:
        high = CELL_H * (code - 0x2580) / 8
        return _box(x, y + CELL_H - high, CELL_W, high)
    if 0x2589 <= code <= 0x258F:
        return _box(x, y, CELL_W * (0x2590 - code) / 8, CELL_H)
    if code == 0x2590:
        return _box(x + CELL_W / 2, y, CELL_W / 2, CELL_H)
    if code == 0x2594:
        return _box(x, y, CELL_W, CELL_H / 8)
    if code == 0x2595:
        return _box(x + CELL_W * 7 / 8, y, CELL_W / 8, CELL_H)
    return None


def shape(char: str, x: float, y: float) -> str | None:
    """The path of a character that is a drawing, in the cell with its top left corner there; nothing for a text."""
    code = ord(char[0])
    if 0x2800 <= code <= 0x28FF:
        return _braille(code - 0x2800, x, y)
    if char in _LIGHT:
        return _strokes(_LIGHT[char], x, y, _THIN)
    if char in _HEAVY:
        return _strokes(_HEAVY[char], x, y, _THICK)
    if char in _DASHED:
        return _dashes(*_DASHED[char], x, y)
    return _block(code, x, y)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """The text in pieces that one run of glyphs can hold to its cells, each with its width."""
    plain = ""
    for start, stop, size in split_graphemes(text)[0]:
        char = text[start:stop]
        if char.isascii() and char != " ":
            plain += char
            continue
        if plain:
            yield plain, len(plain)
            plain = ""
        yield char, size
    if plain:
        yield plain, len(plain)


def _redrawn(found: re.Match[str]) -> str:
    text = html.unescape(found["body"]).replace("\u00a0", " ")
    style, clip = found["style"], found["clip"]
    x, baseline = float(found["x"]), float(found["y"])
    top = baseline - _BASELINE + _TOP
    blocks, strokes, texts = [], [], []
    for piece, size in _pieces(text):
        drawn = shape(piece, x, top)
        if drawn is not None:
            (blocks if "▀" <= piece <= "▕" else strokes).append(drawn)
        elif piece.strip():
            texts.append(
                f'<text class="{style}" {_held(piece, x, size)} y="{baseline:g}"{clip}>{html.escape(piece)}</text>'
            )
        x += size * CELL_W
    # Blocks meet at the edges of their cells: smoothed, the edges would show as seams.
    drawn = f'<path class="{style}" shape-rendering="crispEdges" d="{"".join(blocks)}"/>' if blocks else ""
    drawn += f'<path class="{style}" d="{"".join(strokes)}"/>' if strokes else ""
    return drawn + "".join(texts)


def _held(piece: str, x: float, size: int) -> str:
    """The attributes that hold a text to its cells. A character alone keeps its form and stands in their middle."""
    if len(piece) > 1 and piece.isascii():
        return f'x="{x:g}" textLength="{size * CELL_W:g}" lengthAdjust="spacingAndGlyphs"'
    if piece.isascii():
        return f'x="{x:g}"'
    larger = ' font-size="23"' if size > 1 else ""
    return f'x="{x + size * CELL_W / 2:g}" text-anchor="middle"{larger}'


def crisp(svg: str, frame: str, ink: str) -> str:
    """A picture as Rich exports it, drawn anew; `frame` and `ink` are the colours of the window around it."""
    svg = _FACE.sub("", svg)
    svg = svg.replace("font-family: Fira Code, monospace", f"font-family: {_FONTS}")
    svg = svg.replace("font-family: arial", "font-family: system-ui, sans-serif")
    # Fonts that know it would widen every letter.
    svg = svg.replace("font-variant-east-asian: full-width;", "")
    svg = svg.replace(
        'fill="#292929" stroke="rgba(255,255,255,0.35)"', f'fill="{frame}" stroke="{ink}" stroke-opacity="0.35"'
    )
    svg = svg.replace('fill="#c5c8c6" text-anchor', f'fill="{ink}" text-anchor')
    return _TEXT.sub(_redrawn, svg)
