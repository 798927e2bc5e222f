"""From a job to another one: clone it, go on from what it learned, open the file it came from, compare it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.jobs import JobRow
from agentic_rl_tui.app.present.states import job_look
from agentic_rl_tui.app.screens.job_verbs import JobVerbs
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.choose import Choice
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk.clone import Cloned, Start
    from agentic_rl_tui.core.sdk.compare import JobComparison

MOST_OFFERED = 100


class JobRemake(JobVerbs):
    """What the list of jobs and the screen of one job both offer. Subclasses say which `targets` a verb acts on."""

    @dataclass
    class Made(Message):
        cloned: "Cloned"

    @dataclass
    class StartsKnown(Message):
        row: JobRow
        starts: "tuple[Start, ...]"

    @dataclass
    class OriginKnown(Message):
        row: JobRow
        path: Path | None
        is_unchanged: bool

    @dataclass
    class OthersKnown(Message):
        row: JobRow
        others: "tuple[Job, ...]"

    @dataclass
    class Compared(Message):
        found: "JobComparison"

    @dataclass
    class RemakeFailed(Message):
        error: ArlError
        doing: str

    @property
    def targets(self) -> Sequence[JobRow]:
        """The rows that a verb acts on, the marked ones first of all."""
        return ()

    @property
    def target(self) -> JobRow | None:
        return next(iter(self.targets), None)

    # Clone, and go on

    def action_clone(self) -> None:
        if self.may(f"{self.scope}.clone") and (row := self.target) is not None:
            self._clone(row, None)

    def action_resume(self) -> None:
        if self.may(f"{self.scope}.resume") and (row := self.target) is not None:
            self._find_starts(row)

    @work(exclusive=True, group="jobs.clone", exit_on_error=False)
    async def _clone(self, row: JobRow, checkpoint: str | None) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            cloned = await backend.clone(row.job_id, checkpoint)
        except ArlError as error:
            self.post_message(self.RemakeFailed(error, _("clone {name}").format(name=row.name)))
        else:
            self.post_message(self.Made(cloned))

    @on(Made)
    def _made(self, event: Made) -> None:
        self.arl.open_job_file(event.cloned.path)
        self.arl.say(_("Wrote {path}").format(path=event.cloned.path.name))

    @work(exclusive=True, group="jobs.starts", exit_on_error=False)
    async def _find_starts(self, row: JobRow) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            starts = await backend.checkpoints(row.job_id)
        except ArlError as error:
            self.post_message(self.RemakeFailed(error, _("read the checkpoints of {name}").format(name=row.name)))
        else:
            self.post_message(self.StartsKnown(row, starts))

    @on(StartsKnown)
    def _starts_known(self, event: StartsKnown) -> None:
        from agentic_rl_tui.app.screens.choose import Choose

        if not event.starts:
            self.arl.refuse(_("{name} left no checkpoint to go on from").format(name=event.row.name))
            return

        def chosen(choice: "Choice[Start] | None") -> None:
            if choice is not None:
                self._clone(event.row, choice.value.name)

        title = _("Go on from which checkpoint of {name}?").format(name=event.row.name)
        self.app.push_screen(Choose(title, [_offer(start) for start in event.starts]), chosen)

    # The file it came from

    def action_origin(self) -> None:
        if self.may(f"{self.scope}.origin") and (row := self.target) is not None:
            self._find_origin(row)

    @work(exclusive=True, group="jobs.origin", exit_on_error=False)
    async def _find_origin(self, row: JobRow) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            origin = await backend.origin(row.job_id)
        except ArlError as error:
            self.post_message(self.RemakeFailed(error, _("find the job file of {name}").format(name=row.name)))
            return
        path = None if origin is None else origin.path
        is_same = origin is not None and origin.unchanged_text() is not None
        self.post_message(self.OriginKnown(row, path, is_same))

    @on(OriginKnown)
    def _origin_known(self, event: OriginKnown) -> None:
        name = event.row.name
        if event.path is None:
            self.arl.refuse(_("{name} was not submitted from a file of this machine; C clones it").format(name=name))
        elif not event.path.is_file():
            self.arl.refuse(_("{path} is gone; C clones the job").format(path=event.path))
        else:
            self.arl.open_job_file(event.path)
            if not event.is_unchanged:
                self.arl.warn(_("The file was changed since {name} was submitted; C clones the job").format(name=name))

    # Comparing

    def action_compare(self) -> None:
        """Two marked jobs against each other, the older one first; else one with a job that is chosen."""
        if not self.may(f"{self.scope}.compare"):
            return
        rows = list(self.targets)
        if len(rows) == 2:
            older, newer = sorted(rows, key=lambda row: row.created or 0.0)
            self._compare(older.job_id, newer.job_id)
        elif len(rows) > 2:
            self.arl.refuse(_("Mark two jobs to compare them; {count} are marked").format(count=len(rows)))
        elif rows:
            self._find_others(rows[0])

    @work(exclusive=True, group="jobs.others", exit_on_error=False)
    async def _find_others(self, row: JobRow) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            page = await backend.jobs(1, MOST_OFFERED)
        except ArlError as error:
            self.post_message(self.RemakeFailed(error, _("read the jobs")))
        else:
            others = tuple(job for job in page.jobs if job.job_id != row.job_id)
            self.post_message(self.OthersKnown(row, others))

    @on(OthersKnown)
    def _others_known(self, event: OthersKnown) -> None:
        from agentic_rl_tui.app.screens.choose import Choose

        if not event.others:
            self.arl.refuse(_("There is no other job to compare with"))
            return

        def chosen(choice: "Choice[Job] | None") -> None:
            if choice is not None:
                self._compare(choice.value.job_id, event.row.job_id)

        title = _("Compare {name} with which job?").format(name=event.row.name)
        self.app.push_screen(Choose(title, [_other(job) for job in event.others]), chosen)

    @work(exclusive=True, group="jobs.compare", exit_on_error=False)
    async def _compare(self, old_id: str, new_id: str) -> None:
        backend = self.arl.backend
        if backend is None:
            return
        try:
            found = await backend.compare(old_id, new_id)
        except ArlError as error:
            self.post_message(self.RemakeFailed(error, _("compare the jobs")))
        else:
            self.post_message(self.Compared(found))

    @on(Compared)
    def _compared(self, event: Compared) -> None:
        from agentic_rl_tui.app.present.comparison import comparison_lines, comparison_title, summary
        from agentic_rl_tui.app.present.job import clean
        from agentic_rl_tui.app.screens.difference import Difference
        from agentic_rl_tui.widgets.diff import DiffLine

        found = event.found
        reasons = [((summary(found), "$ink"),)]
        if found.unknown:
            text = _("Not submitted from this machine, so code and data are not known: {jobs}")
            reasons.append(((text.format(jobs=", ".join(map(clean, found.unknown))), "$muted"),))
        lines = [DiffLine(*line) for line in comparison_lines(found)]
        self.app.push_screen(Difference(comparison_title(found), "", "", reasons=reasons, lines=lines))

    @on(RemakeFailed)
    def _remake_failed(self, event: RemakeFailed) -> None:
        self.arl.fail(event.error, event.doing)


def _offer(start: "Start") -> "Choice[Start]":
    from agentic_rl_tui.app.present.job import clean
    from agentic_rl_tui.app.screens.choose import Choice

    label = _("step {step}").format(step=start.step) if start.step is not None else _("the output")
    scores = [
        text.format(score=score)
        for text, score in ((_("validation {score:.3f}"), start.validation), (_("reward {score:.3f}"), start.reward))
        if score is not None
    ]
    note = _("★ best") if start.is_best else _("the end") if start.is_output else ""
    return Choice(start, label, "  ".join([*scores, clean(start.name)]), note)


def _other(job: "Job") -> "Choice[Job]":
    from agentic_rl_tui.app.present.job import clean
    from agentic_rl_tui.app.screens.choose import Choice

    look = job_look(job.status)
    return Choice(
        job, clean(job.job_name or job.job_id), f"{look.label}  {clean(job.model or '')}", clean(job.job_id)[-4:]
    )
