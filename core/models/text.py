"""Making text from outside harmless for a terminal."""

import re

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor moves
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"  # two-character sequences
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


def plain(text: str, *, keep_newlines: bool = True) -> str:
    """Drop terminal escape sequences and show other control characters as ``␀``-style pictures.

    Tabs stay; newlines stay unless told otherwise (then they become ``⏎``). Direction overrides are dropped,
    since they can make a name read as another one.
    """
    text = _BIDI.sub("", _ESCAPES.sub("", text))
    text = text.replace("\r\n", "\n")
    text = _CONTROLS.sub(lambda match: _picture(match[0]), text)
    return text if keep_newlines else text.replace("\n", "⏎")


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"
