"""Keys by their names: as Textual has them, as people read them, and as terminals send them."""

import string
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cache

UNSENDABLE = {
    "ctrl+h": "backspace",
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
    "alt+b": "ctrl+left",
    "alt+f": "ctrl+right",
}
"""Keys that never arrive, each with the one that arrives in its place."""
_GLYPHS = {
    "enter": "↵",
    "escape": "esc",
    "slash": "/",
    "question_mark": "?",
    "exclamation_mark": "!",
    "colon": ":",
    "minus": "-",
    "number_sign": "#",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "full_stop": ".",
    "tilde": "~",
    "equals_sign": "=",
    "ampersand": "&",
    "at": "@",
    "comma": ",",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


def key_list(keys: str) -> list[str]:
    """The single keys of a comma separated list, in Textual's names."""
    from textual.keys import _character_to_key

    names = []
    for part in keys.split(","):
        key = part.strip()
        if key:
            names.append(_character_to_key(key) if len(key) == 1 else key)
    return names


def key_label(key: str) -> str:
    """How a key is written for people: ``^r`` for ctrl+r, ``↵`` for enter."""
    *modifiers, name = key.split("+")
    shown = _GLYPHS.get(name, name)
    for modifier in modifiers:
        shown = f"^{shown}" if modifier == "ctrl" else f"{modifier}+{shown}"
    return shown


def key_labels(keys: str) -> str:
    return " ".join(key_label(key) for key in key_list(keys))


@dataclass(frozen=True, slots=True)
class _AltKey:
    value: str


@cache
def let_alt_arrive() -> None:
    """Read escape and a digit or letter as alt and that key, at once and without a character to type.

    Textual takes escape and a digit for what a Mac writes with its option key, so that alt+1 typed an inverted
    exclamation mark; a Mac sends such characters themselves, which stay what they are. Escape and b or f are how
    terminals say that the cursor goes by words, and stay that. Capitals begin longer sequences.
    """
    from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

    table: MutableMapping[str, object] = ANSI_SEQUENCES_KEYS  # type: ignore[assignment]
    for letter in string.ascii_lowercase:
        table.setdefault(f"\x1b{letter}", (_AltKey(f"alt+{letter}"),))
    table.update({f"\x1b{digit}": (_AltKey(f"alt+{digit}"),) for digit in string.digits})
