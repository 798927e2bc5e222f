"""Jobs as rows of a table."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.present.kinds import phase_word
from agentic_rl_tui.app.present.states import Look, english_word, job_look, stalled_look
from agentic_rl_tui.app.present.times import coarse_duration, parse_time, short_duration
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.status import ACTIVE, JobStatus, is_terminal
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Cell, clip_middle
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.spark import sparkline

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.notes import JobNote

_VALUE_WIDTH = 6
_LONGEST_SPARK = 24


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job as the table shows it. Times in seconds since the epoch; `now` is when the row was made."""

    job_id: str
    name: str
    status: str
    model: str
    kind: str
    step: int | None
    total_steps: int | None
    rewards: tuple[float, ...]
    created: float | None
    ended: float | None
    reason: str
    now: float
    validation: float | None = None
    phase: str = ""
    note: str = ""
    is_pinned: bool = False
    stalled_s: float | None = None
    """For how long a running job has told nothing new; None while it is well."""

    @property
    def look(self) -> Look:
        return job_look(self.status) if self.stalled_s is None else stalled_look()

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.status)

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE

    @property
    def can_cancel(self) -> bool:
        return not self.is_terminal and self.status != JobStatus.CANCELING

    @property
    def reward(self) -> float | None:
        return self.rewards[-1] if self.rewards else None

    @property
    def age(self) -> str:
        """How long a job has been at work; how long ago a finished one was made."""
        if self.created is None:
            return "–"
        since = self.now - self.created
        return coarse_duration(since) if self.is_terminal else short_duration(since)

    @property
    def haystack(self) -> str:
        state = f"{self.look.word} {english_word(self.status)}{' pinned' if self.is_pinned else ''}"
        if self.stalled_s is not None:
            state += " stalled"
        return f"{state} {self.name} {self.model} {self.kind} {self.job_id} {self.reason} {self.note}".lower()


def job_row(
    job: "Job", *, now: float, zone: tzinfo, note: "JobNote | None" = None, stalled_s: float | None = None
) -> JobRow:
    progress = job.progress
    return JobRow(
        job_id=_text(job.job_id),
        name=_text(job.job_name or job.job_id),
        status=job.status,
        model=_text(job.model or job.base_model or ""),
        kind="OPD" if job.is_opd else "RL",
        step=progress.step if progress else None,
        total_steps=progress.total_steps if progress else None,
        rewards=tuple(value for value in progress.rewards if math.isfinite(value)) if progress else (),
        created=parse_time(job.create_time, zone),
        ended=parse_time(job.end_time, zone),
        reason=_text(job.message or "") if job.status == JobStatus.FAILED else "",
        now=now,
        validation=progress.validation if progress else None,
        phase=_text(progress.phase) if progress else "",
        note=_text(note.text.replace("\n", " · ")) if note else "",
        is_pinned=note.is_pinned if note else False,
        stalled_s=stalled_s if job.status == JobStatus.RUNNING else None,
    )


def kept_row(row: JobRow) -> dict[str, Any]:
    """A row as a plain object, to be seen again before the platform answers."""
    return {key: value for key, value in asdict(row).items() if key not in _NOT_KEPT}


_NOT_KEPT = ("now", "note", "is_pinned", "stalled_s")


def remembered_rows(
    items: Iterable[Mapping[str, Any]], *, now: float, notes: "Mapping[str, JobNote] | None" = None
) -> tuple[JobRow, ...]:
    """Rows out of what `kept_row` gave; what another version wrote differently is left out."""
    rows = []
    for item in items:
        try:
            row = JobRow(**{**item, "rewards": tuple(map(float, item["rewards"])), "now": now})
            row = noted(row, (notes or {}).get(row.job_id))
        except (TypeError, KeyError, ValueError):
            continue
        if isinstance(row.job_id, str) and isinstance(row.name, str) and isinstance(row.status, str):
            rows.append(row)
    return tuple(rows)


def noted(row: JobRow, note: "JobNote | None") -> JobRow:
    if note is None:
        return row
    return replace(row, note=_text(note.text.replace("\n", " · ")), is_pinned=note.is_pinned)


def _text(text: str) -> str:
    return redact(plain(text, keep_newlines=False))


def _status(row: JobRow, _width: int) -> Cell:
    look = row.look
    return [(look.glyph, look.style), (f" {look.word}", look.style)]


def _step(row: JobRow, _width: int) -> Cell:
    if not row.step and not row.total_steps:
        return [("–", "$faint")]
    total = "" if row.total_steps is None else f"/{row.total_steps}"
    return [(str(row.step or 0), "$ink"), (total, "$muted")]


def _reward(row: JobRow, width: int) -> Cell:
    if row.reason:
        return [(row.reason, "$failed")]
    if row.stalled_s is not None:
        return [(_("nothing new for {time}").format(time=coarse_duration(row.stalled_s)), "$warn")]
    if row.reward is None:
        return [("–", "$faint")]
    room = min(_LONGEST_SPARK, width - _VALUE_WIDTH)
    curve = sparkline(row.rewards, room)
    color = "$fill" if row.is_active else "$quiet"
    return [(curve.ljust(room), color), (f"{row.reward:>{_VALUE_WIDTH}.2f}", "$ink")]


def _reward_alone(row: JobRow, width: int) -> Cell:
    """Without the curve, which changes as a whole at every step."""
    return _reward(replace(row, rewards=row.rewards[-1:]), min(width, _VALUE_WIDTH))


def _name(row: JobRow, width: int) -> Cell:
    marks = [(glyph, style) for glyph, style, is_set in _MARKS if is_set(row)]
    room = width - 2 * len(marks)
    return [(clip_middle(row.name, room), "$ink"), *((f" {glyph}", style) for glyph, style in marks)]


_MARKS: tuple[tuple[str, str, Callable[[JobRow], bool]], ...] = (
    ("⚑", "$accent", lambda row: row.is_pinned),
    ("✎", "$warn", lambda row: bool(row.note)),
)


def _validation(row: JobRow, _width: int) -> Cell:
    return [("–", "$faint")] if row.validation is None else [(f"{row.validation:.3f}", "$ink")]


def _moment(seconds: float | None) -> Cell:
    if seconds is None:
        return [("–", "$faint")]
    return [(datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%m-%d %H:%M"), "$muted")]


def _took(row: JobRow) -> float | None:
    if row.created is None or (row.ended is None and row.is_terminal):
        return None
    return (row.ended or row.now) - row.created


def _duration(row: JobRow, _width: int) -> Cell:
    took = _took(row)
    return [("–", "$faint")] if took is None else [(short_duration(took), "$muted")]


def _age_key(row: JobRow) -> float:
    return -(row.created or 0.0)


def _reward_key(row: JobRow) -> float:
    return -math.inf if row.reward is None else row.reward


def _validation_key(row: JobRow) -> float:
    return -math.inf if row.validation is None else row.validation


JOB_COLUMNS: tuple[Column[JobRow], ...] = (
    Column("status", N_("STATUS"), _status, 11, sort=lambda row: row.look.word),
    Column("name", N_("NAME"), _name, 22, 40, sort=lambda row: row.name),
    Column("model", N_("MODEL"), lambda row, _width: [(row.model, "$muted")], 12, 22, fold=2, sort=lambda r: r.model),
    Column("type", N_("TYPE"), lambda row, _width: [(row.kind, "$muted")], 4, fold=3, sort=lambda r: r.kind),
    Column("step", N_("STEP"), _step, 7, align="right", sort=lambda r: r.step or 0, reverse=True),
    Column("reward", N_("REWARD"), _reward, 16, 44, sort=_reward_key, reverse=True),
    Column("age", N_("AGE"), lambda row, _width: [(row.age, "$muted")], 6, align="right", sort=_age_key),
    Column(
        "id", N_("ID"), lambda row, w: [(clip_middle(row.job_id, w), "$faint")], 10, 26, fold=4, sort=lambda r: r.job_id
    ),
    Column("validation", N_("VALID"), _validation, 6, align="right", fold=1, sort=_validation_key, reverse=True),
    Column("duration", N_("TOOK"), _duration, 7, align="right", fold=1, sort=lambda r: _took(r) or 0.0, reverse=True),
    Column("created", N_("CREATED"), lambda r, _w: _moment(r.created), 11, fold=1, sort=_age_key),
    Column("ended", N_("ENDED"), lambda r, _w: _moment(r.ended), 11, fold=1, sort=lambda r: -(r.ended or 0.0)),
    Column(
        "phase",
        N_("PHASE"),
        lambda row, _width: [(phase_word(row.phase), "$muted")],
        8,
        14,
        fold=1,
        sort=lambda r: r.phase,
    ),
    Column("note", N_("NOTE"), lambda row, _width: [(row.note, "$ink")], 16, 60, fold=1, sort=lambda r: r.note),
)
USUAL_COLUMNS = ("status", "name", "model", "type", "step", "reward", "age", "id")


def job_columns(chosen: Sequence[str] = USUAL_COLUMNS, *, has_curves: bool = True) -> tuple[Column[JobRow], ...]:
    """The chosen columns in their order, with their titles in the language in force."""
    known = {column.key: column for column in JOB_COLUMNS}
    kept = [known[key] for key in dict.fromkeys(chosen) if key in known]
    columns = kept or [known[key] for key in USUAL_COLUMNS]
    if not has_curves:
        columns = [replace(column, cell=_reward_alone) if column.key == "reward" else column for column in columns]
    return tuple(replace(column, title=_(column.title)) for column in columns)


def every_column() -> tuple[Column[JobRow], ...]:
    return job_columns([column.key for column in JOB_COLUMNS])


def job_filter(text: str) -> Callable[[JobRow], bool] | None:
    """A predicate from words that must all be found; ``field:word`` looks in one field and ``!word`` excludes.

    Fields: status, name, model, type, id, note. The word ``pinned`` finds pinned jobs. None for an empty text.
    """
    tests = [_word_test(word) for word in text.lower().split()]
    if not tests:
        return None
    return lambda row: all(test(row) for test in tests)


_FIELDS: dict[str, Callable[[JobRow], str]] = {
    "status": lambda row: (
        f"{english_word(row.status)} {row.look.word}{' stalled' if row.stalled_s is not None else ''}"
    ),
    "name": lambda row: row.name,
    "model": lambda row: row.model,
    "type": lambda row: row.kind,
    "id": lambda row: row.job_id,
    "note": lambda row: row.note,
}


def _word_test(word: str) -> Callable[[JobRow], bool]:
    wanted = not word.startswith("!")
    word = word.removeprefix("!")
    field, colon, needle = word.partition(":")
    read = _FIELDS.get(field) if colon else None
    if read is None:
        return lambda row: (word in row.haystack) is wanted
    return lambda row: (needle in read(row).lower()) is wanted


def counts(rows: Sequence[JobRow]) -> tuple[tuple[str, str], ...]:
    """``12 jobs · 1 running · 1 failed`` as spans, states in their colours."""
    line: list[tuple[str, str]] = [
        (ngettext("{count} job", "{count} jobs", len(rows)).format(count=len(rows)), "$muted")
    ]
    tally: dict[str, int] = {}
    for row in rows:
        # A stalled job shows as stalled: it is not counted as running, too.
        if row.stalled_s is None:
            tally[row.status] = tally.get(row.status, 0) + 1
    for status in (JobStatus.RUNNING, JobStatus.CANCELING, JobStatus.PENDING, JobStatus.QUEUING, JobStatus.FAILED):
        if tally.get(status):
            look = job_look(status)
            line += [(" · ", "$faint"), (_("{count} {state}").format(count=tally[status], state=look.word), look.style)]
    stalled = sum(row.stalled_s is not None for row in rows)
    if stalled:
        look = stalled_look()
        line += [(" · ", "$faint"), (_("{count} {state}").format(count=stalled, state=look.word), look.style)]
    return tuple(line)
