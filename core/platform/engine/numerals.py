"""Answers as numbers: how data sets and models spell them, read and written in other ways."""

import re
from fractions import Fraction

_NUMBER = re.compile(
    r"""
    (?<![\w.])
    (?P<sign>[-−+]?)
    (?: \(?(?P<top>\d[\d_,]*)\s*/\s*(?P<bottom>\d[\d_,]*)\)?
      | (?P<plain>\d[\d_,]*(?:\.\d+)?|\.\d+)
    )
    \s?(?P<percent>%?)
    """,
    re.VERBOSE,
)
_WHOLE = re.compile(r"[-−+]?(?:\d[\d_,]*(?:\.\d+)?|\.\d+|\(?\d[\d_,]*\s*/\s*\d[\d_,]*\)?)\s?%?")


def parse(text: str) -> Fraction | None:
    """The number that `text` spells as a whole: ``1_000``, ``1,000``, ``2/3``, ``75%``, ``-0.5``. None for others."""
    stripped = text.strip()
    if not stripped or len(stripped) > 40 or not _WHOLE.fullmatch(stripped):
        return None
    match = _NUMBER.match(stripped)
    return _value(match) if match else None


def find_all(text: str, *, limit: int = 12) -> list[tuple[str, Fraction]]:
    """The first distinct numbers in `text`, each with its spelling."""
    found: dict[Fraction, str] = {}
    for match in _NUMBER.finditer(text):
        value = _value(match)
        if value is not None and value not in found:
            found[value] = match[0].strip()
            if len(found) == limit:
                break
    return [(spelling, value) for value, spelling in found.items()]


def _value(match: re.Match[str]) -> Fraction | None:
    if match["top"]:
        bottom = int(_digits(match["bottom"]))
        if bottom == 0:
            return None
        value = Fraction(int(_digits(match["top"])), bottom)
    else:
        digits = _digits(match["plain"])
        if len(digits) > 30:
            return None
        value = Fraction(digits)
    if match["percent"]:
        value /= 100
    return -value if match["sign"] in ("-", "−") else value


def _digits(text: str) -> str:
    return text.replace("_", "").replace(",", "")


def spell(value: Fraction, *, places: int = 4) -> str:
    """Plain decimal spelling, without trailing zeros: ``1000``, ``0.6667``, ``-2.5``."""
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.{places}f}".rstrip("0").rstrip(".")
    return text if text not in ("0", "-0") else f"{float(value):.12f}".rstrip("0").rstrip(".")


def restyled(spelling: str, value: Fraction) -> list[str]:
    """Other ways to write the same number than `spelling`, at least one."""
    plain = spell(value)
    ways: list[str] = []
    if value.denominator == 1:
        ways += [f"{value.numerator:,}", plain, f"{value.numerator}.0", f"{value.numerator}.00"]
    else:
        ways += [f"{value.numerator}/{value.denominator}", plain]
        ways += [f"{value.numerator * 2}/{value.denominator * 2}", f"{spell(value * 100, places=2)}%"]
    return [way for way in dict.fromkeys(ways) if way != spelling]


def near(value: Fraction) -> list[str]:
    """Wrong by little: off by one, by a digit, by the sign, turned upside down."""
    if value.denominator == 1:
        whole = value.numerator
        ways = [whole + 1, whole - 1, -whole, whole + 10, whole * 10]
        return [str(way) for way in dict.fromkeys(ways) if way != whole]
    top, bottom = value.numerator, value.denominator
    ways_fraction = [Fraction(top + 1, bottom), Fraction(bottom, top) if top else Fraction(1), -value]
    return [spell(way) for way in ways_fraction if way != value]
