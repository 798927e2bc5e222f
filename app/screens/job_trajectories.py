"""The rollouts of a job: steps, then the samples of a step, then the group of a sample with its conversations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.present.trajectories import (
    RolloutRow,
    SampleRow,
    StepRow,
    conversation,
    rollout_columns,
    rollout_rows,
    sample_columns,
    sample_rows,
    step_columns,
    step_rows,
)
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.job_panes import JobPane
from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Empty, Note
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.app.tui import ArlApp


class JobTrajectories(JobPane):
    """In: `load`, `back`. Out: `StateChanged`. Three levels; enter goes deeper, escape comes back."""

    @dataclass
    class Came(Message):
        level: str
        page: dict[str, Any] | None

    def __init__(self, job_id: str) -> None:
        super().__init__(id="trajectories")
        self.job_id = job_id
        self.level = "steps"
        self.step: int | None = None
        self.phase = "train"
        self.sample: int | None = None

    def compose(self) -> ComposeResult:
        with ContentSwitcher(id="trajectory-levels", initial="trajectory-empty"):
            yield Empty(id="trajectory-empty")
            steps: Table[StepRow] = Table(step_columns(), lambda row: row.key, id="trajectory-steps")
            yield steps
            samples: Table[SampleRow] = Table(sample_columns(), lambda row: row.key, id="trajectory-samples")
            yield samples
            with Vertical(id="trajectory-group"):
                rollouts: Table[RolloutRow] = Table(rollout_columns(), lambda row: row.key, id="trajectory-rollouts")
                yield rollouts
                with VerticalScroll(id="trajectory-talk"):
                    yield Note(id="trajectory-text")

    def on_mount(self) -> None:
        self.load()

    def load(self) -> None:
        """Read the steps again; deeper levels stay as they are."""
        self._fetch("steps", None, None)

    @work(exclusive=True, group="trajectories.load", exit_on_error=False)
    async def _fetch(self, level: str, step: int | None, sample: int | None) -> None:
        arl = cast("ArlApp", self.app)
        if arl.backend is None:
            return
        try:
            page = await arl.backend.trajectories(self.job_id, step=step, sample=sample, phase=self.phase)
        except ArlError as error:
            arl.fail(error, _("read the trajectories"))
        else:
            self.post_message(self.Came(level, page))

    @on(Came)
    def _came(self, event: Came) -> None:
        page = event.page or {}
        if event.level == "steps":
            rows = step_rows(page)
            self.query_one("#trajectory-steps", Table).items = rows
            if not rows:
                empty = self.query_one(Empty)
                empty.title = _("No trajectories yet") if event.page is not None else _("No trajectories here")
                why = _("They come with the first finished step.") if event.page is not None else _(_WHY_NONE)
                empty.body = (((why, "$muted"),),)
            if self.level == "steps":
                self._open("trajectory-steps" if rows else "trajectory-empty")
        elif event.level == "samples":
            self.query_one("#trajectory-samples", Table).items = sample_rows(page)
            self._go("samples")
        else:
            self.query_one("#trajectory-rollouts", Table).items = rollout_rows(page)
            self._go("group")

    def _go(self, level: str) -> None:
        self.level = level
        self._open(f"trajectory-{level}")

    def _open(self, name: str) -> None:
        had_focus = self.has_focus_within
        self.query_one(ContentSwitcher).current = name
        table = self.query_one("#trajectory-rollouts" if name == "trajectory-group" else f"#{name}")
        if table.focusable and (had_focus or self.screen.focused is None):
            table.focus()
        self.post_message(self.StateChanged(self))

    @on(Table.Opened, "#trajectory-steps")
    def _open_step(self) -> None:
        row = self.query_one("#trajectory-steps", Table).current
        if row is not None:
            self.step, self.phase = row.step, row.phase
            self._fetch("samples", row.step, None)

    @on(Table.Opened, "#trajectory-samples")
    def _open_sample(self) -> None:
        row = self.query_one("#trajectory-samples", Table).current
        if row is not None:
            self.sample = row.sample
            self._fetch("group", self.step, row.sample)

    @on(Table.Opened, "#trajectory-rollouts")
    def _read_talk(self) -> None:
        self.query_one("#trajectory-talk").focus()

    @on(Table.Highlighted, "#trajectory-rollouts")
    def _show_talk(self) -> None:
        row = self.query_one("#trajectory-rollouts", Table).current
        if row is not None:
            self.query_one("#trajectory-text", Note).lines = conversation(row.record)
            self.query_one("#trajectory-talk", VerticalScroll).scroll_home(animate=False)

    @property
    def way_back(self) -> str | None:
        """What one step back is called; None at the first level."""
        if self.query_one("#trajectory-talk").has_focus:
            return _("back to the rollouts")
        return {"samples": _("back to the steps"), "group": _("back to the samples")}.get(self.level)

    def back(self) -> None:
        if self.query_one("#trajectory-talk").has_focus:
            self.query_one("#trajectory-rollouts").focus()
        elif self.level == "group":
            self._go("samples")
        elif self.level == "samples":
            self._go("steps")

    def undoable(self) -> Iterator[Layer]:
        if self.way_back is not None:
            yield Layer(self.way_back, self.back)

    def state(self) -> tuple[Span, ...]:
        """Where we are, for the line of tabs."""
        parts = []
        if self.level != "steps" and self.step is not None:
            named = _("validation, step {step}") if self.phase == "validation" else _("step {step}")
            parts.append(named.format(step=self.step))
        if self.level == "group" and self.sample is not None:
            parts.append(_("sample {sample}").format(sample=self.sample))
        return ((" › ".join(parts), "$muted"),) if parts else ()


_WHY_NONE = N_("Only the local platform keeps every rollout of a job.")
