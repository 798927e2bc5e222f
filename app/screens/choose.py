"""One of several: outline entries, presets, files, fixes, templates. Typing narrows the list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.fuzzy import Matcher
from textual.widgets import Input, Static

from agentic_rl_tui.app.screens.base import Dialog
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.widgets.cells import Cell
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.table import Table

T = TypeVar("T")

_MOST_LINES = 24
_FRAME_LINES = 8
"""Title, input, the gaps and the edges of the dialog."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """value is what the dialog answers. is_free: the entry stands for the text that is typed, and always matches."""

    value: T
    label: str
    detail: str = ""
    note: str = ""
    style: str = "$ink"
    is_free: bool = False


def _label(item: "Choice[Any]", _width: int) -> Cell:
    return [(item.label, item.style)]


def _distance(label: str, query: str) -> int:
    """0 for the very word, 1 for one that begins with it, 2 for any other: fuzzy scores alone mix them up."""
    plain = label.strip().lower()
    return 0 if plain == query else 1 if plain.startswith(query) else 2


class Choose(Dialog["Choice[T] | None"], Generic[T]):
    """Answers the entry, or None. `typed` holds what was typed when it was chosen."""

    BINDINGS = [
        Binding("down,ctrl+n", "move(1)", N_("Down"), show=False),
        Binding("up,ctrl+p", "move(-1)", N_("Up"), show=False),
        Binding("pagedown", "move(10)", N_("Page down"), show=False),
        Binding("pageup", "move(-10)", N_("Page up"), show=False),
    ]

    def __init__(self, title: str, items: "Sequence[Choice[T]]", *, hint: str = "", start: int = 0) -> None:
        super().__init__()
        self._question = title
        self._items = tuple(items)
        self._hint = hint
        self._start = start
        self.typed = ""

    def compose(self) -> ComposeResult:
        widest = max((len(item.label) for item in self._items), default=0)
        noted = min(16, max((cell_len(item.note) for item in self._items), default=0))
        columns: tuple[Column[Choice[T]], ...] = (
            Column("label", "", _label, min(max(12, widest), 34), widest),
            Column("detail", "", lambda item, _width: [(item.detail, "$muted")], 20, 120, fold=1),
            Column("note", "", lambda item, _width: [(item.note, "$faint")], noted, noted, "right", fold=2),
        )
        has_note = noted > 0
        with Vertical(id="dialog", classes="-palette"):
            yield Static(self._question, id="dialog-title", markup=False)
            yield Input(placeholder=self._hint or _("Type to narrow the list"), id="palette-input", compact=True)
            table: Table[Choice[T]] = Table(
                columns if has_note else columns[:2], lambda item: str(self._items.index(item)), id="palette-table"
            )
            table.can_focus = False
            yield table

    @property
    def table(self) -> "Table[Choice[T]]":
        return self.query_one("#palette-table", Table)

    def on_mount(self) -> None:
        # As high as all of it needs, and the same while typing makes the list shorter.
        self.query_one("#dialog").styles.height = min(_MOST_LINES, len(self._items) + _FRAME_LINES)
        self.table.items = self._items
        self.table.cursor = self._start
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.typed = event.value
        query = event.value.strip()
        shown = self._items
        if query:
            matcher = Matcher(query)
            begins = query.lower()
            scored = [(matcher.match(f"{item.label} {item.detail}"), item) for item in self._items if not item.is_free]
            ranked = sorted(scored, key=lambda pair: (_distance(pair[1].label, begins), -pair[0]))
            found = [item for score, item in ranked if score > 0]
            shown = tuple(found + [item for item in self._items if item.is_free])
        self.table.items = shown
        self.table.cursor = 0

    def action_move(self, rows: int) -> None:
        self.table.cursor += rows

    @on(Input.Submitted)
    @on(Table.Opened)
    def _chosen(self) -> None:
        self.dismiss(self.table.current)
