"""Text measured in terminal cells: cutting, padding and aligning that stay exact with wide and combining characters."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from rich.cells import cell_len, split_graphemes

Span: TypeAlias = tuple[str, str]
"""A text and its style, in Textual's style words (``$failed bold``); an empty style is the widget's own."""
Line: TypeAlias = Sequence[Span]
Cell: TypeAlias = str | Line
Align: TypeAlias = Literal["left", "right", "center"]

ELLIPSIS = "…"
PIECE_CHARS = 256
_LONGEST_GRAPHEME = 32
_JOINER = "\u200d"


def spans(cell: Cell, style: str = "") -> list[Span]:
    """The spans of a cell that may be a bare text."""
    return [(cell, style)] if isinstance(cell, str) else list(cell)


def width_of(line: Iterable[Span]) -> int:
    return sum(cell_len(text) for text, _ in line)


def cut(text: str, width: int) -> str:
    """The longest start of `text` that takes at most `width` cells; never half of a character."""
    if width <= 0:
        return ""
    if len(text) <= width and text.isascii():
        return text
    if text.isascii():
        return text[:width]
    taken = 0
    kept = 0
    for _, end, size in split_graphemes(text)[0]:
        if taken + size > width:
            break
        taken += size
        kept = end
    # A joiner at the end would swallow what follows; and stray joiners are measured differently alone.
    start = text[:kept].rstrip(_JOINER)
    while start and cell_len(start) > width:
        start = start[:-1]
    return start


def in_pieces(line: Iterable[Span]) -> Iterator[Span]:
    """The same line in spans of at most `PIECE_CHARS`, cut between characters.

    The widths of short texts are remembered; a long one is measured as a whole at every cut that is made in it.
    """
    for text, style in line:
        at = 0
        while len(text) - at > PIECE_CHARS:
            end = at + PIECE_CHARS
            last = split_graphemes(text[end - _LONGEST_GRAPHEME : end])[0][-1][0]
            end -= _LONGEST_GRAPHEME - last if last else 0
            yield text[at:end], style
            at = end
        yield text[at:], style


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something was left out."""
    if cell_len(text) <= width:
        return text
    return cut(text, width - 1) + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int) -> str:
    """`text` with spaces behind it up to so many cells; a longer one is clipped."""
    shown = clip(text, width)
    return shown + " " * (width - cell_len(shown))


def clip_middle(text: str, width: int) -> str:
    """Like `clip`, but keeping both ends: for paths and ids."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return clip(text, width)
    head = cut(text, (width - 1) // 2)
    room = width - 1 - cell_len(head)
    start = len(text)
    for first, _, size in reversed(split_graphemes(text)[0]):
        room -= size
        if room < 0:
            break
        start = first
    return head + ELLIPSIS + text[start:]


def clip_path(text: str, width: int) -> str:
    """Like `clip`, but for paths: folders go from the start, the name at the end stays."""
    if cell_len(text) <= width:
        return text
    rest = text
    while "/" in rest:
        rest = rest.partition("/")[2]
        if cell_len(rest) + 2 <= width:
            return f"{ELLIPSIS}/{rest}"
    return clip_middle(rest, width)


def fit(cell: Cell, width: int, align: Align = "left", style: str = "") -> list[Span]:
    """The spans of `cell` in exactly `width` cells: cut with an ellipsis or padded."""
    line = spans(cell, style)
    room = width - width_of(line)
    if room < 0:
        line = _clip_line(line, width)
        room = width - width_of(line)
    if room <= 0:
        return line
    left = {"left": 0, "right": room, "center": room // 2}[align]
    padded: list[Span] = [(" " * left, style)] if left else []
    padded += line
    if room - left:
        padded.append((" " * (room - left), style))
    return padded


def _clip_line(line: Line, width: int) -> list[Span]:
    out: list[Span] = []
    left = width
    for text, style in line:
        size = cell_len(text)
        if size < left:
            out.append((text, style))
            left -= size
            continue
        out.append((cut(text, left - 1) + ELLIPSIS if left else "", style))
        break
    return out


def safe(text: str) -> str:
    """`text` on one line without a character that could act on a terminal."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _picture(char) for char in text)


def _picture(char: str) -> str:
    code = ord(char)
    if char == "\t":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    # Joiners and selectors shape emoji and Indic text; everything else unprintable is invisible or harmful.
    return char if char in "\u200d\u200c\ufe0f" or char.isspace() else "\ufffd"
