"""Runs, spans and payloads as rows and lines."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from agentic_rl_tui.app.present.states import Look
from agentic_rl_tui.app.present.times import moment
from agentic_rl_tui.core.i18n import N_, _, ngettext, pgettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.tracing.model import Counted, Run, Span
from agentic_rl_tui.core.tracing.reasons import all_told, told
from agentic_rl_tui.core.tracing.tree import depth_first, has_children
from agentic_rl_tui.widgets.cells import Cell, Line
from agentic_rl_tui.widgets.cells import Span as Piece
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.spark import EIGHTHS

LINE_CHARS = 2_000
"""Longer lines of a payload are shown in pieces, so that one of megabytes scrolls like any other."""

_ENDS = {
    "ok": Look("✔", N_("ok"), "$succeeded"),
    "failed": Look("✗", N_("failed"), "$failed"),
    "raised": Look("✗", N_("raised"), "$failed"),
    "timeout": Look("◷", N_("timed out"), "$failed"),
    "died": Look("✗", N_("died"), "$failed"),
    "canceled": Look("⊘", N_("canceled"), "$canceled"),
    "invalid_output": Look("✗", N_("bad answer"), "$failed"),
}
_ROLES = {
    "CHAIN": ("◆", "$muted"),
    "ROLLOUT": ("ƒ", "$running"),
    "REWARD": ("ƒ", "$accent"),
    "GROUP_REWARD": ("ƒ", "$accent"),
    "LLM": ("☁", "$running"),
    "TOOL": ("⚒", "$succeeded"),
}


def end_look(status: str) -> Look:
    return _ENDS.get(status) or Look("?", plain(status, keep_newlines=False), "$muted")


def clean(value: object) -> str:
    return redact(plain(str(value), keep_newlines=False))


def seconds(value: float) -> str:
    """Three digits that matter: ``0.8 ms``, ``12 ms``, ``3.42 s``, ``125 s``."""
    if value < 0.001:
        return f"{value * 1e3:.1f} ms"
    if value < 1:
        return f"{value * 1e3:.0f} ms"
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


# Runs


def run_columns(now: Callable[[], float], zone: Callable[[], tzinfo], *, with_job: bool) -> tuple[Column[Run], ...]:
    """with_job: whether runs of several jobs stand in one list."""

    def when(run: Run, _width: int) -> Cell:
        return [(moment(run.started_ns / 1e9, now(), zone()), "$muted")]

    columns: list[Column[Run]] = [
        Column("when", _("WHEN"), when, 16, sort=lambda run: run.started_ns, reverse=True),
        Column("function", _("FUNCTION"), _function, 14, 28, sort=lambda run: run.function),
        Column("end", pgettext("of a run", "ENDED"), _end, 11, sort=lambda run: run.status),
        Column("time", _("TIME"), _time, 8, align="right", sort=lambda run: run.duration_s, reverse=True),
        Column("llm", "LLM", lambda run, w: counted(run.completeness.llm, w), 7, align="right", sort=_missing),
        Column("tools", _("TOOLS"), lambda run, w: counted(run.completeness.tools, w), 7, align="right", fold=1),
        Column("tokens", _("TOKENS"), _tokens, 8, align="right", fold=2, sort=_all_tokens, reverse=True),
        Column("errors", _("ERRORS"), _errors, 6, align="right", fold=3, sort=lambda run: run.errors, reverse=True),
        Column("rollout", _("ROLLOUT"), _rollout, 14, 24, fold=4, sort=lambda run: run.rollout_id),
    ]
    if with_job:
        columns.append(Column("job", _("JOB"), lambda run, _w: [(clean(run.job_id) or "–", "$faint")], 20, 30, fold=5))
    columns.append(Column("why", "", _why, 20, 90, fold=6))
    return tuple(columns)


def _function(run: Run, _width: int) -> Cell:
    glyph, style = _ROLES.get(run.kind.upper(), ("ƒ", "$muted"))
    return [(f"{glyph} ", style), (clean(run.function) or "?", "$ink")]


def _end(run: Run, _width: int) -> Cell:
    look = end_look(run.status)
    return [(f"{look.glyph} {_(look.word)}", look.style)]


def _time(run: Run, _width: int) -> Cell:
    return [(seconds(run.duration_s), "$ink")]


def counted(value: Counted, width: int) -> Cell:
    """``4/4``; short of spans it stands out. Where that is too wide: how many are missing, else how many there are."""
    if not value.total:
        return [("–", "$faint")]
    missing = value.total - value.traced
    text = str(value)
    if len(text) > width:
        text = f"-{missing}" if missing > 0 else str(value.total)
    return [(text, "$warn" if missing > 0 else "$muted")]


def _missing(run: Run) -> int:
    return run.completeness.llm.traced - run.completeness.llm.total


def _all_tokens(run: Run) -> int:
    return run.tokens_in + run.tokens_out


def _tokens(run: Run, _width: int) -> Cell:
    return [(f"{_all_tokens(run):,}" if _all_tokens(run) else "–", "$muted")]


def _errors(run: Run, _width: int) -> Cell:
    return [(str(run.errors), "$failed")] if run.errors else [("–", "$faint")]


def _rollout(run: Run, _width: int) -> Cell:
    again = f" #{clean(run.attempt_id)}" if run.attempt_id not in ("", "1") else ""
    return [(clean(run.rollout_id) or "–", "$muted"), (again, "$warn")]


def _why(run: Run, _width: int) -> Cell:
    if run.detail:
        return [(clean(run.detail), "$failed")]
    return [(clean(run.completeness.why), "$warn")]


def run_lines(run: Run) -> tuple[Line, ...]:
    """The head of one run: how it ended, what it took, how complete its trace is."""
    look = end_look(run.status)
    first: list[Piece] = [(f"{look.glyph} {_(look.word)}", look.style)]
    if run.attempt_id:
        first.append((f"  {_('attempt {number}').format(number=clean(run.attempt_id))}", "$muted"))
    if run.detail:
        first.append((f"  {clean(run.detail)}", "$failed"))
    count = ngettext("{count} span", "{count} spans", run.spans).format(count=f"{run.spans:,}")
    first += [("   ", ""), (seconds(run.duration_s), "$ink"), (f"   {count}", "$muted")]
    if _all_tokens(run):
        tokens = _("{given} → {made} tokens").format(given=f"{run.tokens_in:,}", made=f"{run.tokens_out:,}")
        first.append((f"   {tokens}", "$muted"))
    style = "$succeeded" if run.completeness.is_complete and not run.completeness.cautions else "$warn"
    second: list[Piece] = [("● " if style == "$succeeded" else "! ", style), (clean(run.completeness.text), style)]
    return tuple(first), tuple(second)


def tracing_lines(report: Mapping[str, Any] | None) -> tuple[str, ...]:
    """How complete the traces of a job are, by its report: counts, then a reason a line; empty without a word of it."""
    found = (report or {}).get("tracing")
    if not isinstance(found, Mapping):
        return ()
    llm, tools = (f"{found[name]['traced']:,}/{found[name]['total']:,}" for name in ("llm", "tools"))
    lines = [_("LLM {counts}").format(counts=llm), _("tools {counts}").format(counts=tools)]
    lines += all_told([*found.get("reasons", ()), *found.get("notes", ())])
    return tuple(clean(line) for line in lines)


# Spans


@dataclass(frozen=True, slots=True)
class SpanRow:
    """One line of a waterfall. start and share are parts of the whole run, 0 to 1."""

    span: Span
    depth: int
    start: float
    share: float
    is_parent: bool = False
    is_folded: bool = False

    @property
    def key(self) -> str:
        return self.span.span_id


def span_rows(spans: Sequence[Span], folded: frozenset[str] = frozenset()) -> tuple[SpanRow, ...]:
    if not spans:
        return ()
    begin = min(span.start_ns for span in spans)
    whole = max(1, max(span.end_ns or span.start_ns for span in spans) - begin)
    parents = has_children(spans)
    return tuple(
        SpanRow(
            span,
            depth,
            (span.start_ns - begin) / whole,
            max(0, (span.end_ns or span.start_ns) - span.start_ns) / whole,
            span.span_id in parents,
            span.span_id in folded,
        )
        for depth, span in depth_first(spans, folded=folded)
    )


def timeline(start: float, share: float, width: int) -> tuple[str, str, str]:
    """The room before a bar, the bar in eighths of a cell at its end, the room after it; never without any bar."""
    cells = max(0.125, share * width)
    lead = min(width - 1, int(start * width))
    eighths = max(1, round(min(cells, width - lead) * 8))
    full, rest = divmod(eighths, 8)
    bar = ("█" * full + (EIGHTHS[rest] if rest else ""))[: width - lead]
    return " " * lead, bar, " " * (width - lead - len(bar))


def _name(row: SpanRow, width: int) -> Cell:
    span = row.span
    glyph, style = _ROLES.get(span.role, ("·", "$muted"))
    fold = ("▸ " if row.is_folded else "▾ ") if row.is_parent else "  "
    indent = "  " * min(row.depth, max(0, width // 4))
    return [(f"{indent}{fold}", "$faint"), (f"{glyph} ", style), (clean(span.name), _tone(span))]


def _tone(span: Span) -> str:
    return "$failed" if span.is_error else "$ink"


def _bar(row: SpanRow, width: int) -> Cell:
    before, bar, after = timeline(row.start, row.share, width)
    style = "$failed" if row.span.is_error else _ROLES.get(row.span.role, ("", "$muted"))[1]
    return [(before, ""), (bar, style), (after, "")]


def _span_tokens(row: SpanRow, _width: int) -> Cell:
    found = row.span.attributes.get("gen_ai.usage.total_tokens")
    return [(f"{found:,}" if isinstance(found, int) else "", "$muted")]


def _says(row: SpanRow, _width: int) -> Cell:
    span = row.span
    if span.is_error:
        return [(clean(span.message) or _("error"), "$failed")]
    unfinished = span.attributes.get("agentic_rl.unfinished")
    if unfinished:
        return [(clean(told(str(unfinished))), "$warn")]
    if span.attributes.get("agentic_rl.context_lost"):
        return [(_("context lost"), "$warn")]
    first = span.attributes.get("agentic_rl.stream.first_token_s")
    if not isinstance(first, int | float):
        return ""
    return [(_("first token {seconds}").format(seconds=seconds(first)), "$faint")]


def span_columns() -> tuple[Column[SpanRow], ...]:
    return (
        Column("name", _("SPAN"), _name, 26, 48),
        Column("bar", "", _bar, 16, 120),
        Column("time", _("TIME"), lambda row, _w: [(seconds(row.span.duration_s), "$ink")], 8, align="right"),
        Column("tokens", _("TOKENS"), _span_tokens, 7, align="right", fold=1),
        Column("says", "", _says, 14, 60, fold=2),
    )


def span_filter(text: str) -> Callable[[SpanRow], bool] | None:
    """Rows whose name, attributes or error hold every word; None for no words."""
    words = text.casefold().split()
    if not words:
        return None

    def match(row: SpanRow) -> bool:
        span = row.span
        told = f"{span.name} {span.message} {json.dumps(dict(span.attributes), ensure_ascii=False, default=str)}"
        return all(word in told.casefold() for word in words)

    return match


# Payloads

_INPUTS = ("gen_ai.input.messages", "input.value", "gen_ai.tool.call.arguments")
_OUTPUTS = ("gen_ai.output.messages", "output.value", "gen_ai.tool.call.result")


def payload_lines(span: Span, *, as_json: bool = False) -> list[str]:
    """What went into a span and what came out, as a conversation where it is one, then everything else it tells."""
    lines = list(_head(span))
    for title, keys in ((_("INPUT"), _INPUTS), (_("OUTPUT"), _OUTPUTS)):
        for key in keys:
            value = span.attributes.get(key)
            if value is not None:
                lines += ["", f"── {title} ──", *_payload(value, as_json=as_json)]
    for event in span.events:
        lines += ["", f"── {clean(event.get('name', _('event')))} ──"]
        for key, value in (event.get("attributes") or {}).items():
            lines += _pieces(f"{key}: {value}")
    lines += ["", f"── {_('ATTRIBUTES')} ──"]
    for key in sorted(span.attributes):
        if key not in _INPUTS and key not in _OUTPUTS:
            lines += _pieces(f"{key}: {span.attributes[key]}")
    return lines


def _head(span: Span) -> Iterator[str]:
    yield f"{clean(span.name)}   {seconds(span.duration_s)}   {span.status}"
    if span.message:
        yield from _pieces(span.message)
    ids = _("span {span}   parent {parent}   trace {trace}")
    yield clean(ids.format(span=span.span_id, parent=span.parent_id or "–", trace=span.trace_id))


def _payload(value: Any, *, as_json: bool) -> list[str]:
    data = _loaded(value)
    messages = None if as_json else _messages(data)
    if messages is not None:
        return list(_conversation(messages))
    if isinstance(data, str):
        return _pieces(data)
    return _pieces(json.dumps(data, ensure_ascii=False, indent=2, default=str))


def _loaded(value: Any) -> Any:
    """The data of a JSON text; a text that was cut stays as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _messages(data: Any) -> list[Mapping[str, Any]] | None:
    """The messages of a conversation, of an input or output of a processor, or of an agent's output."""
    if isinstance(data, list) and data and all(isinstance(item, Mapping) and "role" in item for item in data):
        return data
    if isinstance(data, Mapping):
        for key in ("messages", "agent_output"):
            found = _messages(data.get(key))
            if found is not None:
                return found
    return None


def _conversation(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        yield f"▌ {clean(message.get('role', '?'))}"
        for part in message.get("parts") or _as_parts(message):
            yield from (f"  {line}" for line in _part(part))
        reason = message.get("finish_reason")
        if reason:
            yield f"  · {clean(reason)}"


def _as_parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message in the form that the chat API uses."""
    parts: list[Mapping[str, Any]] = []
    if message.get("content") is not None:
        parts.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            parts.append({"type": "tool_call", **function})
    return parts


def _part(part: Any) -> list[str]:
    if not isinstance(part, Mapping):
        return _pieces(str(part))
    kind, content = part.get("type"), part.get("content")
    if kind == "tool_call":
        given = part.get("arguments")
        shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        return _pieces(f"→ {part.get('name')} {shown}")
    if kind == "tool_call_response":
        return _pieces(f"← {_text(part.get('result'))}")
    if kind == "reasoning":
        return [f"~ {line}" for line in _pieces(_text(content))]
    return _pieces(_text(content))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _pieces(text: str) -> list[str]:
    """Harmless lines of bounded length."""
    found: list[str] = []
    for line in redact(plain(text)).split("\n"):
        found += [line[start : start + LINE_CHARS] for start in range(0, len(line), LINE_CHARS)] or [""]
    return found
