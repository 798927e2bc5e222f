"""The language of one start, known before anything else is read.

AGENTIC_RL_LANGUAGE > ``language`` in the user's config file > LANGUAGE, LC_ALL, LC_MESSAGES, LANG. A workspace's own
setting is read with the other settings.
"""

import os

from agentic_rl_tui.core.folders import USER_FILE, config_folder
from agentic_rl_tui.core.i18n import SETTING, set_language

VARIABLE = "AGENTIC_RL_LANGUAGE"


def speak() -> str:
    """Take up the language of this start; returns the one in force. Never raises."""
    return set_language(os.environ.get(VARIABLE) or _of_user_file())


def cells(text: str) -> int:
    """How wide a title is on a terminal. For our own words: letters and Chinese characters, nothing that combines."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _of_user_file() -> str | None:
    """The setting in the user's file. A file that is no TOML is told of when the settings are read, not here."""
    try:
        with open(os.path.join(config_folder(), USER_FILE), "rb") as file:
            raw = file.read()
    except OSError:
        return None
    if SETTING.encode() not in raw:
        return None
    import tomllib

    try:
        found = tomllib.loads(raw.decode("utf-8-sig")).get(SETTING)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    return found if isinstance(found, str) else None
