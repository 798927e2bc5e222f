"""Reading and writing single YAML values.

Values are read by the rules of YAML 1.2. The service's own client reads by those of 1.1; where the two disagree
the reading says so, since such a value means one thing to a person and another to a program.
"""

import json
import math
import re
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple

Scalar = str | int | float | bool | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_OLD_TRUE = frozenset({"yes", "Yes", "YES", "on", "On", "ON"})
_OLD_FALSE = frozenset({"no", "No", "NO", "off", "Off", "OFF"})
_WORDS = _NULLS | _TRUE | _FALSE | _OLD_TRUE | _OLD_FALSE
_WORD_STARTS = frozenset(word[:1] for word in _WORDS)
_NUMBER_STARTS = frozenset("0123456789+-.")

_INT = re.compile(r"[-+]?[0-9]+")
_PREFIXED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_OLD_INT = re.compile(r"[-+]?(?:0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+|(?:0|[1-9][0-9_]*)|[1-9][0-9_]*(?::[0-5]?[0-9])+)")
_OLD_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?")


class Oddity(Enum):
    """How the two versions of YAML disagree on a plain scalar."""

    FLOAT_AS_TEXT = auto()  # 2e-6, 1e5: text in 1.1
    INT_AS_OTHER = auto()  # 010, 0o10: another number, or text, in 1.1
    UNDERSCORES = auto()  # 1_000: a number in 1.1 only
    BASE_SIXTY = auto()  # 1:30: ninety in 1.1
    BOOLEAN_WORD = auto()  # yes, off: a boolean in 1.1 only
    DATE = auto()  # 2026-12-01: a date in 1.1


class Reading(NamedTuple):
    """What a plain scalar means. old is its value for YAML 1.1 where that differs."""

    value: Scalar
    oddity: Oddity | None = None
    old: Any = None


@lru_cache(maxsize=4096)
def read_plain(text: str) -> Reading:
    """The value of an unquoted scalar."""
    first = text[:1]
    if first in _NUMBER_STARTS:
        return _read_number(text)
    if first in _WORD_STARTS and text in _WORDS:
        if text in _NULLS:
            return Reading(None)
        if text in _TRUE or text in _FALSE:
            return Reading(text in _TRUE)
        return Reading(text, Oddity.BOOLEAN_WORD, text in _OLD_TRUE)
    return Reading(text)


def _read_number(text: str) -> Reading:
    if _INT.fullmatch(text):
        value = _int(text, 10)
        if value is None:
            return Reading(text)
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0":
            old = _int(digits, 8) if set(digits) <= set("01234567") else text
            sign = -1 if text[0] == "-" else 1
            return Reading(value, Oddity.INT_AS_OTHER, old if isinstance(old, str) or old is None else sign * old)
        return Reading(value)
    if _PREFIXED.fullmatch(text):
        value = int(text, 0)
        return Reading(value) if text[1] == "x" else Reading(value, Oddity.INT_AS_OTHER, text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return Reading(number) if _OLD_FLOAT.fullmatch(text) else Reading(number, Oddity.FLOAT_AS_TEXT, text)
    special = _SPECIAL.fullmatch(text)
    if special:
        return Reading(math.nan if "n" in text[1].lower() else float(f"{special[1] or ''}inf"))
    if "_" in text and (_OLD_INT.fullmatch(text) or _OLD_FLOAT.fullmatch(text)):
        return Reading(text, Oddity.UNDERSCORES, text.replace("_", ""))
    if ":" in text and (_OLD_INT.fullmatch(text) or _OLD_FLOAT.fullmatch(text)):
        return Reading(text, Oddity.BASE_SIXTY)
    if _DATE.fullmatch(text):
        return Reading(text, Oddity.DATE)
    return Reading(text)


def _int(text: str, base: int) -> int | None:
    """None for numbers longer than Python converts."""
    try:
        return int(text, base)
    except ValueError:
        return None


def number_from_text(text: str) -> int | float | None:
    """The number that a text spells by either version's rules, or None."""
    cleaned = text.strip().replace("_", "")
    if _INT.fullmatch(cleaned):
        return _int(cleaned, 10)
    if _FLOAT.fullmatch(cleaned):
        return float(cleaned)
    return None


def render_number(value: int | float) -> str:
    """A number that both versions of YAML read as this number: 2e-06 becomes ``2.0e-6``."""
    if isinstance(value, bool):
        raise TypeError("a boolean is no number")
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    if "." not in mantissa:
        mantissa += ".0"
    sign = "-" if power[0] == "-" else "+"
    digits = power.lstrip("+-").lstrip("0")
    return f"{mantissa}e{sign}{digits}"


_PLAIN_SAFE = re.compile(r"[^\W\d_][\w ./()@=+~-]*|\.{1,2}/[\w ./()@=+~-]*|/[\w ./()@=+~-]+|_[\w./-]*")
_PRINTABLE = re.compile("[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")


def render_text(text: str) -> str:
    """A string that both versions of YAML read as this string: plain where that is safe, else double-quoted."""
    if _is_plain(text):
        return text
    return _PRINTABLE.sub(lambda match: _escape(match[0]), json.dumps(text, ensure_ascii=False))


def _escape(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        code = 0xFFFD
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _is_plain(text: str) -> bool:
    if not _PLAIN_SAFE.fullmatch(text) or text.endswith(" ") or "  " in text or _PRINTABLE.search(text):
        return False
    if text in _WORDS:
        return False
    reading = read_plain(text)
    return reading.value == text and reading.oddity is None


def render_scalar(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return render_number(value)
    return render_text(str(value))
