"""The checks before a submission, as people read them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.spark import bar

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.preflight import Check

LOOKS = {
    "running": ("●", "$running"),
    "ok": ("✓", "$succeeded"),
    "warning": ("!", "$warn"),
    "error": ("✗", "$failed"),
    "info": ("·", "$muted"),
}
MOST_SHOWN = 8
_BAR_WIDTH = 12


def check_lines(check: "Check") -> "Iterator[tuple[Span, ...]]":
    glyph, style = LOOKS.get(check.state, LOOKS["info"])
    line: list[Span] = [(f"{glyph} ", style), (_clean(check.label), "$ink")]
    if check.state == "running" and check.share is not None:
        line += [("  ", ""), (bar(check.share, _BAR_WIDTH), "$running on $line")]
    elif check.detail:
        line.append((f"  {_clean(check.detail)}", "$muted"))
    yield tuple(line)


def finding_lines(checks: "Sequence[Check]") -> "Iterator[tuple[Span, ...]]":
    """The findings that block first, a few of them in full and the rest as a count."""
    found = [item for check in checks for item in check.findings]
    ranked = sorted(found, key=lambda item: item.severity != "error")
    for item in ranked[:MOST_SHOWN]:
        glyph, style = LOOKS.get(item.severity, LOOKS["info"])
        yield ((f"{glyph} ", style), (f"{_clean(item.place)}  ", "$muted"), (_clean(item.message), "$ink"))
        if item.advice and item.severity == "error":
            yield ((f"    → {_clean(item.advice)}", "$faint"),)
    more = len(found) - MOST_SHOWN + sum(check.hidden for check in checks)
    if more > 0:
        yield ((_("and {count} more").format(count=more), "$muted"),)


def _clean(text: str) -> str:
    return redact(plain(text, keep_newlines=False))
