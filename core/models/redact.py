"""Masking of secrets by value, wherever text leaves the process."""

import re
from _thread import allocate_lock

_MIN_LENGTH = 6
_SHAPES = re.compile(r"\b(?:sk|tok)-[A-Za-z0-9_-]{6,}|(?<=Bearer )[^\s'\"\\,;]{6,}|(?<=Signature=)[^&\s'\"]+")

_UNQUOTED = re.compile(r"[A-Za-z0-9_.~-]+")

_SHAPE_WORDS = ("sk-", "tok-", "Bearer ", "Signature=")
"""Every shape has one of these in it or before it."""


def mask(secret: str) -> str:
    """What stands for a secret: its last four characters, so that a person can tell two keys apart."""
    tail = secret[-4:] if len(secret) >= 12 else ""
    return f"••••{tail}"


class Redactor:
    """Knows the secrets of this process and replaces them in text: as they are, URL-encoded and in base64.

    Shapes of keys (``sk-…``, ``Bearer …``, URL signatures) are masked even when nobody registered them.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()  # threading itself is more than a short command needs
        self._needles: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def add(self, *secrets: str | None) -> None:
        """Register secrets; those shorter than 6 characters would mask ordinary words and are ignored."""
        with self._lock:
            for secret in secrets:
                if secret is None or len(secret.strip()) < _MIN_LENGTH:
                    continue
                plain = secret.strip()
                shown = mask(plain)
                for form in (plain, _quoted(plain), *_base64_forms(plain)):
                    self._needles[form] = shown
            ordered = sorted(self._needles, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        pattern = self._pattern
        # Looking for words is many times quicker than the patterns, and most text holds none of them.
        if pattern is not None and any(needle in text for needle in tuple(self._needles)):
            text = pattern.sub(lambda match: self._needles.get(match[0], "••••"), text)
        if not any(word in text for word in _SHAPE_WORDS):
            return text
        return _SHAPES.sub(lambda match: mask(match[0]), text)


def _quoted(secret: str) -> str:
    """As it stands in a URL. Most keys need no quoting, and the module for it is a tenth of a short command."""
    if _UNQUOTED.fullmatch(secret):
        return secret
    from urllib.parse import quote

    return quote(secret, safe="")


def _base64_forms(secret: str) -> tuple[str, ...]:
    """The base64 texts inside which `secret` stays recognisable at each of the three byte offsets."""
    from binascii import b2a_base64

    raw = secret.encode()
    forms = []
    for lead in range(3):
        encoded = b2a_base64(b"\0" * lead + raw, newline=False).decode()
        head = 0 if lead == 0 else 4
        tail = len(encoded) - (4 if encoded.endswith("=") else 0)
        core = encoded[head:tail]
        if len(core) >= 8:
            forms.append(core)
    return tuple(forms)


redact = Redactor()
"""The redactor of this process."""
