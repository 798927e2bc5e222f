"""The functions of the workspace, joined with what is registered, and the source of the one under the cursor."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.functions import FunctionRow, package_lines, sections
from agentic_rl_tui.app.screens.base import PlaceScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.panels import Empty, Facts, Note
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.functions.discovery import Discovery
    from agentic_rl_tui.core.functions.package_plan import PackagePlan
    from agentic_rl_tui.core.models.processors import ProcessorInfo
    from agentic_rl_tui.core.sdk.deploy import Deployment


class FunctionsList(PlaceScreen):
    """Read from the sources without importing them."""

    @dataclass
    class Discovered(Message):
        discovery: "Discovery"

    @dataclass
    class DeploymentsKnown(Message):
        found: "tuple[Deployment, ...]"

    @dataclass
    class Planned(Message):
        plan: "PackagePlan | None"
        hashes: dict[str, str]
        error: ArlError | None = None

    @dataclass
    class SourceRead(Message):
        info: "ProcessorInfo"
        text: str

    def __init__(self) -> None:
        super().__init__()
        self.discovery: Discovery | None = None
        self.plan: PackagePlan | None = None
        self._deployments: tuple[Deployment, ...] = ()
        self._hashes: dict[str, str] = {}

    @property
    def table(self) -> "Table[FunctionRow]":
        return self.query_one("#functions-table", Table)

    @property
    def row(self) -> FunctionRow | None:
        return self.table.current

    # Looking

    @work(thread=True, exclusive=True, group="functions.discover", exit_on_error=False)
    def discover(self) -> None:
        from agentic_rl_tui.core.functions.discovery import discover

        known, root = self.discovery, self.arl.settings.workspace
        found = known.refresh() if known is not None and known.workspace == root.absolute() else discover(root)
        self.post_message(self.Discovered(found))

    @on(Discovered)
    def _discovered(self, event: Discovered) -> None:
        self.discovery = event.discovery
        self.show_rows()
        self.ask_service()
        self._plan(event.discovery)

    @work(exclusive=True, group="functions.service", exit_on_error=False)
    async def ask_service(self) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            found = await backend.deployments()
        except ArlError:
            # Without a key nothing can be registered there; the health in the header says so.
            return
        self.post_message(self.DeploymentsKnown(tuple(found)))

    @on(DeploymentsKnown)
    def _deployments_known(self, event: DeploymentsKnown) -> None:
        self._deployments = event.found
        self.show_rows()

    @work(thread=True, exclusive=True, group="functions.package", exit_on_error=False)
    def _plan(self, discovery: "Discovery") -> None:
        """The package of the workspace as it is now; its hash tells whether registered code is still the same."""
        from agentic_rl_tui.core.functions import package

        infos = [info for info in discovery.processors if not info.is_abstract]
        if not infos:
            self.post_message(self.Planned(None, {}))
            return
        try:
            pairs = [(info.kind, info.classpath) for info in infos]
            plan = package.plan(discovery.workspace, functions=pairs, discovery=discovery)
            hashes = {
                info.classpath.dotted: plan.for_function(info.kind, info.classpath).archive_hash for info in infos
            }
        except ArlError as error:
            self.post_message(self.Planned(None, {}, error))
            return
        self.post_message(self.Planned(plan, hashes))

    @on(Planned)
    def _planned(self, event: Planned) -> None:
        self.plan, self._hashes = event.plan, event.hashes
        note = self.query_one("#functions-package-text", Note)
        if event.error is not None:
            note.lines = ((("✗ ", "$failed"), (event.error.message, "$ink")), ((event.error.advice or "", "$muted"),))
        else:
            note.lines = package_lines(event.plan) if event.plan is not None else ()
        self.show_rows()

    # Showing

    def _rows(self) -> Iterable[FunctionRow]:
        for info in self.discovery.processors if self.discovery is not None else ():
            if info.is_abstract:
                continue
            mine = [item for item in self._deployments if item.classpath == info.classpath.dotted]
            now = self._hashes.get(info.classpath.dotted)
            same = next((item for item in mine if item.content_hash == now), None)
            # The newest one stands for the class where none has the code of now.
            chosen = same or next(iter(mine), None)
            yield FunctionRow(info, chosen, None if chosen is None or now is None else same is not None)

    def show_rows(self) -> None:
        self.table.items = tuple(self._rows())
        heading = self.query_one("#functions-heading", Heading)
        count = len(self.table.items)
        is_known = self.discovery is not None
        heading.facts = ((_("{count} found").format(count=count), "$muted"),) if is_known else ()
        problems = self.discovery.problems if self.discovery is not None else ()
        heading.note = ()
        if problems:
            heading.note = ((f"! {problems[0].place} {plain(problems[0].message, keep_newlines=False)}", "$warn"),)
        empty = self.query_one("#functions-empty", Empty)
        empty.display = not count
        self.query_one("#functions-main").display = bool(count)
        empty.title = _("No functions in this workspace") if is_known else _("Reading the sources …")
        empty.body = _how_to_begin() if is_known else ()
        self._show_facts()
        self.refresh_hints()

    def _show_facts(self) -> None:
        row = self.row
        if row is not None:
            self.query_one("#functions-facts", Facts).sections = sections(row, self.arl.clock())

    @on(Table.Highlighted, "#functions-table")
    def _moved(self) -> None:
        self._show_facts()
        row = self.row
        if row is not None:
            self._read_source(row.info)
            self.row_changed(row)

    def row_changed(self, row: FunctionRow) -> None:
        """The cursor is on another function: a subclass prepares its input."""

    @work(thread=True, exclusive=True, group="functions.source", exit_on_error=False)
    def _read_source(self, info: "ProcessorInfo") -> None:
        try:
            text = (self.arl.settings.workspace / info.path).read_bytes().decode("utf-8", "replace")
        except OSError as error:
            text = f"# {error.strerror or error}"
        self.post_message(self.SourceRead(info, plain(text)))

    @on(SourceRead)
    def _show_source(self, event: SourceRead) -> None:
        row = self.row
        if row is not None and event.info == row.info:
            editor = self.query_one("#functions-source", Editor)
            editor.load(event.text, ".py")
            editor.move_cursor((event.info.line - 1, 0))
            self.call_after_refresh(editor.scroll_to, y=max(0, event.info.line - 2), animate=False)


_BASES = ("AbstractRolloutProcessor", "AbstractRewardProcessor", "AbstractGroupRewardProcessor")


def _how_to_begin() -> tuple[tuple[tuple[str, str], ...], ...]:
    return (
        ((_("A function is a class that extends one of these:"), "$muted"),),
        *(((name, "$ink"),) for name in _BASES),
        (("", ""),),
        (("agentic-rl-tui init", "$ink bold"), (_("  writes a workspace with all three"), "$muted")),
    )
