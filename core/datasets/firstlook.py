"""What a file is by its first bytes: files that are no JSONL at all get one clear problem instead of thousands."""

import json
from typing import NamedTuple

from agentic_rl_tui.core.datasets.blocks import BOM
from agentic_rl_tui.core.i18n import N_, _

HEAD_BYTES = 1 << 16
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
}
_BINARY = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"SQLite format 3\0": N_("an SQLite database"),
    b"%PDF": "PDF",
    b"\x89HDF": "HDF5",
    b"\x93NUMPY": "NumPy",
    b"\xd0\xcf\x11\xe0": N_("an old Office file"),
}
_SEPARATORS = ((b",", N_("commas")), (b"\t", N_("tabs")), (b";", N_("semicolons")))


class Look(NamedTuple):
    """A problem of the whole file, after which looking at its lines makes no sense."""

    rule: str
    message: str


def look(head: bytes) -> Look | None:
    """head: the first HEAD_BYTES of the file, or all of it."""
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            return Look("compressed", _("the file is compressed ({name})").format(name=_(name)))
    for magic, name in _BINARY.items():
        if head.startswith(magic):
            return Look("binary-file", _("the file is no text but {name}").format(name=_(name)))
    if encoding := wide_encoding(head):
        bits = encoding[4:6]
        return Look(f"utf-{bits}", _("the file is UTF-{bits}, not UTF-8").format(bits=bits))
    return _look_at_text(head.removeprefix(BOM))


def wide_encoding(head: bytes) -> str | None:
    """``utf-16-le`` and the like where the file begins as UTF-16 or UTF-32, with its mark or without."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32-le" if head[0] else "utf-32-be"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if head[0] == 0xFF else "utf-16-be"
    # Without a mark: a JSON row begins with two ASCII characters.
    start = head[:4]
    if len(start) == 4 and start[0] and start[2] and not start[1] and not start[3]:
        return "utf-16-le"
    if len(start) == 4 and start[1] and start[3] and not start[0] and not start[2]:
        return "utf-16-be"
    return None


def _look_at_text(head: bytes) -> Look | None:
    text = head.lstrip(b" \t\r\n")
    first, _line, rest = text.partition(b"\n")
    first, rest = first.strip(), rest.lstrip(b" \t\r\n")
    if text.startswith(b"[") and (not _is_json(first) or (_holds_rows(first) and not rest.startswith(b"{"))):
        return Look("json-array", _("the file is one JSON array, not one object a line"))
    if rest and first in (b"{", b'{"messages": [', b'{"messages":['):
        return Look("json-document", _("a row is spread over several lines"))
    # One odd line before rows is that line's problem alone.
    if (text[:1].isalpha() or text[:1] == b'"') and not rest.startswith(b"{") and b"{" not in first:
        mark = next((name for sign, name in _SEPARATORS if sign in first), None)
        if mark is not None and not _is_json(first):
            return Look("csv", _("the file looks like a table with {mark} (CSV), not JSONL").format(mark=_(mark)))
    return None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _holds_rows(line: bytes) -> bool:
    value = json.loads(line)
    return bool(value) and isinstance(value, list) and all(isinstance(item, dict) for item in value)
