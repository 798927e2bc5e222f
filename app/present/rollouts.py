"""Rollouts as people read them: side by side, and one as a whole conversation with how its reward came together."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.alignment import (
    Slots,
    Turn,
    align,
    differs,
    first_difference_in_text,
    shared_prefix,
    turns_of,
)
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.models.waterfall import Part, waterfall
from agentic_rl_tui.widgets.cells import Line, Span
from agentic_rl_tui.widgets.sidebyside import Block, SideColumn, SideTexts
from agentic_rl_tui.widgets.spark import bar

_UNSEEN = re.compile("[\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]")
_LONGEST = 200_000
_OVERLAP = 2_000
"""Characters read past the longest text that is shown, so that a secret at its end is still known for one."""
_ROLES = {"system": "$muted", "user": "$running", "assistant": "$accent", "tool": "$succeeded"}
_ANSI = {"system": "90", "user": "34", "assistant": "35", "tool": "32"}
_BAR_WIDTH = 16
_HEAD_LINES, _TAIL_LINES = 24, 8


def tidy(value: object, most: int = _LONGEST) -> str:
    """Text from outside made harmless: no escapes, no invisible characters, no secrets; at most so long."""
    text = redact(plain(str(value)[: most + _OVERLAP]))
    return _UNSEEN.sub("", text).expandtabs(4)[:most]


def one_line(value: object, most: int = 200) -> str:
    return " ".join(tidy(value, 4 * most).split())[:most]


def number_of(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def failure_of(record: Mapping[str, Any]) -> str:
    """Why a rollout or its reward failed, in one line; empty where neither did."""
    failure = record.get("failure")
    if isinstance(failure, Mapping):
        return one_line(failure.get("message") or failure.get("kind") or _("failed"))
    if failure:
        return one_line(failure)
    if record.get("reward") is None:
        return next((one_line(part.error) for part in waterfall(record) if part.error), "")
    return ""


# Side by side


@dataclass(frozen=True, slots=True)
class GroupShown:
    """A group ready for the widget: columns, lines of blocks, how many lines are shared, which ones differ."""

    columns: tuple[SideColumn, ...]
    lines: tuple[tuple[Block | None, ...], ...]
    prefix: int
    differences: tuple[int, ...]


def group_shown(records: Sequence[Mapping[str, Any]]) -> GroupShown:
    rollouts = [turns_of(record) for record in records]
    slots = align(rollouts)
    # With one rollout nothing is shared: it is simply read.
    prefix = shared_prefix(rollouts) if len(rollouts) > 1 else 0
    lines = tuple(_blocks(slots, place, rollouts) for place in range(len(slots)))
    different = tuple(place for place, line in enumerate(slots) if len(rollouts) > 1 and differs(line, rollouts))
    return GroupShown(tuple(map(_column, records)), lines, prefix, different)


def _blocks(slots: Slots, place: int, rollouts: Sequence[Sequence[Turn]]) -> tuple[Block | None, ...]:
    turns = [None if at is None else rollouts[n][at] for n, at in enumerate(slots[place])]
    first = next((turn for turn in turns if turn is not None), None)
    base = "" if first is None else turn_text(first)
    blocks: list[Block | None] = []
    is_first = True
    for turn in turns:
        if turn is None:
            blocks.append(None)
            continue
        text = base if turn is first else turn_text(turn)
        shared = None if is_first or text == base else first_difference_in_text(base, text)
        blocks.append(Block(_title(turn), text, "$ink", shared))
        is_first = False
    return tuple(blocks)


def turn_text(turn: Turn) -> str:
    """The words of a turn with its tool calls below; the name of a single one stands in the title already."""
    is_one = len(turn.calls) == 1
    calls = [call.arguments if is_one else f"→ {call.name} {call.arguments}" for call in turn.calls]
    return tidy("\n".join([*([turn.text.strip("\n")] if turn.text else []), *calls]))


def _title(turn: Turn) -> Line:
    role = one_line(turn.role, 20)
    spans: list[Span] = [(role, f"{_ROLES.get(role, '$muted')} bold")]
    if turn.calls:
        names = ", ".join(one_line(call.name, 40) for call in turn.calls)
        spans.append((f" → {names}", "$succeeded"))
    return spans


def _column(record: Mapping[str, Any]) -> SideColumn:
    number = record.get("rollout", 0)
    reward, advantage = number_of(record.get("reward")), number_of(record.get("advantage"))
    failure = failure_of(record)
    first: list[Span] = [(_("rollout {number}").format(number=number), "$ink bold"), ("  ", "")]
    if reward is None:
        first.append((f"✗ {_('failed')}", "$failed"))
    else:
        first += [(f"{reward:.3f} ", "$ink"), (bar(reward, 6), "$fill"), (" ", ""), *signed(advantage)]
    second: list[Span] = [(failure, "$failed")] if failure else _parts_line(record)
    return SideColumn(str(number), (first, second))


def signed(value: float | None) -> list[Span]:
    if value is None:
        return [("–", "$faint")]
    style = "$succeeded" if value > 0 else "$failed" if value < 0 else "$muted"
    return [(f"{value:+.3f}", style)]


def _parts_line(record: Mapping[str, Any]) -> list[Span]:
    """The scores that made the reward, short enough for the head of a column."""
    spans: list[Span] = []
    for part in waterfall(record):
        if part.depth == 0:
            value = "✗" if part.value is None else f"{part.value:.2f}"
            spans += [(f"{one_line(part.name, 16)} ", "$muted"), (f"{value}  ", "$failed" if part.error else "$ink")]
    return spans


def side_texts() -> SideTexts:
    """The words of the side by side view in the language in force."""
    return SideTexts(
        shared=lambda count: ngettext(
            "{count} turn that all share · u shows it", "{count} turns that all share · u shows them", count
        ).format(count=count),
        more=_("… {count} more characters"),
        here=_("first difference"),
        same=_("every rollout says the same, word for word"),
    )


# One conversation


def conversation(record: Mapping[str, Any], *, is_folded: bool = True) -> list[str]:
    """A rollout as lines with colours: how its reward came together, then every message with its tool calls."""
    lines = [*_scores(record), *_failure_lines(record)]
    for turn in turns_of(record):
        role = one_line(turn.role, 20)
        lines.append(f"\x1b[1;{_ANSI.get(role, '90')}m▌ {role}\x1b[0m")
        body = [f"  {line}" for line in tidy(turn.text).strip("\n").split("\n")] if turn.text else []
        lines += _folded(body, len(turn.text)) if is_folded else body
        for call in turn.calls:
            lines.append(f"  \x1b[32m→ \x1b[1m{one_line(call.name, 60)}\x1b[0m \x1b[90m{tidy(call.arguments)}\x1b[0m")
        lines.append("")
    return lines


def _folded(body: list[str], characters: int) -> list[str]:
    left = len(body) - _HEAD_LINES - _TAIL_LINES
    if left <= 2:
        return body
    text = ngettext(
        "… {count} more line, {size} characters in all · z shows it",
        "… {count} more lines, {size} characters in all · z shows them",
        left,
    )
    more = text.format(count=f"{left:,}", size=f"{characters:,}")
    return [*body[:_HEAD_LINES], f"  \x1b[90m{more}\x1b[0m", *body[-_TAIL_LINES:]]


def _failure_lines(record: Mapping[str, Any]) -> list[str]:
    failure = record.get("failure")
    if not failure:
        return []
    text = failure if isinstance(failure, str) else json.dumps(failure, ensure_ascii=False, indent=2, default=str)
    return [*(f"\x1b[31m{line}\x1b[0m" for line in tidy(text).split("\n")), ""]


def _scores(record: Mapping[str, Any]) -> Iterator[str]:
    parts = waterfall(record)
    reward, advantage = number_of(record.get("reward")), number_of(record.get("advantage"))
    if reward is not None:
        facts = [f"\x1b[1m{_('reward {value}').format(value=f'{reward:.4g}')}\x1b[0m"]
        if advantage is not None:
            facts.append(_("advantage {value}").format(value=f"{advantage:+.3f}"))
        yield "  ".join(facts)
    scale = max((abs(part.share) for part in parts if part.share is not None), default=0.0)
    for part in parts:
        yield _part_line(part, scale)
    if record.get("ground_truth") is not None:
        yield f"\x1b[90m{_('expected')}\x1b[0m  {one_line(record['ground_truth'])}"
    if parts or reward is not None:
        yield ""


def _part_line(part: Part, scale: float) -> str:
    indent = "  " * (part.depth + 1)
    name = _("the function's own sum") if part.is_rest else one_line(part.name, 24)
    if part.value is None:
        return f"{indent}{name:<{26 - len(indent)}}  \x1b[31m✗ {one_line(part.error) or _('failed')}\x1b[0m"
    value = f"{part.value:8.3f}" + ("" if part.is_rest else f" × {part.weight:<5g}")
    drawn = ""
    if part.share is not None:
        colour = "31" if part.share < 0 else "32" if part.depth == 0 else "36"
        filled = bar(abs(part.share) / scale, _BAR_WIDTH) if scale else " " * _BAR_WIDTH
        drawn = f"\x1b[{colour}m{filled}\x1b[0m {part.share:+.3f}"
    note = f"  \x1b[33m{one_line(part.error)}\x1b[0m" if part.error else ""
    return f"{indent}{name:<{26 - len(indent)}}{value:<19}{drawn}{note}"


def export_lines(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rollouts as JSON lines; secrets are masked."""
    for record in records:
        yield redact(json.dumps(record, ensure_ascii=False, default=str))


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """A payload in the colours of a conversation: who speaks, which tool is called, what is a heading."""
    for line in lines:
        role = line.removeprefix("▌ ")
        if role != line:
            yield f"\x1b[1;{_ANSI.get(role, '90')}m{line}\x1b[0m"
        elif line.startswith("── ") and line.endswith(" ──"):
            yield f"\x1b[90m{line}\x1b[0m"
        elif line.startswith("  → "):
            name, gap, given = line[4:].partition(" ")
            yield f"  \x1b[32m→ \x1b[1m{name}\x1b[0m{gap}\x1b[90m{given}\x1b[0m"
        elif line.startswith("  · "):
            yield f"\x1b[90m{line}\x1b[0m"
        else:
            yield line
