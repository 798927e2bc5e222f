"""How the help of a verb is laid out: measured in terminal cells, and with the lines of a list left as they are."""

import argparse
import re
from collections.abc import Iterable

from agentic_rl_tui.app.language import cells
from agentic_rl_tui.core.i18n import _

_PIECE = re.compile(r"\s+|[（“《]*(?:[!-~…–×]+|.)[，。；：、？）”》]*")
"""What stays on one line: blanks, a word, or a character with the marks that may not begin or end a line."""


class Formatter(argparse.HelpFormatter):
    """argparse counts characters; a Chinese one takes two cells."""

    def _format_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None,
    ) -> str:
        shown = _("usage: ") if prefix is None else prefix
        blank = " " * cells(shown)
        return shown + super()._format_usage(usage, actions, groups, blank)[len(blank) :]

    def _split_lines(self, text: str, width: int) -> list[str]:
        return super()._split_lines(text, width) if text.isascii() else wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "\n".join(indent + line for line in text.split("\n"))
        if text.isascii():
            return super()._fill_text(text, width, indent)
        return "\n".join(indent + line for line in wrapped(text, width - len(indent)))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at blanks and between Chinese characters."""
    lines = [""]
    for piece in _PIECE.findall(text.strip()):
        if piece.isspace():
            piece = " " if lines[-1] else ""
        if lines[-1] and cells(lines[-1]) + cells(piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += piece
    return lines


def listed(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A titled list for the end of a verb's help; the left column holds names, one cell a character."""
    known = list(rows)
    width = max(len(name) for name, _text in known)
    return "\n".join([f"{title}:", *(f"  {name:{width}}  {text}" for name, text in known)])
