"""Quiet blocks of text: facts as label and value, what to do when there is nothing to show."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from agentic_rl_tui.widgets.cells import Cell, Span, clip, spans


def content(line: Sequence[Span]) -> Content:
    """Spans as Textual content; the text is never read as markup."""
    return Content.assemble(*((text, style) if style else text for text, style in line))


@dataclass(frozen=True, slots=True)
class Fact:
    """One label and its value. One without a label goes on under the value above it, or stands alone at the start."""

    label: str
    value: Cell
    style: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    facts: tuple[Fact, ...]


class Facts(Widget):
    """Labelled values in two aligned columns. In: `sections`, `label_width` (0: the widest label), `label_style`."""

    DEFAULT_CSS = """
    Facts {
        height: auto;
        width: 1fr;
        padding: 0 1;
        color: $ink;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    sections: reactive[tuple[Section, ...]] = reactive((), layout=True)
    label_width: reactive[int] = reactive(0, layout=True)
    label_style: reactive[str] = reactive("$muted")

    def render(self) -> Content:
        labels = [cell_len(fact.label) for section in self.sections for fact in section.facts]
        column = self.label_width or max(labels, default=0)
        lines: list[Content] = []
        for section in self.sections:
            if lines:
                lines.append(Content(""))
            if section.title:
                lines.append(content([(section.title, "$faint bold")]))
            is_alone = True
            for fact in section.facts:
                label = clip(fact.label, column)
                is_alone = is_alone and not label
                lead: Span = ("" if is_alone else label + " " * (column - cell_len(label) + 2), self.label_style)
                lines.append(content([lead, *spans(fact.value, fact.style)]))
        return Content("\n").join(lines)


class Empty(Widget):
    """What a place says when it has nothing to show: a fact, and what to do next. In: `title`, `body` (lines)."""

    DEFAULT_CSS = """
    Empty {
        width: 1fr;
        height: 1fr;
        content-align: center middle;
        color: $muted;
        padding: 0 2;
    }
    """

    title: reactive[str] = reactive("", layout=True)
    body: reactive[tuple[tuple[Span, ...], ...]] = reactive[tuple[tuple[Span, ...], ...]]((), layout=True)

    def render(self) -> Content:
        lines = [content([(self.title, "$ink bold")]), Content("")]
        lines += [content(line) for line in self.body]
        widest = max(line.cell_length for line in lines)
        # One block, aligned left inside, stands calmer than lines that are each centred.
        return Content("\n").join(line.pad_right(widest - line.cell_length) for line in lines)


class Note(Widget):
    """Lines of styled text that wrap. In: `lines`."""

    DEFAULT_CSS = """
    Note {
        height: auto;
        width: 1fr;
        color: $ink;
    }
    """

    lines: reactive[tuple[tuple[Span, ...], ...]] = reactive[tuple[tuple[Span, ...], ...]]((), layout=True)

    def render(self) -> Content:
        return Content("\n").join(content(line) for line in self.lines)
