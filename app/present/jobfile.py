"""A checked job file as people read it: what it means, what is wrong with it, what submitting it will do."""

from typing import TYPE_CHECKING

from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, Span
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.panels import Fact, Section

if TYPE_CHECKING:
    from agentic_rl_tui.core.jobfile import Diagnostic, JobDocument

_LOOKS = {"error": ("✗", "$failed"), "warning": ("!", "$warn"), "info": ("·", "$muted")}


def _clean(value: object) -> str:
    return redact(plain(str(value), keep_newlines=False))


def _place(item: "Diagnostic", _width: int) -> Cell:
    return [(f"{item.line}:{item.col}", "$muted")]


def _message(item: "Diagnostic", _width: int) -> Cell:
    glyph, style = _LOOKS.get(item.severity.value, _LOOKS["info"])
    return [(f"{glyph} ", style), (_clean(item.message), "$ink"), ("  fix", "$accent") if item.fix else ("", "")]


DIAGNOSTIC_COLUMNS: "tuple[Column[Diagnostic], ...]" = (
    Column("place", "LINE", _place, 7, align="right"),
    Column("message", "PROBLEM", _message, 30, 110),
    Column("rule", "RULE", lambda item, _: [(item.rule, "$faint")], 14, 24, fold=1),
)


def diagnostic_key(item: "Diagnostic") -> str:
    return f"{item.line}:{item.col}:{item.rule}:{item.message}"


def verdict(document: "JobDocument") -> tuple[Span, ...]:
    """``✔ ready to submit`` or the counts of what is wrong."""
    errors, warnings = len(document.errors), len(document.warnings)
    if document.job is None and not errors:
        return (("✗ not a job file", "$failed"),)
    line: list[Span] = []
    if errors:
        line.append((f"✗ {errors} error{'' if errors == 1 else 's'}", "$failed"))
    if warnings:
        line += [("  ", ""), (f"! {warnings} warning{'' if warnings == 1 else 's'}", "$warn")]
    if not errors:
        line.insert(0, ("✔ ready to submit", "$succeeded"))
    return tuple(line)


def meaning(document: "JobDocument") -> tuple[Section, ...]:
    """What the file asks for, in words."""
    job = document.job
    if job is None:
        return ()
    facts = [Fact("scenario", _clean(document.scenario or ("OPD" if job.is_opd else "RL")))]
    if job.model and job.model.name:
        facts.append(Fact("model", _clean(job.model.name)))
    if job.teacher_model:
        facts.append(Fact("teacher", _clean(job.teacher_model)))
    functions = tuple(Fact(_clean(item.type).replace("_", " "), _function(item)) for item in job.functions)
    data = tuple(Fact(_clean(item.type), _clean(item.file_name or item.file_id or "–")) for item in job.datasets)
    sections = [Section("MEANING", tuple(facts))]
    if functions:
        sections.append(Section("FUNCTIONS", functions))
    if data:
        sections.append(Section("DATA", data))
    return tuple(sections)


def _function(item: object) -> Cell:
    name = getattr(item, "name", None)
    model = getattr(item, "fcmodel", None)
    classpath = getattr(model, "classpath", None)
    entity = getattr(item, "entity_id", None)
    weight = getattr(item, "weight", None)
    line: list[Span] = [(_clean(name or classpath or entity or "–"), "$ink")]
    if weight is not None:
        line.append((f"  ×{weight:g}", "$muted"))
    return line


def plan(document: "JobDocument", profile: str) -> tuple[tuple[Span, ...], ...]:
    """What submitting will do, one line a deed."""
    job = document.job
    if job is None:
        return ()
    lines: list[tuple[Span, ...]] = []
    new = [item for item in job.functions if not item.entity_id]
    if new:
        names = ", ".join(_clean(item.name or item.type) for item in new)
        lines.append((("register  ", "$muted"), (names, "$ink")))
    uploads = [_clean(item.file_name) for item in job.datasets if item.file_name and not item.file_id]
    if uploads:
        lines.append((("upload    ", "$muted"), (", ".join(uploads), "$ink")))
    name = _clean(job.name or "a job")
    lines.append((("create    ", "$muted"), (name, "$ink bold"), (f"  on {profile}", "$muted")))
    return tuple(lines)
