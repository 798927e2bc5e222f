"""The one-line bars at the edges of a screen: header, keys, heading, tabs."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from agentic_rl_tui.widgets.cells import Line, Span, clip_middle, fit, width_of
from agentic_rl_tui.widgets.paint import Painted


def spread(left: Line, right: Line, width: int) -> list[Span]:
    """`left` and `right` at the two ends of `width` cells; the right end wins where both do not fit."""
    room = width - width_of(right)
    if room < 1:
        return fit(list(right), width)
    return [*fit(list(left), room - 1), (" ", ""), *right]


class LineBar(Painted):
    """One line, drawn by `line`; remembers which cells belong to which part so that a click finds it."""

    DEFAULT_CSS = """
    LineBar {
        height: 1;
        width: 1fr;
    }
    """

    def line(self, width: int) -> Sequence[Span]:
        return [(" " * width, "")]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        if y:
            return Strip.blank(width, base)
        return Strip([Segment(t, s) for t, s, _ in self.segments(list(self.line(width)), base)]).adjust_cell_length(
            width, base
        )


@dataclass(frozen=True, slots=True)
class PlaceTab:
    name: str
    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Health:
    """A state in one glyph, one word and one style."""

    glyph: str = "◌"
    word: str = "starting"
    style: str = "$muted"


class HeaderBar(LineBar):
    """Product, places, workspace, profile, platform health on one line.

    In: `places`, `active`, `workspace`, `profile`, `health`. Out: `PlaceChosen` on a click.
    On a narrow screen the inactive places shrink to their keys, then the path goes.
    """

    DEFAULT_CSS = """
    HeaderBar {
        dock: top;
        background: $surface;
        color: $muted;
    }
    """

    places: reactive[tuple[PlaceTab, ...]] = reactive(())
    active: reactive[str] = reactive("")
    workspace: reactive[str] = reactive("")
    profile: reactive[str] = reactive("")
    health: reactive[Health] = reactive(Health())

    PRODUCT = "agentic-rl"

    @dataclass
    class PlaceChosen(Message):
        header: "HeaderBar"
        place: str

    def line(self, width: int) -> list[Span]:
        right = self._right(width)
        room = width - width_of(right)
        left = self._left(full=True)
        if width_of(left) >= room:
            left = self._left(full=False)
        if width_of(left) >= room:
            left = [
                left[0],
                *(span for tab in self.places if tab.name == self.active for span in self._tab(tab, full=False)),
            ]
        return spread(left, right, width)

    def _right(self, width: int) -> list[Span]:
        health = self.health
        state: list[Span] = [(f"{health.glyph} {health.word}", health.style), (" ", "")]
        profile: list[Span] = [(self.profile, "$ink"), ("  ", "")]
        if width < 60:
            return state
        room = width - width_of(state) - width_of(profile) - self._places_width(full=width >= 110) - 4
        if not self.workspace or room < 12:
            return [*profile, *state]
        return [(clip_middle(self.workspace, min(room, 48)), "$muted"), ("   ", ""), *profile, *state]

    def _left(self, *, full: bool) -> list[Span]:
        line: list[Span] = [(" ◆ ", "$accent"), (self.PRODUCT, "$ink bold"), ("  ", "")]
        for tab in self.places:
            line += self._tab(tab, full=full)
        return line

    def _tab(self, tab: PlaceTab, *, full: bool) -> list[Span]:
        if tab.name == self.active:
            return [(f" {tab.key} ", "$accent on $raised"), (f"{tab.title} ", "$ink bold on $raised")]
        if full:
            return [(f" {tab.key} ", "$faint"), (f"{tab.title} ", "$muted")]
        return [(f" {tab.key} ", "$faint")]

    def _places_width(self, *, full: bool) -> int:
        return width_of(self._left(full=full))

    def on_click(self, event: events.Click) -> None:
        right = self._right(self.size.width)
        full = width_of(self._left(full=True)) < self.size.width - width_of(right)
        x = width_of(self._left(full=full)[:3])
        for tab in self.places:
            size = width_of(self._tab(tab, full=full))
            if x <= event.x < x + size:
                self.post_message(self.PlaceChosen(self, tab.name))
                return
            x += size


@dataclass(frozen=True, slots=True)
class KeyHint:
    key: str
    label: str
    action: str
    is_enabled: bool = True


LASTING_HINTS = 2


class KeyBar(LineBar):
    """The keys that work now. In: `hints`, `note` (a short text at the right end). Out: `Pressed` on a click."""

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        background: $surface;
        color: $muted;
    }
    """

    hints: reactive[tuple[KeyHint, ...]] = reactive(())
    note: reactive[tuple[Span, ...]] = reactive[tuple[Span, ...]](())

    @dataclass
    class Pressed(Message):
        bar: "KeyBar"
        action: str

    @staticmethod
    def _hint(hint: KeyHint) -> list[Span]:
        key, label = ("$accent bold", "$muted") if hint.is_enabled else ("$faint", "$faint")
        return [(" ", ""), (hint.key, key), (f" {hint.label}", label), (" ", "")]

    def _fitting(self, width: int) -> list[KeyHint]:
        """The hints that have room. The last ones stay, help and the way back; the ones before them give way."""
        room = width - width_of(self.note) - 1
        kept = list(self.hints)
        while kept and sum(width_of(self._hint(hint)) for hint in kept) > room:
            del kept[max(0, len(kept) - 1 - LASTING_HINTS)]
        return kept

    def line(self, width: int) -> list[Span]:
        return spread([span for hint in self._fitting(width) for span in self._hint(hint)], self.note, width)

    def on_click(self, event: events.Click) -> None:
        x = 0
        for hint in self._fitting(self.size.width):
            size = width_of(self._hint(hint))
            if x <= event.x < x + size:
                self.post_message(self.Pressed(self, hint.action))
                return
            x += size


@dataclass(frozen=True, slots=True)
class Chip:
    """A short fact that stands out of a heading, such as the filter in force."""

    text: str
    style: str = "$accent on $raised"


class Heading(LineBar):
    """A pane's title with counts, chips and a note. In: `title`, `facts`, `chips`, `note` (what matters most first)."""

    DEFAULT_CSS = """
    Heading {
        padding: 0 1;
        color: $muted;
    }
    """

    title: reactive[str] = reactive("")
    facts: reactive[tuple[Span, ...]] = reactive[tuple[Span, ...]](())
    chips: reactive[tuple[Chip, ...]] = reactive[tuple[Chip, ...]](())
    note: reactive[tuple[Span, ...]] = reactive[tuple[Span, ...]](())

    def line(self, width: int) -> list[Span]:
        title: list[Span] = [(self.title, "$ink bold")]
        chips: list[Span] = []
        for chip in self.chips:
            chips += [("  ", ""), (f" {chip.text} ", chip.style)]
        left = [*title, ("  ", ""), *self.facts, *chips]
        # What the user asked for stays; the counts give way.
        if chips and width_of(left) + width_of(self.note) >= width:
            left = [*title, *chips]
        return spread(left, self._note_beside(width_of([*title, *chips]), width), width)

    def _note_beside(self, taken: int, width: int) -> list[Span]:
        """The note without its last parts where the title would give way to them; its first part stays."""
        note = list(self.note)
        while len(note) > 1 and taken + 1 + width_of(note) > width:
            note.pop()
        return note


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    title: str
    badge: str = ""
    badge_style: str = "$muted"


class TabBar(LineBar):
    """Names of views, one active. In: `tabs`, `active`, `note`. Out: `Chosen` on a click; the owner sets `active`."""

    DEFAULT_CSS = """
    TabBar {
        padding: 0 1;
        color: $muted;
    }
    """

    tabs: reactive[tuple[Tab, ...]] = reactive(())
    active: reactive[str] = reactive("")
    note: reactive[tuple[Span, ...]] = reactive[tuple[Span, ...]](())

    @dataclass
    class Chosen(Message):
        bar: "TabBar"
        tab: str

    def _tab(self, tab: Tab) -> list[Span]:
        is_active = tab.name == self.active
        spans: list[Span] = [(tab.title, "$accent bold underline" if is_active else "$muted")]
        if tab.badge:
            spans.append((f" {tab.badge}", tab.badge_style))
        return [*spans, ("   ", "")]

    def _seen(self, width: int) -> tuple[str, list[Tab]]:
        """The tabs that have room, the active one always among them, and the mark of those left out before them."""
        room = width - width_of(self.note) - 1
        kept = list(self.tabs)
        is_cut = False
        while len(kept) > 1 and width_of(span for tab in kept for span in self._tab(tab)) + 2 * is_cut > room:
            # From the start, so that the tabs that come next are seen; from the end once the active one is first.
            del kept[0 if kept[0].name != self.active else -1]
            is_cut = bool(kept) and kept[0] is not self.tabs[0]
        return ("‹ " if is_cut else ""), kept

    def line(self, width: int) -> list[Span]:
        mark, kept = self._seen(width)
        return spread([(mark, "$faint"), *(span for tab in kept for span in self._tab(tab))], self.note, width)

    def on_click(self, event: events.Click) -> None:
        mark, kept = self._seen(self.size.width)
        x = self.styles.padding.left + width_of([(mark, "")])
        for tab in kept:
            size = width_of(self._tab(tab))
            if x <= event.x < x + size:
                self.post_message(self.Chosen(self, tab.name))
                return
            x += size
