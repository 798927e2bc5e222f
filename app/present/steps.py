"""The steps of a submission as they happen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.present.times import short_duration
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Span, clip
from agentic_rl_tui.widgets.spark import bar

LABEL_WIDTH = 40
_BAR_WIDTH = 16


@dataclass(frozen=True, slots=True)
class StepLine:
    label: str
    state: str
    detail: str = ""
    done: int = 0
    total: int | None = None
    unit: str = ""
    seconds: float | None = None
    is_reused: bool = False


Steps = Mapping[str, StepLine]


def told(steps: Steps, news: StepNews) -> dict[str, StepLine]:
    """The steps after one more piece of news; steps keep the order in which they were first heard of."""
    now = dict(steps)
    detail, label = _clean(news.detail), _clean(news.label)
    if news.state == "note":
        now[f"note:{len(now)}"] = StepLine(label, "note")
        return now
    line = now.get(news.step) or StepLine(label or news.step, "started")
    if news.state == "progress":
        line = replace(line, done=news.done, total=news.total, unit=news.unit, detail=detail)
    else:
        line = replace(
            line,
            label=label or line.label,
            state=news.state,
            detail=detail,
            seconds=news.seconds,
            is_reused=news.is_reused,
        )
    now[news.step] = line
    return now


_LOOKS = {
    "started": ("●", "$running"),
    "finished": ("✔", "$succeeded"),
    "failed": ("✗", "$failed"),
    "note": ("·", "$muted"),
}


def step_line(step: StepLine) -> tuple[Span, ...]:
    glyph, style = _LOOKS.get(step.state, ("●", "$running"))
    if step.state == "note":
        return ((f"{glyph} ", style), (step.label, "$muted"))
    label = clip(step.label, LABEL_WIDTH)
    line: list[Span] = [(f"{glyph} ", style), (label, "$ink")]
    rest: list[Span] = []
    if step.state == "started" and step.total:
        rest = [(bar(step.done / step.total, _BAR_WIDTH), "$running on $line"), (f" {_amount(step)}", "$muted")]
    elif step.is_reused:
        rest = [(_("reused"), "$muted")]
    elif step.state == "finished" and step.seconds is not None and step.seconds >= 0.05:
        rest = [(f"{step.seconds:.1f}s" if step.seconds < 60 else short_duration(step.seconds), "$muted")]
    if step.detail and step.state != "failed":
        rest.append((f"{'  ' if rest else ''}{step.detail}", "$faint"))
    if rest:
        line += [("  ", ""), *rest]
    return tuple(line)


def failure_lines(error: ArlError) -> "Iterator[tuple[Span, ...]]":
    """What stopped a deed, and how to get all of it."""
    yield (("✗ ", "$failed"), (_clean(error.message), "$ink"))
    if error.advice:
        yield ((f"→ {_clean(error.advice)}", "$muted"),)
    yield ((_("y copies all of it"), "$faint"),)


def _clean(text: str) -> str:
    return redact(plain(text, keep_newlines=False))


def _amount(step: StepLine) -> str:
    if step.unit == "bytes":
        return _("{done} of {total}").format(done=size(step.done), total=size(step.total or 0))
    return _("{done} of {total} {unit}").format(done=step.done, total=step.total, unit=step.unit).rstrip()


def size(count: int) -> str:
    """Bytes as people read them: ``812 B``, ``41 KB``, ``3.2 MB``."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        value /= 1000
        if value < 1000 or unit == "TB":
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{count} B"
