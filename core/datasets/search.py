"""Finding text in the bytes of JSONL rows."""

import json
import re
from typing import Protocol

from agentic_rl_tui.core.datasets.blocks import BOM
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError

_LOOKS_AROUND = re.compile(r"\(\?|\\[AZ]|[*+?}]\+")
"""Groups with options or look-arounds, ends of the text, and parts that never give back."""

Parts = tuple[str, str, str]
"""The text of a row before its first match, the match, and the text after it."""


class Matcher(Protocol):
    def may_hold(self, data: bytes) -> bool:
        """False only where no row inside `data` can match: a cheap look at many rows at once."""
        ...

    def find(self, raw: bytes) -> Parts | None: ...


def matcher(text: str, *, regex: bool, ignore_case: bool) -> Matcher:
    """Raises InputError for a bad regular expression."""
    if regex:
        return _Expression(text, ignore_case=ignore_case)
    if not ignore_case:
        return _Literal(text)
    if all(char.isascii() or char.lower() == char.upper() == char.casefold() for char in text):
        return _AnyCase(text)
    return _AnyCaseOfAll(text)


class _Literal:
    """A text in any of the ways that JSON may write it."""

    def __init__(self, text: str) -> None:
        self._forms = _written(text)

    def may_hold(self, data: bytes) -> bool:
        return any(form in data for form in self._forms)

    def find(self, raw: bytes) -> Parts | None:
        places = [(place, form) for form in self._forms if (place := raw.find(form)) >= 0]
        if not places:
            return None
        place, form = min(places)
        return _decode(raw[:place]), _decode(form), _decode(raw[place + len(form) :])


class _AnyCase:
    """A text whose only letters with cases are ASCII: bytes are compared in lower case."""

    def __init__(self, text: str) -> None:
        self._forms = sorted({form.lower() for form in _written(text)})

    def may_hold(self, data: bytes) -> bool:
        lowered = data.lower()
        return any(form in lowered for form in self._forms)

    def find(self, raw: bytes) -> Parts | None:
        lowered = raw.lower()
        places = [(place, len(form)) for form in self._forms if (place := lowered.find(form)) >= 0]
        if not places:
            return None
        place, size = min(places)
        return _decode(raw[:place]), _decode(raw[place : place + size]), _decode(raw[place + size :])


class _AnyCaseOfAll:
    """A text with letters of any script in any case; slower."""

    def __init__(self, text: str) -> None:
        runs = re.findall(r"[\x00-\x7f]+|[^\x00-\x7f]", text)
        self._pattern = re.compile(b"".join(map(_any_case, runs)))

    def may_hold(self, data: bytes) -> bool:
        return self._pattern.search(data) is not None

    def find(self, raw: bytes) -> Parts | None:
        match = self._pattern.search(raw)
        if match is None:
            return None
        return _decode(raw[: match.start()]), _decode(match[0]), _decode(raw[match.end() :])


class _Expression:
    """A regular expression over the characters of the row as the file holds them."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        flags = re.IGNORECASE if ignore_case else 0
        try:
            self._pattern = re.compile(text, flags)
        except re.error as error:
            raise InputError(
                _("{text!r} is no regular expression: {error}").format(text=text, error=error),
                advice=_("Correct it, or search for the plain text."),
            ) from error
        # A match in a row is one in the text around it too, unless the expression looks beyond what it matches.
        self._many_rows = None if _LOOKS_AROUND.search(text) else re.compile(text, flags | re.MULTILINE)

    def may_hold(self, data: bytes) -> bool:
        if self._many_rows is None or b"\r" in data or data.startswith(BOM):
            return True
        return self._many_rows.search(_decode(data)) is not None

    def find(self, raw: bytes) -> Parts | None:
        row = _decode(raw)
        match = self._pattern.search(row)
        return None if match is None else (row[: match.start()], match[0], row[match.end() :])


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _written(text: str) -> list[bytes]:
    r"""The forms of a text inside a JSON string: plain, with ``\n`` and the like, with ``\u5956``, with ``\uABCD``."""
    escaped = json.dumps(text)[1:-1]
    upper = re.sub(r"(?<!\\)\\u([0-9a-f]{4})", lambda match: "\\u" + match[1].upper(), escaped)
    forms = {text, escaped, upper, json.dumps(text, ensure_ascii=False)[1:-1]}
    return sorted(form.encode("utf-8", "surrogatepass") for form in forms)


def _any_case(run: str) -> bytes:
    """An expression for a run of ASCII, or one other character, in any case and any way to write it."""
    if run.isascii():
        return b"(?i:" + b"|".join(map(re.escape, _written(run))) + b")"
    forms = {form for variant in (run, run.lower(), run.upper(), run.casefold()) for form in _written(variant)}
    return b"(?:" + b"|".join(re.escape(form) for form in sorted(forms)) + b")"
