"""The language of one start, known before anything else is read.

AGENTIC_RL_LANGUAGE > ``language`` in the user's config file > LANGUAGE, LC_ALL, LC_MESSAGES, LANG. A workspace's own
setting is read with the other settings.
"""

import os
import sys

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


def user_file() -> str:
    """The same path as `core.settings` reads, found without its imports, which cost more than a short command."""
    folder = os.environ.get("AGENTIC_RL_CONFIG_DIR")
    if not folder and sys.platform == "linux":
        base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        folder = os.path.join(base, "agentic-rl-tui")
    if not folder:
        from agentic_rl_tui.core.paths import config_dir

        folder = str(config_dir())
    return os.path.join(folder, "config.toml")


def _of_user_file() -> str | None:
    """The setting in the user's file. A file that is no TOML is told of when the settings are read, not here."""
    try:
        with open(user_file(), "rb") as file:
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
