"""One line of somebody's output as spans: its colours kept and made readable, everything that could act taken out."""

import re
from functools import lru_cache

from agentic_rl_tui.widgets.cells import Span

_TOKEN = re.compile(
    r"\x1b\[([0-9;:]*)m"  # the one kind that is kept: colours
    r"|\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, clipboard
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_NAMED = ("$faint", "$failed", "$succeeded", "$warn", "$running", "$accent", "$running", "$ink")
_ATTRIBUTES = {1: "bold", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_TAB = 8


def spans(raw: str, base: str = "") -> list[Span]:
    """The spans of one line; `base` is the style of what has none of its own.

    A line that rewrites itself with carriage returns shows what it ended with.
    """
    text = _folded(raw)
    if text.isprintable():
        return [(text, base)] if text else []
    if "\t" in text:
        text = text.expandtabs(_TAB)
    out: list[Span] = []
    pen = _Pen()
    style = base
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            out.append((text[at : match.start()], style))
        at = match.end()
        if match[1] is not None:
            pen.apply(match[1])
            style = pen.words() or base
        elif len(match[0]) == 1 and match[0] != "\x1b" and (shown := _picture(match[0])):
            out.append((shown, "$faint"))
    if at < len(text):
        out.append((text[at:], style))
    return out


def text_of(raw: str) -> str:
    """The plain text of a line as `spans` shows it."""
    return "".join(text for text, _ in spans(raw))


def raw_spans(raw: str, base: str = "") -> list[Span]:
    """The spans of a line as it came: nothing folded, nothing coloured, what could act shown as a picture."""
    shown = raw if raw.isprintable() else "".join(char if char.isprintable() else _drawn(char) for char in raw)
    return [(shown, base)] if shown else []


def _drawn(char: str) -> str:
    if char in "\u200c\u200d\ufe0f" or char == "\u3000":
        return char
    return _picture(char) or f"‹{ord(char):04x}›"


def _folded(raw: str) -> str:
    if "\r" not in raw:
        return raw
    parts = [part for part in raw.split("\r") if part]
    return parts[-1] if parts else ""


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    # Direction overrides, byte order marks and spaces without a width have no picture and are better gone.
    return "\ufffd" if 0x80 <= code < 0xA0 else ""


class _Pen:
    """The state that colour sequences leave behind."""

    def __init__(self) -> None:
        self.ink = ""
        self.ground = ""
        self.attributes: set[int] = set()

    def words(self) -> str:
        ink = self.ink
        parts = [_ATTRIBUTES[number] for number in sorted(self.attributes) if number in _ATTRIBUTES]
        if 2 in self.attributes and not ink:
            ink = "$muted"
        if self.ground and not ink:
            ink = "$ink"
        words = " ".join([ink, *parts]).strip()
        return f"{words} on {self.ground}" if self.ground else words

    def apply(self, parameters: str) -> None:
        codes = [int(part) if part else 0 for part in re.split("[;:]", parameters)] if parameters else [0]
        index = 0
        while index < len(codes):
            index += self._one(codes, index)

    def _one(self, codes: list[int], index: int) -> int:
        """Carry out the code at `index`; how many numbers it took."""
        code = codes[index]
        if code == 0:
            self.__init__()  # type: ignore[misc]
        elif code in (1, 2, 3, 4, 7, 9):
            self.attributes.add(code)
        elif code == 22:
            self.attributes -= {1, 2}
        elif code in (23, 24, 27, 29):
            self.attributes.discard(code - 20)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self.ink = _NAMED[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self.ground = _NAMED[code % 10]
        elif code == 39:
            self.ink = ""
        elif code == 49:
            self.ground = ""
        elif code in (38, 48):
            color, taken = _extended(codes, index)
            if color and code == 38:
                self.ink = color
            elif color:
                self.ground = color
            return taken
        return 1


def _extended(codes: list[int], index: int) -> tuple[str, int]:
    kind = codes[index + 1] if index + 1 < len(codes) else -1
    if kind == 5 and index + 2 < len(codes):
        return _palette(codes[index + 2]), 3
    if kind == 2 and index + 4 < len(codes):
        red, green, blue = (min(255, part) for part in codes[index + 2 : index + 5])
        return f"#{red:02x}{green:02x}{blue:02x}", 5
    return "", len(codes) - index


@lru_cache(256)
def _palette(number: int) -> str:
    """One of the 256 colours; the first sixteen follow the theme."""
    if number < 16:
        return _NAMED[number % 8]
    if number < 232:
        steps = (0, 95, 135, 175, 215, 255)
        cube = number - 16
        return f"#{steps[cube // 36]:02x}{steps[cube // 6 % 6]:02x}{steps[cube % 6]:02x}"
    if number < 256:
        grey = 8 + 10 * (number - 232)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    return ""
