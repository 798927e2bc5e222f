"""Why the fast parser refused a line, rule by rule and with places."""

import json
from typing import Any

from agentic_rl_tui.core.datasets.blocks import BOM
from agentic_rl_tui.core.datasets.jsonscan import Scan, scan, show_path
from agentic_rl_tui.core.i18n import _, ngettext

_RULE_OF_KIND = {
    "syntax": "bad-json",
    "depth": "too-deep",
    "nan": "nan",
    "range": "number-range",
    "surrogate": "lone-surrogate",
    "control": "control-character",
    "duplicate": "duplicate-key",
}
UNREADABLE = object()
"""Stands for a row that no reader can make sense of."""


class LineText:
    """A line as text, with the bytes that are no UTF-8 replaced, and its scan, made when it is needed."""

    def __init__(self, body: bytes) -> None:
        self.bad_byte: tuple[int, str] | None = None
        try:
            self.text = body.decode()
        except UnicodeDecodeError as error:
            self.text = body.decode("utf-8", "replace")
            shown = body[error.start : error.start + 4].hex(" ")
            self.bad_byte = (
                len(body[: error.start].decode()),
                _("these bytes are no UTF-8: {shown}").format(shown=shown),
            )
        self._scan: Scan | None = None

    @property
    def scan(self) -> Scan:
        if self._scan is None:
            self._scan = scan(self.text)
        return self._scan


Placed = tuple[str, int, str, str]
"""Rule, column from 1, path, message."""


def line_faults(body: bytes, line: LineText, parser_words: str) -> tuple[list[Placed], Any]:
    """All faults of a line that is no strict JSON, and its row where a lenient reader finds one, else UNREADABLE.

    parser_words: what the parser said, for the case that nothing else explains its refusal.
    """
    found: list[Placed] = []
    text = line.text
    if body.startswith(BOM):
        found.append(("bom", 1, "", _("a byte order mark (BOM) stands before the row")))
        line = LineText(body[len(BOM) :])
        text = line.text
    if line.bad_byte is not None:
        found.append(("invalid-utf8", line.bad_byte[0] + 1, "", line.bad_byte[1]))
    shift = 2 if found and found[0][0] == "bom" else 1
    nuls = text.count("\0")
    if nuls:
        told = ngettext("a NUL byte in the line", "{count} NUL bytes in the line", nuls).format(count=nuls)
        found.append(("nul-byte", text.index("\0") + shift, "", told))
        if nuls == len(text.strip()):
            return found, UNREADABLE
    scanned = line.scan
    for fault in scanned.faults:
        if fault.kind == "control" and text[fault.index] == "\0":
            continue
        rule = _RULE_OF_KIND[fault.kind]
        found.append((rule, fault.index + shift, show_path(fault.path), fault.message))
    if not found:
        found.append(("bad-json", 1, "", f"no JSON: {parser_words}"))
    return found, _lenient(text) if scanned.is_complete else UNREADABLE


def _lenient(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return UNREADABLE


def duplicates(line: LineText) -> list[Placed]:
    """The keys that a sound line holds twice."""
    return [
        ("duplicate-key", fault.index + 1, show_path(fault.path), fault.message)
        for fault in line.scan.faults
        if fault.kind == "duplicate"
    ]
