"""What stands out in a log line that has no colours of its own: its time, its level, its numbers."""

import re
from collections.abc import Iterator
from datetime import date

from agentic_rl_tui.widgets.cells import Span

_TIME = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?")
_LEVEL = re.compile(
    r"\b(?:(DEBUG|TRACE)|(INFO|NOTICE)|(WARN(?:ING)?)|(ERROR|CRITICAL|FATAL|Traceback)|(SUCCESS(?:FUL)?))\b"
)
_LEVEL_STYLES = ("$faint", "$muted", "$warn bold", "$failed bold", "$succeeded")
_METRIC = re.compile(r"""(['"][^'"]{1,80}['"]:)|(?<![\w.])(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)(?![\w.])""")
_TROUBLE = re.compile(r"^\s*(?:\w+\.)*\w*(?:Error|Exception): ")
_HEAD = 160

TROUBLE = re.compile(r"(?:\b|(?<=[\d\[;]m))(?:ERROR|CRITICAL|FATAL|Traceback)\b|^\s*(?:\w+\.)*\w*(?:Error|Exception): ")
"""A line that somebody hunting for an error wants to stop at; the word may have a colour of its own."""

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")
_STAMP_WITHIN = 64


def seconds_of(line: str) -> int | None:
    """The time that a line begins with, in seconds of an era of its own; None where it has none."""
    found = _STAMP.search(line, 0, _STAMP_WITHIN)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups())
    try:
        return date(year, month, day).toordinal() * 86_400 + hour * 3600 + minute * 60 + second
    except ValueError:
        return None


def highlight(text: str) -> list[Span]:
    """The spans of a plain line."""
    out: list[Span] = []
    rest = text
    when = _TIME.match(rest)
    if when is not None:
        out.append((when[0], "$faint"))
        rest = rest[when.end() :]
    level = _LEVEL.search(rest, 0, _HEAD)
    if level is not None and level.lastindex is not None:
        style = _LEVEL_STYLES[level.lastindex - 1]
        strong = "$failed" if level.lastindex == 4 else "$warn" if level.lastindex == 3 else ""
        out += [(rest[: level.start()], "$faint"), (level[0], style)]
        out += _body(rest[level.end() :], strong)
    elif _TROUBLE.match(rest):
        out.append((rest, "$failed"))
    else:
        out += _body(rest, "")
    return [span for span in out if span[0]]


def _body(text: str, style: str) -> Iterator[Span]:
    brace = text.find("{", 0, _HEAD)
    if style or brace < 0 or text.find(":", brace) < 0:
        yield text, style
        return
    at = 0
    for match in _METRIC.finditer(text, brace):
        yield text[at : match.start()], "$faint" if at > brace else ""
        yield match[0], "$muted" if match[1] else "$ink"
        at = match.end()
    yield text[at:], "$faint"


def marked(line: list[Span], pattern: re.Pattern[str], style: str) -> list[Span]:
    """The same spans with every match of `pattern` in `style`."""
    whole = "".join(text for text, _ in line)
    hits = [match.span() for match in pattern.finditer(whole) if match.end() > match.start()]
    if not hits:
        return line
    out: list[Span] = []
    at = 0
    pending = iter(hits)
    hit = next(pending, None)
    for text, own in line:
        end = at + len(text)
        while at < end:
            if hit is None or hit[0] >= end:
                out.append((whole[at:end], own))
                at = end
            elif at < hit[0]:
                out.append((whole[at : hit[0]], own))
                at = hit[0]
            else:
                stop = min(end, hit[1])
                out.append((whole[at:stop], style))
                at = stop
                if stop == hit[1]:
                    hit = next(pending, None)
    return out
