"""A checked job file as people read it: what it means, what is wrong with it, what submitting it will do."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from agentic_rl_tui.app.present.kinds import kind_word
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, Span, pad
from agentic_rl_tui.widgets.codeeditor import Mark
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.panels import Fact, Section
from agentic_rl_tui.widgets.wrapping import wrapped

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import (
        Diagnostic,
        FunctionMeaning,
        JobDocument,
        KeyDoc,
        Meaning,
        PresetPlan,
    )

MOST_REASONS = 8
_NARROW, _WIDE = 30, 66
"""Cells of a row beside a label: in the side panel, in a dialog."""

_LOOKS = {"error": ("✗", "$failed"), "warning": ("!", "$warn"), "info": ("·", "$muted")}


def _clean(value: object) -> str:
    return redact(plain(str(value), keep_newlines=False))


def _place(item: "Diagnostic", _width: int) -> Cell:
    return [(f"{item.line}:{item.col}", "$muted")]


def _message(item: "Diagnostic", _width: int) -> Cell:
    glyph, style = _LOOKS.get(item.severity.value, _LOOKS["info"])
    return [
        (f"{glyph} ", style),
        (_clean(item.message), "$ink"),
        ("  " + _("fix"), "$accent") if item.fix else ("", ""),
    ]


DIAGNOSTIC_COLUMNS: "tuple[Column[Diagnostic], ...]" = (
    Column("place", N_("LINE"), _place, 7, align="right"),
    Column("message", N_("PROBLEM"), _message, 30, 110),
    Column("rule", N_("RULE"), lambda item, _width: [(item.rule, "$faint")], 14, 24, fold=1),
)


def diagnostic_key(item: "Diagnostic") -> str:
    return f"{item.line}:{item.col}:{item.rule}:{item.message}"


def verdict(document: "JobDocument") -> tuple[Span, ...]:
    """``✔ ready to submit`` or the counts of what is wrong."""
    errors, warnings = len(document.errors), len(document.warnings)
    if document.job is None and not errors:
        return ((_("✗ not a job file"), "$failed"),)
    line: list[Span] = []
    if errors:
        line.append((ngettext("✗ {count} error", "✗ {count} errors", errors).format(count=errors), "$failed"))
    if warnings:
        words = ngettext("! {count} warning", "! {count} warnings", warnings).format(count=warnings)
        line += [("  ", ""), (words, "$warn")]
    if not errors:
        line.insert(0, (_("✔ ready to submit"), "$succeeded"))
    return tuple(line)


def marks(items: "Sequence[Diagnostic]") -> list[Mark]:
    """Diagnostics as marks of the editor, the gravest of a line first."""
    ranked = sorted(items, key=lambda item: item.severity.rank)
    return [
        Mark(item.line - 1, item.col - 1, item.end_col - 1, *_LOOKS.get(item.severity.value, _LOOKS["info"]))
        for item in ranked
    ]


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _rows(number: int | None) -> str:
    return ngettext("{count} row", "{count} rows", number or 0).format(count=_count(number))


def meaning_sections(means: "Meaning | None") -> tuple[Section, ...]:
    """What the file asks for, in numbers."""
    if means is None:
        return (Section(_("MEANING"), (Fact("", [(_("not readable yet"), "$muted")]),)),)
    scenario = means.scenario
    facts = [
        Fact(_("scenario"), [(_(scenario.name), "$ink bold")]),
        Fact(_("model"), _clean(means.model or "–")),
    ]
    if means.teacher:
        facts.append(Fact(_("teacher"), _clean(means.teacher)))
    if scenario.has_teacher:
        facts.append(Fact(_("practice"), [(_(scenario.trajectories), "$muted")]))
    facts += list(_amounts(means))
    sections = [Section(_("MEANING"), tuple(facts))]
    if means.functions:
        lines = [fact for item in means.functions for fact in _function_facts(item)]
        sections.append(Section(_("FUNCTIONS"), tuple(lines)))
    if means.datasets:
        data = tuple(
            Fact(_clean(item.kind), [(_clean(item.place or "–"), "$ink"), (f"  {_rows(item.rows)}", "$muted")])
            for item in means.datasets
        )
        sections.append(Section(_("DATA"), data))
    sections.append(Section(_("PRICE"), tuple(_price(means))))
    return tuple(sections)


def _amounts(means: "Meaning") -> "Iterator[Fact]":
    if means.steps is not None:
        yield Fact(_("steps"), [(str(means.steps), "$ink bold"), (f"  {_rows(means.training_rows)}", "$muted")])
    if means.rollouts_total is not None:
        low, high = means.rollouts_total
        total = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        yield Fact(
            _("rollouts"),
            [(total, "$ink"), (_("  {count} a step").format(count=_count(means.samples_per_step)), "$muted")],
        )


def _function_facts(item: "FunctionMeaning") -> "Iterator[Fact]":
    name = item.name or item.class_text.rpartition(".")[2] or "–"
    line: list[Span] = [(_clean(name), "$ink")]
    if item.weight is not None:
        line.append((f" ×{item.weight:g}", "$muted"))
    if item.info is not None:
        line.append((f"  {_clean(item.info.class_name)}", "$accent"))
    elif item.class_text:
        line.append((f"  {_clean(item.class_text)}", "$faint"))
    yield Fact(kind_word(item.kind), line)
    if item.calls_needed is not None:
        enough = item.is_fast_enough
        glyph, style = ("✓", "$succeeded") if enough else ("!", "$warn")
        words = _("{calls_at_once} at once, {calls_needed} needed").format(
            calls_at_once=item.calls_at_once, calls_needed=item.calls_needed
        )
        yield Fact("", [(f"{glyph} ", style), (words, "$muted" if enough else "$warn")])


def _price(means: "Meaning") -> "Iterator[Fact]":
    from agentic_rl_tui.core.jobfile import Unknown

    price = means.price
    if isinstance(price, Unknown):
        for number, part in enumerate(_basis(price.reason, _NARROW)):
            yield Fact(_("unknown") if number == 0 else "", [(part, "$muted")])
        return
    yield Fact(_("about"), [(str(price), "$ink bold")])
    for number, part in enumerate(_basis(price.basis, _NARROW)):
        yield Fact(_("basis") if number == 0 else "", [(part, "$muted")])
    yield Fact(_("as of"), [(_clean(price.date), "$muted")])
    for number, part in enumerate(_address(_clean(price.source))):
        yield Fact(_("source") if number == 0 else "", [(part, "$muted")])


def _address(text: str) -> Iterator[str]:
    """An address in rows that end where one of its parts ends."""
    row = ""
    for part in re.findall("[^/]*/+|[^/]+", text):
        if row and len(row) + len(part) > _NARROW:
            yield row
            row = ""
        row += part
    yield row


def _basis(text: str, width: int) -> list[str]:
    """How a price comes about, in rows: it is what the price is worth nothing without."""
    parts = [_clean(part) for part in text.split("; ")]
    return [part[start:stop] for part in parts for start, stop in wrapped(part, width, len(part))]


def price_lines(means: "Meaning | None") -> tuple[tuple[Span, ...], ...]:
    """What a job may cost, for the submit dialog."""
    from agentic_rl_tui.core.jobfile import Unknown

    if means is None:
        return ()
    label: Span = (_("cost      "), "$muted")
    if isinstance(means.price, Unknown):
        return ((label, (_("unknown"), "$ink"), (f"  {_clean(means.price.reason)}", "$faint")),)
    under: Span = (" " * cell_len(label[0]), "")
    rows = [*_basis(means.price.basis, _WIDE), _clean(means.price.date)]
    return ((label, (str(means.price), "$ink")), *((under, (row, "$faint")) for row in rows))


def amount_line(means: "Meaning | None") -> tuple[Span, ...]:
    if means is None or means.steps is None:
        return ()
    line: list[Span] = [(_("train     "), "$muted"), (_("{count} steps").format(count=means.steps), "$ink")]
    if means.rollouts_total is not None:
        line.append((_(", {count:,} rollouts").format(count=means.rollouts_total[1]), "$ink"))
    return tuple(line)


def doc_sections(doc: "KeyDoc | None") -> tuple[Section, ...]:
    """The key under the cursor, for the side panel."""
    if doc is None:
        return ()
    facts = [Fact("", [(part, "$ink")]) for part in textwrap.wrap(doc.meaning, 42)[:5]]
    rows = ((_("type"), doc.type), (_("range"), doc.range), (_("default"), doc.default), (_("source"), doc.source))
    facts += [Fact(label, [(value, "$muted")]) for label, value in rows if value]
    return (Section(doc.path, tuple(facts)),)


def doc_line(doc: "KeyDoc | None") -> tuple[Span, ...]:
    """The same in one line, for narrow screens."""
    if doc is None:
        return ()
    line: list[Span] = [(doc.name, "$accent bold"), (f"  {doc.range or doc.type}", "$ink")]
    if doc.default:
        line.append((_("  default {value}").format(value=doc.default), "$muted"))
    return (*line, (f"  {doc.meaning}", "$muted"))


def key_help(doc: "KeyDoc | None", problems: "Sequence[Diagnostic]") -> tuple[tuple[Span, ...], ...]:
    lines: list[tuple[Span, ...]] = []
    if doc is not None:
        lines += [((doc.meaning, "$ink"),), (("", ""),)]
        rows = ((_("type"), doc.type), (_("range"), doc.range), (_("default"), doc.default), (_("source"), doc.source))
        lines += [((pad(label, 9), "$muted"), (value, "$ink")) for label, value in rows if value]
    for item in problems:
        glyph, style = _LOOKS.get(item.severity.value, _LOOKS["info"])
        lines += [(("", ""),), ((f"{glyph} ", style), (_clean(item.message), "$ink")), ((f"  {item.why}", "$muted"),)]
        if item.fix is not None:
            lines.append(((_("  fix: {label}").format(label=item.fix.label), "$accent"),))
    return tuple(lines)


def preset_reasons(plan: "PresetPlan") -> tuple[tuple[Span, ...], ...]:
    lines: list[tuple[Span, ...]] = [((_(plan.preset.summary), "$muted"),)]
    lines += [
        ((f"{change.key} ", "$ink"), (f"{change.new}  ", "$accent"), (change.reason, "$muted"))
        for change in plan.changes[:MOST_REASONS]
    ]
    more = len(plan.changes) - MOST_REASONS
    if more > 0:
        lines.append(((_("and {count} more").format(count=more), "$faint"),))
    return tuple(lines)


def plan(document: "JobDocument", profile: str) -> tuple[tuple[Span, ...], ...]:
    """What submitting will do, one line a deed."""
    job = document.job
    if job is None:
        return ()
    lines: list[tuple[Span, ...]] = []
    new = [item for item in job.functions if not item.entity_id]
    if new:
        names = ", ".join(_clean(item.name or item.type) for item in new)
        lines.append(((_("register  "), "$muted"), (names, "$ink")))
    uploads = [_clean(item.file_name) for item in job.datasets if item.file_name and not item.file_id]
    if uploads:
        lines.append(((_("upload    "), "$muted"), (", ".join(uploads), "$ink")))
    name = _clean(job.name or _("a job"))
    lines.append(
        ((_("create    "), "$muted"), (name, "$ink bold"), (_("  on {profile}").format(profile=profile), "$muted"))
    )
    return tuple(lines)
