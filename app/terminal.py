"""Sequences for the terminal beyond what Textual draws: desktop notices, the clipboard."""

from collections.abc import Mapping

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

_LONGEST = 200
FORMS = ("auto", "9", "777", "off")
_TAKE_777 = ("foot", "rxvt", "ghostty")
_TAKE_9 = ("kitty", "wezterm", "iterm", "ghostty", "windows-terminal", "konsole")


def notice(title: str, body: str, form: str, environment: Mapping[str, str]) -> str:
    """The sequence that asks the terminal for a desktop notice; empty where none is to be sent.

    form: ``9`` (iTerm2, WezTerm, kitty, …), ``777`` (foot, urxvt, …), ``off``, or ``auto`` for what the terminal
    is known to take. No text can end the sequence early or begin another one.
    """
    if form == "auto":
        form = _known_form(environment)
    if form == "777":
        sequence = f"\x1b]777;notify;{_field(title)};{_field(body)}\x1b\\"
    elif form == "9":
        sequence = f"\x1b]9;{_field(f'{title}: {body}')}\x1b\\"
    else:
        return ""
    return through(sequence, environment)


def _field(text: str) -> str:
    # A leading number and semicolon would be another command of OSC 9.
    clean = redact(plain(text, keep_newlines=False)).replace(";", ",")
    return "".join(char for char in clean if char.isprintable())[:_LONGEST]


def _known_form(environment: Mapping[str, str]) -> str:
    names = " ".join(
        environment.get(name, "") for name in ("TERM_PROGRAM", "TERM", "LC_TERMINAL", "TERMINAL_EMULATOR")
    ).lower()
    if environment.get("WT_SESSION"):
        names += " windows-terminal"
    if any(name in names for name in _TAKE_777):
        return "777"
    return "9" if any(name in names for name in _TAKE_9) else "off"


def through(sequence: str, environment: Mapping[str, str]) -> str:
    """A sequence for the outer terminal, wrapped where tmux stands between."""
    if not environment.get("TMUX"):
        return sequence
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"


def clipboard(text: str, environment: Mapping[str, str]) -> str:
    """OSC 52; under tmux both for it and for the terminal around it, since either may be set to refuse."""
    import base64

    sequence = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\a"
    return sequence + (through(sequence, environment) if environment.get("TMUX") else "")
