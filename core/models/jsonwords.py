"""What the readers of JSON say of a text that is none: their English words, marked for translation."""

from agentic_rl_tui.core.i18n import N_, _

WORDS = (
    N_("Expecting value"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Expecting ':' delimiter"),
    N_("Expecting ',' delimiter"),
    N_("Extra data"),
    N_("Unterminated string starting at"),
    N_("Invalid control character at"),
    N_("Invalid \\escape"),
    N_("Input is a zero-length, empty document"),
    N_("unexpected end of data"),
    N_("unexpected character, expected a JSON value"),
    N_("unexpected character, expected a string key"),
    N_("unexpected character, expected ',' or ']'"),
    N_("unexpected character, expected ',' or '}'"),
    N_("unexpected content after document"),
    N_("unexpected control character in string"),
    N_("trailing comma is not allowed"),
    N_("number with leading zero is not allowed"),
    N_("invalid escaped sequence in string"),
    N_("invalid literal, expected 'true'"),
    N_("invalid literal, expected 'false'"),
    N_("invalid literal, expected 'null'"),
)


def in_words(message: str) -> str:
    """A reader's message in the language in force; one that is not known here stays as it is."""
    return _(message)
