"""Texts as sets of three-word pieces, for telling near duplicates."""

import re
import unicodedata
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

_SHINGLE = 3
# Scripts without spaces between words: each character is a token.
_CJK = (
    "\u2e80-\u2fff\u3005-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
_ASCII_TOKEN = re.compile(r"\w+|[^\w\s]", re.ASCII)


def row_text(row: Any) -> str | None:
    """The texts of a row's messages, normalised: NFKC, case folded, white space collapsed. None without any text."""
    messages = row.get("messages") if isinstance(row, Mapping) else None
    if not isinstance(messages, list):
        return None
    texts = [text for message in messages if (text := _content(message))]
    joined = "\n".join(texts)
    if not joined.isascii():
        joined = unicodedata.normalize("NFKC", joined)
    normal = " ".join(joined.casefold().split())
    return normal or None


def _content(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return ""


def digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shingles(text: str) -> set[int]:
    """Hashes of all runs of three tokens; of the whole text when it has fewer. Equal within one process only."""
    tokens = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    if len(tokens) < _SHINGLE:
        return {hash(tuple(tokens))} if tokens else set()
    return set(map(hash, zip(tokens, tokens[1:], tokens[2:], strict=False)))


def jaccard(one: set[int], other: set[int]) -> float:
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 0.0
