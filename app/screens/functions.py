"""Place 2: the rollout and reward functions of the workspace: found, tried, packaged, registered."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.external import edit_outside
from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.columns import titled
from agentic_rl_tui.app.present.functions import COLUMNS, FunctionRow, clean, pretty
from agentic_rl_tui.app.present.steps import size
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.functions_history import FunctionsHistory
from agentic_rl_tui.app.screens.functions_register import Register
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Heading, Tab, TabBar
from agentic_rl_tui.widgets.codeeditor import CodeEditor
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Facts, Note
from agentic_rl_tui.widgets.popup import Popup
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.deploy import Deployment

TABS = (("test", N_("Test")), ("log", N_("Log")), ("package", N_("Package")), ("source", N_("Source")))


class FunctionsScreen(FunctionsHistory):
    """The list on the left, one function on the right."""

    place = "functions"
    CSS_PATH = themes.STYLES / "functions.tcss"
    BINDINGS = bindings("functions")

    @dataclass
    class InstanceLog(Message):
        instance_id: str
        lines: list[str]

    @dataclass
    class ServiceFailed(Message):
        error: ArlError
        doing: str

    @dataclass
    class InstancesGone(Message):
        count: int

    @dataclass
    class Answered(Message):
        body: dict[str, Any]
        instance_id: str

    def body(self) -> ComposeResult:
        yield Heading(id="functions-heading", classes="place-heading")
        with Horizontal(id="functions-main"):
            with Vertical(id="functions-left"):
                table: Table[FunctionRow] = Table(titled(COLUMNS), lambda row: row.key, id="functions-table")
                yield table
                yield Facts(id="functions-facts")
            with Vertical(id="functions-side"):
                yield TabBar(id="functions-tabs")
                with ContentSwitcher(id="functions-panes", initial="pane-test"):
                    with Vertical(id="pane-test"):
                        yield Heading(id="try-heading")
                        yield CodeEditor(id="try-input")
                        with VerticalScroll(id="try-result"):
                            yield Note(id="try-result-text")
                    with Vertical(id="pane-log"):
                        yield LogView(id="functions-log")
                    with VerticalScroll(id="pane-package"):
                        yield Note(id="functions-package-text")
                    with Vertical(id="pane-source"):
                        yield Editor(read_only=True, id="functions-source")
        yield Empty(id="functions-empty")
        yield Popup(id="try-popup")

    def on_mount(self) -> None:
        self.query_one("#functions-heading", Heading).title = _("Functions")
        tabs = self.query_one("#functions-tabs", TabBar)
        tabs.tabs = tuple(Tab(name, _(title)) for name, title in TABS)
        tabs.active = "test"
        log = self.query_one("#functions-log", LogView)
        log.source = self._lines
        log.is_following = True
        log.placeholder = _("What the function prints shows here; l fetches the log of its instance")
        self.show_result(((("t", "$accent bold"), (_("  runs the function on this input"), "$muted")),))
        self.show_rows()
        self.table.focus()
        self.discover()
        self.watch(self.app, "backend", self._backend_came)

    def _backend_came(self) -> None:
        self.ask_service()

    def action_refresh(self) -> None:
        """The refresh key runs the function: that is what asks again here. The sources are looked at as well."""
        self.discover()
        if self.table.items:
            self.action_run()

    # Tabs

    def show_tab(self, name: str) -> None:
        self.query_one("#functions-tabs", TabBar).active = name
        self.query_one("#functions-panes", ContentSwitcher).current = f"pane-{name}"

    @on(TabBar.Chosen)
    def _tab_chosen(self, event: TabBar.Chosen) -> None:
        self.show_tab(event.tab)

    def action_next_tab(self, step: int = 1) -> None:
        names = [name for name, _title in TABS]
        at = names.index(self.query_one("#functions-tabs", TabBar).active)
        self.show_tab(names[(at + step) % len(names)])

    @on(Table.Opened, "#functions-table")
    def _opened(self) -> None:
        """Into the pane that is shown."""
        name = self.query_one("#functions-tabs", TabBar).active
        target = {
            "test": "#try-input",
            "log": "#functions-log",
            "package": "#pane-package",
            "source": "#functions-source",
        }
        self.query_one(target[name]).focus()

    def action_edit(self) -> None:
        """The source, in the user's own editor."""
        row = self.row
        if row is not None and edit_outside(self.arl, self.arl.settings.workspace / row.info.path, row.info.line):
            self.discover()

    @on(LogView.Asked)
    async def _log_asked(self, event: LogView.Asked) -> None:
        label = _("search") if event.what == "search" else _("line")
        await self.prompt.ask(f"log.{event.what}", label)

    @on(Prompt.Given)
    def _log_given(self, event: Prompt.Given) -> None:
        log = self.query_one("#functions-log", LogView)
        if event.purpose == "log.search":
            log.search(event.text)
        elif event.purpose == "log.line" and event.text.strip().isdigit():
            log.go_to(int(event.text) - 1)

    # The service

    def why_not(self, action_id: str) -> str | None:
        if action_id.startswith("functions.") and not self.table.items:
            return _("There are no functions in this workspace")
        row = self.row
        has_instance = row is not None and row.deployment is not None and bool(row.deployment.instances)
        if action_id in ("functions.delete", "functions.remote", "functions.logs") and not has_instance:
            return _("No instance of this function was loaded from here; R registers it")
        if action_id == "functions.trace" and self.trace is None:
            return _("The last run left no spans; a rollout that calls a traced client does")
        if action_id == "functions.run" and self.is_trying:
            return _("A run is going on; esc stops it")
        return None

    def action_register(self) -> None:
        row = self.row
        if row is not None and self.may("functions.register"):
            self._ask_register(row)

    @work(thread=True, exclusive=True, group="functions.offer", exit_on_error=False)
    def _ask_register(self, row: FunctionRow) -> None:
        from agentic_rl_tui.core.sdk.tryout import runtime_of

        runtime = runtime_of(self.arl.settings.workspace, row.info)
        plan = self.plan
        words = ""
        if plan is not None:
            words = ngettext("{count} file, {size}", "{count} files, {size}", len(plan.entries))
            words = words.format(count=len(plan.entries), size=size(plan.total_bytes))
        self.app.call_from_thread(self.app.push_screen, Register(row, runtime, words), self._registered)

    def _registered(self, found: "Deployment | None") -> None:
        self.ask_service()
        if found is not None:
            self.arl.say(_("Registered as {entity}").format(entity=found.entity_id))

    def action_logs(self) -> None:
        row = self.row
        if row is not None and row.deployment is not None and self.may("functions.logs"):
            self.show_tab("log")
            self.query_one("#functions-log", LogView).focus()
            self._fetch_log(row.deployment.instances[0])

    @work(exclusive=True, group="functions.log", exit_on_error=False)
    async def _fetch_log(self, instance_id: str) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            lines = await backend.instance_logs(instance_id)
        except ArlError as error:
            self.post_message(self.ServiceFailed(error, _("read the log of {name}").format(name=instance_id)))
        else:
            self.post_message(self.InstanceLog(instance_id, lines))

    @on(InstanceLog)
    def _show_log(self, event: InstanceLog) -> None:
        self._lines.clear()
        self._lines.append(
            [
                ngettext(
                    "— instance {name}, {count} line —", "— instance {name}, {count} lines —", len(event.lines)
                ).format(name=event.instance_id, count=len(event.lines))
            ]
        )
        self._lines.append([line for entry in event.lines for line in plain(entry).splitlines() or [""]])
        self.query_one("#functions-log", LogView).grew()

    @on(ServiceFailed)
    def _service_failed(self, event: ServiceFailed) -> None:
        self.arl.fail(event.error, event.doing)

    def action_delete(self) -> None:
        row = self.row
        if row is None or row.deployment is None or not self.may("functions.delete"):
            return
        names = row.deployment.instances
        lines = (
            *(((clean(name), "$ink"),) for name in names),
            ((_("Calls to it end; the registered code stays."), "$muted"),),
        )
        title = ngettext("Delete the instance of {name}?", "Delete {count} instances of {name}?", len(names))

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._delete(names)

        question = title.format(count=len(names), name=row.info.class_name)
        self.app.push_screen(Confirm(question, lines, yes=_("Delete"), no=_("Keep")), answered)

    @work(group="functions.delete", exit_on_error=False)
    async def _delete(self, names: tuple[str, ...]) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        for name in names:
            try:
                await backend.remove_instance(name)
            except ArlError as error:
                self.post_message(self.ServiceFailed(error, _("delete {name}").format(name=name)))
                return
        self.post_message(self.InstancesGone(len(names)))

    @on(InstancesGone)
    def _instances_gone(self, event: InstancesGone) -> None:
        self.arl.say(
            ngettext("Deleted {count} instance", "Deleted {count} instances", event.count).format(count=event.count)
        )
        self.ask_service()

    def action_remote(self) -> None:
        """Run on the registered instance instead of here."""
        row = self.row
        if row is None or row.deployment is None or not self.may("functions.remote"):
            return
        try:
            payload = json.loads(self.input.text)
        except (json.JSONDecodeError, RecursionError):
            self.arl.refuse(_("The input is no JSON yet; the gutter shows where"))
            return
        self.show_tab("test")
        self._begin(self._call_there(row.deployment.instances[0], row.info.kind.value, payload))

    @work(exclusive=True, group="functions.run", exit_on_error=False)
    async def _call_there(self, instance_id: str, kind: str, payload: Any) -> None:
        from agentic_rl_tui.core.sdk.tryout import with_key

        backend = self.arl.backend
        if backend is None:
            return
        try:
            sent = with_key(payload, self._resource) if isinstance(payload, dict) else payload
            body = await backend.call_instance(instance_id, kind, sent)
        except ArlError as error:
            self.post_message(self.RunFailed(error))
        else:
            self.post_message(self.Answered(body, instance_id))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        head: tuple[tuple[str, str], ...] = (
            ("✔ ", "$succeeded"),
            (_("answered by {name}").format(name=event.instance_id), "$ink"),
        )
        body = tuple(((line, "$muted"),) for line in pretty(event.body).splitlines())
        self.show_result((head, (("", ""),), *body))
