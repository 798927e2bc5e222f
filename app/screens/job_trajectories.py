"""The rollouts of a job: steps, the samples of a step, the group of a sample side by side, one whole conversation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.rollouts import conversation, export_lines, group_shown, one_line, side_texts
from agentic_rl_tui.app.present.trajectories import (
    KINDS,
    SampleRow,
    StepRow,
    phase_word,
    sample_columns,
    sample_match,
    sample_rows,
    step_columns,
    step_rows,
    with_group,
)
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.job_logs import log_texts
from agentic_rl_tui.app.screens.job_panes import Saving
from agentic_rl_tui.app.screens.job_rollouts import Place, RolloutReader
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.groups import bounds
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.lines_styled import StyledLines
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Note
from agentic_rl_tui.widgets.sidebyside import SideBySide
from agentic_rl_tui.widgets.table import Table

_WHY_NONE = N_("Only the local platform keeps every rollout of a job.")
_LEVELS = ("steps", "samples", "group", "talk")
_CHIP = "$accent on $raised"


@dataclass
class Turned(Message):
    """The step after or before is wanted."""

    direction: int


class SampleTable(Table[SampleRow]):
    BINDINGS = bindings("samples")

    @dataclass
    class FilterAsked(Message):
        kind: str | None = None

    def action_filter(self) -> None:
        self.post_message(self.FilterAsked())

    def action_kind(self) -> None:
        self.post_message(self.FilterAsked("next"))

    def action_turn(self, direction: int) -> None:
        self.post_message(Turned(direction))


class GroupView(SideBySide):
    BINDINGS = bindings("group")

    def action_turn(self, direction: int) -> None:
        self.post_message(Turned(direction))


class TalkView(LogView):
    """One conversation: a log view, so that it is searched like one."""

    BINDINGS = bindings("talk")

    @dataclass
    class Folded(Message):
        view: "TalkView"

    def action_turn(self, direction: int) -> None:
        self.post_message(Turned(direction))

    def action_fold(self) -> None:
        self.post_message(self.Folded(self))


class JobTrajectories(RolloutReader):
    """In: `load`, `show_groups`. Out: `StateChanged`. Enter goes a level deeper, escape comes back.

    known: the least and greatest reward of the job so far, where that is known from elsewhere.
    """

    def __init__(self, job_id: str, known: Callable[[], tuple[float, float] | None] = lambda: None) -> None:
        super().__init__(job_id)
        self._known = known
        self.level = "steps"
        self.place = Place("train", 0)
        self.filter_text = ""
        self._wants_flat = False
        self._job_at: tuple[int | None, str] | None = None
        self.records: list[Mapping[str, Any]] = []
        self.talking = ""
        self.is_folded = True

    def compose(self) -> ComposeResult:
        with ContentSwitcher(id="trajectory-levels", initial="trajectory-empty"):
            yield Empty(id="trajectory-empty")
            steps: Table[StepRow] = Table(step_columns(), lambda row: row.key, id="trajectory-steps")
            yield steps
            with Vertical(id="trajectory-samples"):
                yield SampleTable(sample_columns(), lambda row: row.key, id="trajectory-sample-table")
                yield Note(id="trajectory-prompt")
            yield GroupView(texts=side_texts(), id="trajectory-group")
            talk = TalkView(texts=log_texts(), is_prose=True, id="trajectory-talk")
            talk.is_wrapped = True
            yield talk

    def on_mount(self) -> None:
        self.watch(self.app, "backend", self._backend_came)

    def _backend_came(self) -> None:
        self.load()

    def job_changed(self, job: Job) -> None:
        """New steps show while the list of steps is looked at; what is open deeper stays as it is."""
        step = job.progress.step if job.progress is not None else None
        if self.level == "steps" and (step, job.status) != self._job_at:
            self._job_at = (step, job.status)
            self.load()

    @property
    def steps(self) -> Table[StepRow]:
        return self.query_one("#trajectory-steps", Table)

    @property
    def samples(self) -> SampleTable:
        return self.query_one(SampleTable)

    @property
    def group(self) -> GroupView:
        return self.query_one(GroupView)

    @property
    def talk(self) -> TalkView:
        return self.query_one(TalkView)

    # What was read

    @on(RolloutReader.StepsCame)
    def _steps_came(self, event: RolloutReader.StepsCame) -> None:
        rows = step_rows(event.page or {})
        self.steps.items = rows
        empty = self.query_one(Empty)
        empty.title = _("No trajectories yet") if event.page is not None else _("No trajectories here")
        why = _("They come with the first finished step.") if event.page is not None else _(_WHY_NONE)
        empty.body = (((why, "$muted"),),)
        if self.level == "steps":
            self._open("steps" if rows else "empty")

    @on(RolloutReader.SamplesCame)
    def _samples_came(self, event: RolloutReader.SamplesCame) -> None:
        is_other = event.place != self.place or self.level != "samples"
        self.place = event.place
        rows = sample_rows(event.page, self._known())
        if self._wants_flat:
            self._wants_flat = False
            self.filter_text = KINDS[1] if any(row.facts.spread.is_flat for row in rows) else ""
        self.samples.items = rows
        self.samples.match = sample_match(self.filter_text)
        if is_other:
            self._go("samples")
        order = sorted(rows, key=lambda row: not (row.facts.spread.is_flat or row.failed))
        self.explain(event.place, [row.sample for row in order])

    @on(RolloutReader.GroupsRead)
    def _groups_read(self, event: RolloutReader.GroupsRead) -> None:
        """The prompts and causes of some samples."""
        if event.place != self.place:
            return
        rows: tuple[SampleRow, ...] = tuple(self.samples.items)
        low, high = bounds([row.rewards for row in rows])
        if (known := self._known()) is not None:
            low, high = min(low, known[0]), max(high, known[1])
        pages = event.pages
        self.samples.items = tuple(
            with_group(row, pages[row.sample], low, high) if row.sample in pages else row for row in rows
        )
        self.post_message(self.StateChanged(self))

    @on(RolloutReader.GroupCame)
    def _group_came(self, event: RolloutReader.GroupCame) -> None:
        self.place = event.place
        self.records = [item for item in event.page.get("rollouts") or () if isinstance(item, Mapping)]
        shown = group_shown(self.records)
        self.group.show(shown.columns, shown.lines, prefix=shown.prefix, differences=shown.differences)
        if self.level == "talk" and self.talking in {column.key for column in shown.columns}:
            self._read_talk()
        else:
            self._go("group")
        self.samples.move_to(str(event.place.sample))
        self.post_message(self.StateChanged(self))

    # Going

    def show_groups(self, step: int) -> None:
        """Show the samples of a training step, only those without spread where there are any."""
        self._wants_flat = True
        self.read_samples(Place("train", step))

    def _go(self, level: str) -> None:
        self.level = level
        self._open(level)

    def _open(self, name: str) -> None:
        had_focus = self.has_focus_within
        self.query_one(ContentSwitcher).current = f"trajectory-{name}"
        target = self.samples if name == "samples" else self.query_one(f"#trajectory-{name}")
        if target.focusable and (had_focus or self.screen.focused is None):
            target.focus()
        self.post_message(self.StateChanged(self))

    @on(Table.Opened, "#trajectory-steps")
    def _open_step(self) -> None:
        row = self.steps.current
        if row is not None:
            self.read_samples(Place(row.phase, row.step))

    @on(Table.Opened, "#trajectory-sample-table")
    def _open_sample(self) -> None:
        row = self.samples.current
        if row is not None:
            self.read_group(Place(self.place.phase, self.place.step, row.sample))

    @on(Table.Highlighted, "#trajectory-sample-table")
    def _show_prompt(self) -> None:
        row = self.samples.current
        prompt = one_line(row.facts.prompt, 400) if row is not None else ""
        self.query_one("#trajectory-prompt", Note).lines = (((prompt, "$muted"),),) if prompt else ()

    @on(SideBySide.Opened)
    def _open_talk(self, event: SideBySide.Opened) -> None:
        self.talking = event.key
        self._read_talk()
        self._go("talk")

    def _read_talk(self) -> None:
        record = next((item for item in self.records if str(item.get("rollout", 0)) == self.talking), {})
        self.talk.source = StyledLines(conversation(record, is_folded=self.is_folded))

    @on(TalkView.Folded)
    def _fold_talk(self) -> None:
        top = self.talk.top
        self.is_folded = not self.is_folded
        self._read_talk()
        self.talk.go_to(top + self.talk.page_rows // 3)

    @on(SideBySide.Moved)
    @on(SideBySide.MarksChanged)
    @on(LogView.Moved)
    def _moved(self) -> None:
        self.post_message(self.StateChanged(self))

    @on(Turned)
    def _turn(self, event: Turned) -> None:
        """To the step after or before; with the same sample where one is open."""
        rows = sorted((r for r in self.steps.items if r.phase == self.place.phase), key=lambda r: r.step)
        later = [row.step for row in rows if row.step > self.place.step]
        earlier = [row.step for row in reversed(rows) if row.step < self.place.step]
        self.turn(self.place, later if event.direction > 0 else earlier, is_sample=self.level != "samples")

    @property
    def rollout_id(self) -> str:
        """Of the rollout that is looked at; empty at the levels above."""
        key = {"talk": self.talking, "group": next(iter(self.group.picked), "")}.get(self.level, "")
        record = next((item for item in self.records if str(item.get("rollout", 0)) == key), {})
        return str(record.get("rollout_id") or "")

    # Filters

    @on(SampleTable.FilterAsked)
    async def _filter_asked(self, event: SampleTable.FilterAsked) -> None:
        if event.kind is not None:
            words = [word for word in self.filter_text.split() if word not in KINDS]
            now = next((kind for kind in KINDS[1:] if kind in self.filter_text.split()), "")
            kind = KINDS[(KINDS.index(now) + 1) % len(KINDS)]
            self.set_filter(" ".join([*([kind] if kind else []), *words]))
            return
        hint = _("words of the prompt; failed, flat, max, min, same, spread; reward>0.5, reward:0.2..0.8")
        await self.ask("samples", "/", text=self.filter_text, hint=hint)

    def given(self, purpose: str, text: str) -> bool:
        if purpose != "samples":
            return False
        self.set_filter(text.strip())
        return True

    def set_filter(self, text: str) -> None:
        self.filter_text = text
        self.samples.match = sample_match(text)
        self.post_message(self.StateChanged(self))

    # The screen's questions

    def undoable(self) -> Iterator[Layer]:
        if self.level == "talk" and (self.talk.pattern is not None or self.talk.match_line is not None):
            yield Layer(_("clear search"), lambda: self.talk.search(""))
        if self.level == "talk" and self.talk.sifted is not None:
            yield Layer(_("clear filter"), lambda: self.talk.sift(level="all", text=""))
        if self.level == "group" and self.group.marks:
            yield Layer(_("clear marks"), self.group.clear_marks)
        if self.level == "samples" and self.samples.marks:
            yield Layer(_("clear marks"), self.samples.clear_marks)
        if self.level == "samples" and self.filter_text:
            yield Layer(_("clear filter"), lambda: self.set_filter(""))
        back = {"samples": _("back to the steps"), "group": _("back to the samples"), "talk": _("back to the group")}
        if self.level in back:
            yield Layer(back[self.level], self.back)

    def back(self) -> None:
        self.stop_turning()
        self._go(_LEVELS[_LEVELS.index(self.level) - 1])

    def saving(self) -> Saving | None:
        """The marked rollouts or samples, else the one that is looked at, as JSON lines."""
        if self.level in ("group", "talk") and self.records:
            keys = (self.talking,) if self.level == "talk" else self.group.picked
            chosen = [item for item in self.records if str(item.get("rollout", 0)) in keys]
            what = ngettext("{count} rollout", "{count} rollouts", len(chosen)).format(count=len(chosen))
            return Saving("rollouts.jsonl", lambda: export_lines(chosen), what)
        if self.level == "samples" and (rows := self.samples.chosen):
            places = [Place(self.place.phase, self.place.step, row.sample) for row in rows]
            what = ngettext("the rollouts of {count} sample", "the rollouts of {count} samples", len(rows))
            return Saving("rollouts.jsonl", lambda: self._groups(places), what.format(count=len(rows)))
        return None

    def _groups(self, places: Iterable[Place]) -> Iterator[str]:
        """Called in a thread: each group is read only when its lines are written."""
        for place in places:
            page = self.read_now(place)
            yield from export_lines([item for item in page.get("rollouts") or () if isinstance(item, Mapping)])

    def state(self) -> tuple[Span, ...]:
        line: list[Span] = []
        if self.level == "samples" and self.filter_text:
            passed, total = self.samples.row_count, len(self.samples.items)
            text = ngettext("{passed} of {count} sample", "{passed} of {count} samples", total)
            line += [(f" / {self.filter_text} ", _CHIP), ("  ", "")]
            line += [(text.format(passed=passed, count=total), "$muted"), ("  ", "")]
        if self.level == "group" and (count := len(self.group.columns)) > self.group.fitting:
            first = self.group.first + 1
            shown = _("rollouts {first}–{last} of {count}")
            words = shown.format(first=first, last=first + self.group.fitting - 1, count=count)
            line += [(f"‹ {words} ›", "$ink"), ("  ", "")]
        if self.level == "talk" and self.talk.pattern is not None:
            line += [(f" / {self.talk.pattern.pattern} ", _CHIP), ("  ", "")]
        line.append((" › ".join(self._path()), "$muted"))
        return tuple(line)

    def _path(self) -> list[str]:
        if self.level == "steps":
            return []
        step = _("step {step}").format(step=self.place.step)
        if self.place.phase != "train":
            step = _("{phase}, step {step}").format(phase=phase_word(self.place.phase), step=self.place.step)
        path = [step]
        if self.level in ("group", "talk"):
            path.append(_("sample {sample}").format(sample=self.place.sample))
        if self.level == "talk":
            path.append(_("rollout {number}").format(number=self.talking))
        return path
