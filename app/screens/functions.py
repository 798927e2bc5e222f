"""Place 2: the rollout and reward functions of the workspace."""

from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.screens.base import PlaceScreen
from agentic_rl_tui.core.models.processors import ProcessorInfo
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.cells import Cell, Span, clip_middle
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.panels import Empty, Fact, Facts, Section
from agentic_rl_tui.widgets.table import Table

_KIND_STYLES = {"rollout": "$running", "reward": "$accent", "group_reward": "$succeeded"}


def _kind(item: ProcessorInfo, _width: int) -> Cell:
    return [("ƒ ", _KIND_STYLES.get(item.kind.value, "$muted")), (item.kind.value.replace("_", " "), "$ink")]


def _where(item: ProcessorInfo, width: int) -> Cell:
    return [(clip_middle(f"{item.path}:{item.line}", width), "$muted")]


COLUMNS: tuple[Column[ProcessorInfo], ...] = (
    Column("kind", "KIND", _kind, 14, sort=lambda item: item.kind.value),
    Column("class", "CLASS", lambda item, _: [(item.class_name, "$ink")], 18, 32, sort=lambda i: i.class_name),
    Column("where", "WHERE", _where, 20, 48, fold=1, sort=lambda item: (item.path, item.line)),
)


class FunctionsScreen(PlaceScreen):
    """Read from the sources without importing them."""

    place = "functions"
    CSS_PATH = themes.STYLES / "functions.tcss"
    BINDINGS = bindings("functions")

    @dataclass
    class Discovered(Message):
        processors: tuple[ProcessorInfo, ...]
        problems: tuple[str, ...]

    def __init__(self) -> None:
        super().__init__()
        self._is_known = False
        self._problems: tuple[str, ...] = ()

    def body(self) -> ComposeResult:
        yield Heading(id="functions-heading", classes="place-heading")
        with Horizontal(id="functions-main"):
            table: Table[ProcessorInfo] = Table(COLUMNS, lambda item: item.classpath.dotted, id="functions-table")
            yield table
            with Vertical(id="functions-side"):
                with VerticalScroll(id="functions-detail"):
                    yield Facts(id="functions-facts")
                yield Editor(read_only=True, id="functions-source")
        yield Empty(id="functions-empty")

    @property
    def table(self) -> "Table[ProcessorInfo]":
        return self.query_one("#functions-table", Table)

    def on_mount(self) -> None:
        self.query_one(Heading).title = "Functions"
        self.query_one("#functions-detail").can_focus = False
        self._show()
        self.table.focus()
        self.discover()

    def action_refresh(self) -> None:
        self.discover()

    @work(thread=True, exclusive=True, group="functions.discover", exit_on_error=False)
    def discover(self) -> None:
        from agentic_rl_tui.core.functions.discovery import discover

        found = discover(self.arl.settings.workspace)
        problems = tuple(f"{item.path}:{item.line} {plain(item.message)}" for item in found.problems)
        self.post_message(self.Discovered(tuple(found.processors), problems))

    @on(Discovered)
    def _discovered(self, event: Discovered) -> None:
        self._is_known = True
        self._problems = event.problems
        self.table.items = tuple(item for item in event.processors if not item.is_abstract)
        self._show()

    def _show(self) -> None:
        count = len(self.table.items)
        heading = self.query_one(Heading)
        heading.facts = ((f"{count} found", "$muted"),) if self._is_known else ()
        if self._problems:
            heading.note = ((f"! {self._problems[0]}", "$warn"),)
        empty = self.query_one("#functions-empty", Empty)
        empty.display = not count
        self.query_one("#functions-main").display = bool(count)
        if self._is_known:
            empty.title = "No functions in this workspace"
            empty.body = (
                (("A function is a class that extends ", "$muted"), ("BaseRolloutProcessor", "$ink"), (",", "$muted")),
                (
                    ("BaseRewardProcessor", "$ink"),
                    (" or ", "$muted"),
                    ("BaseGroupRewardProcessor", "$ink"),
                    (".", "$muted"),
                ),
                (("", ""),),
                (("agentic-rl-tui init", "$ink bold"), ("  writes a workspace with all three", "$muted")),
            )
        else:
            empty.title = "Reading the sources …"

    @on(Table.Highlighted)
    def _moved(self) -> None:
        item = self.table.current
        if item is not None:
            self.query_one("#functions-facts", Facts).sections = _sections(item)
            self._read_source(item)

    @work(thread=True, exclusive=True, group="functions.source", exit_on_error=False)
    def _read_source(self, item: ProcessorInfo) -> None:
        try:
            text = (self.arl.settings.workspace / item.path).read_bytes().decode("utf-8", "replace")
        except OSError:
            text = ""
        self.post_message(self.SourceRead(item, plain(text)))

    @dataclass
    class SourceRead(Message):
        item: ProcessorInfo
        text: str

    @on(SourceRead)
    def _show_source(self, event: SourceRead) -> None:
        if event.item == self.table.current:
            editor = self.query_one("#functions-source", Editor)
            editor.load(event.text, ".py")
            editor.move_cursor((event.item.line - 1, 0))
            self.call_after_refresh(editor.scroll_to, y=max(0, event.item.line - 2), animate=False)

    @on(Table.Opened)
    def _opened(self) -> None:
        self.query_one("#functions-source").focus()


def _sections(item: ProcessorInfo) -> tuple[Section, ...]:
    facts = [
        Fact("class", [(item.class_name, "$ink bold")]),
        Fact("kind", item.kind.value.replace("_", " ")),
        Fact("classpath", item.classpath.dotted),
        Fact("process", "async" if item.is_async else "sync"),
        Fact("setup", "once per worker" if item.has_setup else "none"),
    ]
    sections = [Section("", tuple(facts))]
    if item.sub_rewards:
        subs: list[Fact] = []
        for sub in item.sub_rewards:
            weight = "weight ?" if sub.weight is None else f"weight {sub.weight:g}"
            value: list[Span] = [(weight, "$ink"), (f"  line {sub.line}", "$faint")]
            subs.append(Fact(sub.name, value))
        sections.append(Section("SUB-REWARDS", tuple(subs)))
    return tuple(sections)
