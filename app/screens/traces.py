"""Place 5: runs of functions and rollouts, with the spans they left."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.app.screens.traces_list import TraceList
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.widgets.bars import Chip, Heading
from agentic_rl_tui.widgets.prompt import Prompt


class TracesScreen(PlaceScreen):
    place = "traces"
    BINDINGS = bindings("traces")

    @dataclass
    class Told(Message):
        """What became of an export or import."""

        doing: str
        text: str = ""
        error: ArlError | None = None

    def body(self) -> ComposeResult:
        yield Heading(id="traces-heading", classes="place-heading")
        yield TraceList(id="traces-list")

    @property
    def runs(self) -> TraceList:
        return self.query_one(TraceList)

    def on_mount(self) -> None:
        self.query_one(Heading).title = _("Traces")
        self.watch(self.app, "backend", lambda: self.runs.load(), init=False)

    def on_screen_resume(self) -> None:
        if self.runs.is_known:
            self.runs.load()

    def action_refresh(self) -> None:
        self.runs.load()

    @on(TraceList.StateChanged)
    def _show(self) -> None:
        heading, runs = self.query_one(Heading), self.runs
        heading.facts = runs.state()
        chips = [Chip(f"/ {runs.words}")] if runs.words else []
        chips += [Chip(_("errors only"))] if runs.only_errors else []
        chips += [Chip(_("incomplete only"))] if runs.only_incomplete else []
        heading.chips = tuple(chips)
        self.refresh_hints()

    def undo_layers(self) -> Iterator[Layer]:
        if self.runs.table.marks:
            yield Layer(_("clear marks"), self.runs.table.clear_marks)
        if self.runs.is_narrowed:
            yield Layer(_("show all"), self.runs.widen)

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("traces.export", "traces.copy", "table.open") and self.runs.table.current is None:
            return _("There is no run here")
        return None

    # Narrowing

    async def action_filter(self) -> None:
        await self.prompt.ask("filter", "/", text=self.runs.words, hint=_("words of ids, function or end"))

    def action_errors(self) -> None:
        self.runs.only_errors = not self.runs.only_errors
        self.runs.load()

    def action_incomplete(self) -> None:
        self.runs.only_incomplete = not self.runs.only_incomplete
        self.runs.load()

    @on(Prompt.Given)
    def _given(self, event: Prompt.Given) -> None:
        if event.purpose == "filter":
            self.runs.words = event.text.strip()
            self.runs.load()
        elif event.text.strip():
            target = Path(event.text.strip()).expanduser()
            if event.purpose == "export":
                self._export(target, tuple(run.key for run in self.runs.table.chosen))
            else:
                self._import(target)

    # Files

    def action_copy(self) -> None:
        if self.may("traces.copy"):
            self.arl.copy("\n".join(run.run_id for run in self.runs.table.chosen), _("run id"))

    async def action_export(self) -> None:
        if self.may("traces.export"):
            chosen = self.runs.table.chosen
            name = f"trace-{chosen[0].run_id[:8]}.json" if len(chosen) == 1 else "traces.json"
            await self.prompt.ask("export", _("export to"), text=str(self.arl.settings.workspace / name))

    async def action_take(self) -> None:
        await self.prompt.ask("import", _("import"), text="", hint=_("a file with OTLP JSON"))

    @work(group="traces.files", exit_on_error=False)
    async def _export(self, target: Path, keys: tuple[str, ...]) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            content = await backend.export_traces(keys)
            _write(target, content)
        except ArlError as error:
            self.post_message(self.Told(_("export"), error=error))
        else:
            self.post_message(self.Told(_("export"), _("Wrote {file}").format(file=target)))

    @work(group="traces.files", exit_on_error=False)
    async def _import(self, source: Path) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            count = await backend.import_traces(_read(source))
        except ArlError as error:
            self.post_message(self.Told(_("import"), error=error))
        else:
            text = ngettext("{count} run imported", "{count} runs imported", count).format(count=f"{count:,}")
            self.post_message(self.Told(_("import"), text))

    @on(Told)
    def _told(self, event: Told) -> None:
        if event.error is not None:
            self.arl.fail(event.error, event.doing)
        else:
            self.arl.say(event.text)
            self.runs.load()


def _write(target: Path, content: bytes) -> None:
    try:
        with target.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise ConfigError(
            _("{file} cannot be written: {reason}").format(file=target, reason=error.strerror or error)
        ) from error


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise ConfigError(
            _("{file} cannot be read: {reason}").format(file=source, reason=error.strerror or error)
        ) from error
