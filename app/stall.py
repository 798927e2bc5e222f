"""Which running jobs tell nothing new: neither a step, nor a phase, nor a line of log."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.present.times import coarse_duration, short_duration
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.status import JobStatus

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.settings import Settings

FACTOR = 3.0
FLOOR_S = 120.0
UNKNOWN_STEP_S = 300.0
"""What a step is taken to last where none was seen."""
_STEPS_REMEMBERED = 15


@dataclass(slots=True)
class Watched:
    """One running job. moved_at: when something of it was new for the last time; steps_s: how long steps took."""

    mark: tuple[Any, ...]
    step: int
    moved_at: float
    step_at: float
    lines: int = -1
    steps_s: deque[float] = field(default_factory=lambda: deque(maxlen=_STEPS_REMEMBERED))
    is_told: bool = False


class StallWatch:
    """In: `see` at every answer of the service, `lines` where a log was looked at. Times in seconds since the epoch."""

    def __init__(self, *, factor: float = FACTOR, floor_s: float = FLOOR_S) -> None:
        self.factor = factor
        self.floor_s = floor_s
        self._jobs: dict[str, Watched] = {}

    def see(self, job: "Job", now: float) -> None:
        if job.status != JobStatus.RUNNING:
            self._jobs.pop(job.job_id, None)
            return
        progress = job.progress
        step = progress.step if progress else 0
        mark = (step, progress.phase, len(progress.rewards), progress.validation) if progress else ()
        known = self._jobs.get(job.job_id)
        if known is None:
            self._jobs[job.job_id] = Watched(mark, step, now, now)
        elif mark != known.mark:
            if step > known.step:
                known.steps_s.append((now - known.step_at) / (step - known.step))
                known.step, known.step_at = step, now
            known.mark = mark
            self._moved(known, now)

    def lines(self, job_id: str, count: int, now: float) -> None:
        """How many lines the log of a job has."""
        known = self._jobs.get(job_id)
        if known is not None and count != known.lines:
            if known.lines >= 0 or count == 0:
                self._moved(known, now)
            known.lines = count

    @staticmethod
    def _moved(known: Watched, now: float) -> None:
        known.moved_at = now
        known.is_told = False

    def usual_step_s(self, job_id: str) -> float | None:
        known = self._jobs.get(job_id)
        return _median(known.steps_s) if known is not None and known.steps_s else None

    def limit_s(self, job_id: str) -> float:
        usual = self.usual_step_s(job_id)
        return max(self.floor_s, self.factor * (UNKNOWN_STEP_S if usual is None else usual))

    def quiet_s(self, job_id: str, now: float) -> float:
        """For how long nothing was new; 0 for a job that is not watched."""
        known = self._jobs.get(job_id)
        return 0.0 if known is None else now - known.moved_at

    def stalled_s(self, job_id: str, now: float) -> float | None:
        """For how long a job has been stalled, counted from its last news; None while it is well."""
        quiet = self.quiet_s(job_id, now)
        return quiet if quiet > self.limit_s(job_id) else None

    def suspects(self, now: float) -> list[str]:
        """Jobs that have been quiet for half of what is allowed: worth a look at their logs."""
        return [job_id for job_id in self._jobs if self.quiet_s(job_id, now) > self.limit_s(job_id) / 2]

    def fresh(self, jobs: "Iterable[Job]", now: float) -> "list[Job]":
        """The jobs that have stalled since this was asked last: each stall is given once."""
        found = []
        for job in jobs:
            known = self._jobs.get(job.job_id)
            if known is not None and not known.is_told and self.stalled_s(job.job_id, now) is not None:
                known.is_told = True
                found.append(job)
        return found


def watch_of(settings: "Settings") -> StallWatch:
    """A watch that goes by the user's settings."""
    factor, floor_s = settings.get("notify.stall_factor"), settings.get("notify.stall_floor_s")
    return StallWatch(factor=_positive(factor, FACTOR), floor_s=_positive(floor_s, FLOOR_S))


def stall_words(watch: StallWatch, job_id: str, now: float) -> str:
    text = _("stalled: nothing new for {time}").format(time=coarse_duration(watch.quiet_s(job_id, now)))
    if (usual := watch.usual_step_s(job_id)) is not None:
        text = _("{text}; a step usually takes {usual}").format(text=text, usual=short_duration(usual))
    return text


def _positive(value: Any, usual: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if is_number else usual


def _median(values: Iterable[float]) -> float:
    # The standard library's own would bring the decimal numbers along, before the first frame.
    ranked = sorted(values)
    middle = len(ranked) // 2
    return ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2
