"""The tabs of one job as its screen sees them: what they show of themselves, what escape undoes, what they save."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.worker import WorkerCancelled

from agentic_rl_tui.app.present.job import clean
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.highlight import TROUBLE
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.logview_seek import typed_text
from agentic_rl_tui.widgets.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Saving:
    """What `s` writes: the ending of the file's name, its lines (made in a thread), and what they are in words."""

    ending: str
    lines: Callable[[], Iterable[str]]
    what: str = ""


class JobPane(Vertical):
    """A tab of a job. Out: `StateChanged` when `state`, `undoable` or `saving` may have changed."""

    @dataclass
    class StateChanged(Message):
        pane: "JobPane"

    @dataclass
    class GroupsAsked(Message):
        """The groups of a training step are wanted, those without spread first."""

        step: int

    def job_changed(self, job: Job) -> None:
        """The platform told of the job anew."""

    def show_groups(self, step: int) -> None:
        """Show the groups of a training step; tabs without them have nothing to do."""

    def state(self) -> tuple[Span, ...]:
        """Where the tab stands, for the line of tabs."""
        return ()

    def undoable(self) -> Iterator[Layer]:
        """What escape undoes, nearest first."""
        yield from ()

    def saving(self) -> Saving | None:
        """What can be saved of this tab; None where it has nothing of its own."""
        return None

    def given(self, purpose: str, text: str) -> bool:  # noqa: ARG002
        """An answer to a prompt; False where this tab did not ask for it."""
        return False


class JobPanes(PlaceScreen):
    """The prompts that the tabs share: search, filter, go to line, save. Subclasses have `tab`, `job_id`, `job`."""

    tab: str
    job_id: str
    job: "Job | None"
    _asking: LogView | None = None

    @dataclass
    class SaveEnded(Message):
        target: Path
        error: ArlError | None = None

    @property
    def pane(self) -> JobPane | None:
        """The tab that is shown, where it is one of ours and made already."""
        return next((pane for pane in self.query(JobPane) if pane.id == self.tab), None)

    def pane_changed(self) -> None:
        """The shown tab has other things to say of itself."""

    def undo_layers(self) -> Iterator[Layer]:
        pane = self.pane
        if pane is not None:
            yield from pane.undoable()

    @on(JobPane.GroupsAsked)
    def _groups_asked(self, event: JobPane.GroupsAsked) -> None:
        self.tab = "trajectories"
        self._show_groups(event.step)

    @work(exclusive=True, group="job.groups", exit_on_error=False)
    async def _show_groups(self, step: int) -> None:
        opening = [worker for worker in self.workers if worker.group == "job.tab" and not worker.is_finished]
        if opening:  # none would mean all to it, and this worker is one of them
            with suppress(WorkerCancelled):
                await self.workers.wait_for_complete(opening)
        if self.pane is not None:
            self.pane.show_groups(step)

    # Asking

    @on(LogView.Asked)
    async def _asked(self, event: LogView.Asked) -> None:
        view = self._asking = event.view
        if event.what == "line":
            await self.prompt.ask("line", _("line"), hint=_("1 to {last}").format(last=f"{len(view.source):,}"))
        elif event.what == "filter":
            hint = _("text or regular expression; only lines with it stay; empty shows all")
            await self.prompt.ask("filter", "&", text=typed_text(view.only) if view.only else "", hint=hint)
        else:
            hint = _("text or regular expression; capitals make case count")
            await self.prompt.ask("search", "/", hint=hint)

    @on(Prompt.Given)
    def _given(self, event: Prompt.Given) -> None:
        pane = self.pane
        if event.purpose == "save":
            self._save_to(Path(event.text).expanduser())
        elif pane is not None and pane.given(event.purpose, event.text):
            pass
        elif self._asking is not None and event.purpose in ("search", "filter", "line"):
            self._tell(self._asking, event.purpose, event.text)
        self.pane_changed()
        self.refresh_hints()

    def _tell(self, view: LogView, purpose: str, text: str) -> None:
        number = text.strip().replace(",", "")
        if purpose == "search":
            view.search(text)
        elif purpose == "filter":
            view.sift(text=text)
        elif number.isdecimal():
            view.go_to_number(int(number) - 1)
        else:
            self.arl.refuse(_("{text!r} is no line number").format(text=text))

    @on(LogView.SearchEnded)
    def _search_ended(self, event: LogView.SearchEnded) -> None:
        if event.line is None:
            nothing = _("No line matches {pattern!r}").format(pattern=typed_text(event.pattern))
            self.arl.refuse(_("No error line") if event.pattern is TROUBLE else nothing)
        elif event.went_round:
            self.arl.say(_("Searched past the end, on from the other side"))
        self.pane_changed()

    @on(LogView.FilterChanged)
    def _filter_changed(self) -> None:
        self.pane_changed()
        self.refresh_hints()

    # Saving

    def _saving(self) -> Saving | None:
        shown = self.pane.saving() if self.pane is not None else None
        return shown or next((saving for pane in self.query(JobPane) if (saving := pane.saving())), None)

    async def action_save(self) -> None:
        """Ask where to: a tab saves what it shows; one that has nothing of its own, the log."""
        saving = self._saving()
        if saving is None:
            return
        name = clean(self.job.job_name or self.job_id) if self.job is not None else self.job_id
        target = self.arl.settings.workspace / f"{name.replace('/', '_')}.{saving.ending}"
        label = _("save {what} to").format(what=saving.what) if saving.what else _("save to")
        await self.prompt.ask("save", label, text=str(target))

    def _save_to(self, target: Path) -> None:
        saving = self._saving()
        if saving is not None:
            self._save(target, saving.lines)

    @work(thread=True, group="job.save", exit_on_error=False)
    def _save(self, target: Path, lines: Callable[[], Iterable[str]]) -> None:
        try:
            with target.open("x", encoding="utf-8", errors="replace") as file:
                file.writelines(f"{line}\n" for line in lines())
        except OSError as error:
            text = _("{path} cannot be written: {reason}").format(path=target, reason=error.strerror)
            self.post_message(self.SaveEnded(target, ConfigError(text)))
        except ArlError as error:
            self.post_message(self.SaveEnded(target, error))
        else:
            self.post_message(self.SaveEnded(target))

    @on(SaveEnded)
    def _saved(self, event: SaveEnded) -> None:
        if event.error is not None:
            self.arl.fail(event.error, _("save"))
        else:
            self.arl.say(_("Wrote {path}").format(path=event.target))
