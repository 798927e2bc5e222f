"""Translation of what people read. English is the source language; catalogues lie in ``core/locale``.

Import as ``from agentic_rl_tui.core.i18n import _``. Texts in module-level tables are marked with ``N_`` and
translated where they are shown, so that a switch of language takes effect at once.
"""

import gettext
import locale
import os
from pathlib import Path

DOMAIN = "agentic-rl-tui"
LANGUAGES = {"en": "English", "zh_CN": "简体中文"}

_LOCALE_DIR = Path(__file__).parent / "locale"
_SYSTEM_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


class _Current:
    language = "en"
    translations: gettext.NullTranslations = gettext.NullTranslations()


def set_language(wanted: str | None) -> str:
    """Switch to `wanted` (``en``, ``zh``, ``zh_CN.UTF-8``, …), or to the system's language for None or ``auto``.

    A language without a catalogue falls back to English. Returns the language in force.
    """
    if wanted in (None, "", "auto"):
        wanted = next((os.environ[name] for name in _SYSTEM_VARIABLES if os.environ.get(name)), "en").split(":")[0]
    assert wanted is not None
    plain = locale.normalize(wanted).split(".")[0]
    code = next((known for known in LANGUAGES if plain == known or plain.split("_")[0] == known.split("_")[0]), "en")
    _Current.language = code
    _Current.translations = (
        gettext.NullTranslations() if code == "en" else gettext.translation(DOMAIN, _LOCALE_DIR, [code], fallback=True)
    )
    return code


def language() -> str:
    return _Current.language


def _(text: str) -> str:
    return _Current.translations.gettext(text)


def ngettext(singular: str, plural: str, count: int) -> str:
    return _Current.translations.ngettext(singular, plural, count)


def N_(text: str) -> str:  # noqa: N802 - the name that extraction tools look for
    """Mark a text for extraction without translating it here."""
    return text
