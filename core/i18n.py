"""Translation of what people read. English is the source language; catalogues lie in ``core/locale``.

Import as ``from agentic_rl_tui.core.i18n import _``. Texts in module-level tables are marked with ``N_`` and
translated where they are shown, so that a switch of language takes effect at once.
"""

import os

TYPE_CHECKING = False  # neither typing nor pathlib: every short command passes through here
if TYPE_CHECKING:
    from gettext import NullTranslations

DOMAIN = "agentic-rl-tui"
LANGUAGES = {"en": "English", "zh_CN": "简体中文"}
_NAMES = {"en": (LANGUAGES["en"],), "zh_CN": (LANGUAGES["zh_CN"], "中文", "chinese")}
SETTING = "language"
"""The name of the setting: ``auto`` or a key of LANGUAGES."""

_LOCALE_DIR = os.path.join(os.path.dirname(__file__), "locale")
_SYSTEM_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


class _Current:
    language = "en"
    catalogue: "NullTranslations | None" = None
    """None for English, so that a short command in English never imports gettext."""


def set_language(wanted: str | None) -> str:
    """Switch to `wanted` (``en``, ``zh``, ``zh_CN.UTF-8``, …), or to the system's language for None or ``auto``.

    A language without a catalogue falls back to English. Returns the language in force.
    """
    code = known_language(wanted)
    if code != _Current.language:
        _Current.catalogue = None if code == "en" else _read(code)
        _Current.language = code
    return code


def known_language(wanted: str | None) -> str:
    """The key of LANGUAGES that `wanted` means; English where there is none."""
    if not wanted or wanted == "auto":
        wanted = next((os.environ[name] for name in _SYSTEM_VARIABLES if os.environ.get(name)), "en").split(":")[0]
    return language_named(wanted) or "en"


def language_named(name: str) -> str | None:
    """The key of LANGUAGES of any name that the language goes by: ``zh``, ``zh-Hans``, ``en_GB.UTF-8``, ``中文``."""
    plain = name.partition(".")[0].partition("@")[0].replace("-", "_").strip().lower()
    for code, (own_name, *others) in _NAMES.items():
        if plain in (own_name.lower(), *others) or plain.partition("_")[0] == code.partition("_")[0]:
            return code
    return None


def _read(code: str) -> "NullTranslations":
    import gettext

    return gettext.translation(DOMAIN, _LOCALE_DIR, [code], fallback=True)


def language() -> str:
    return _Current.language


def _(text: str) -> str:
    # The empty text is the key of the catalogue's own header.
    return _Current.catalogue.gettext(text) if _Current.catalogue is not None and text else text


def ngettext(singular: str, plural: str, count: int) -> str:
    if _Current.catalogue is not None:
        return _Current.catalogue.ngettext(singular, plural, count)
    return singular if count == 1 else plural


def pgettext(context: str, text: str) -> str:
    """The translation of a word that means another thing elsewhere; `context` says which."""
    return _Current.catalogue.pgettext(context, text) if _Current.catalogue is not None else text


def N_(text: str) -> str:  # noqa: N802 - the name that extraction tools look for
    """Mark a text for extraction without translating it here."""
    return text
