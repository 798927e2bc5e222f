"""One job as the overview tells it."""

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.app.present.kinds import kind_word, phase_word
from agentic_rl_tui.app.present.states import job_look
from agentic_rl_tui.app.present.times import moment, parse_time, short_duration
from agentic_rl_tui.app.present.traces import tracing_lines
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.status import JobStatus, is_terminal
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.panels import Fact, Section
from agentic_rl_tui.widgets.spark import bar

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.notes import JobNote

BAR_WIDTH = 24
_FIRST = ("n_epochs", "batch_size", "n_rollouts", "learning_rate", "eval_steps", "kl_coef", "temperature")


def clean(value: object) -> str:
    return redact(plain(str(value), keep_newlines=False))


def timeline(job: "Job", *, now: float, zone: tzinfo) -> tuple[Span, ...]:
    """The way of a job from its creation to its end, on one line."""
    created = parse_time(job.create_time, zone)
    ended = parse_time(job.end_time, zone)
    look = job_look(job.status)
    line: list[Span] = [("✔ ", "$succeeded"), (_("created"), "$ink")]
    if created is not None:
        line.append((f" {moment(created, now, zone)}", "$muted"))
    since = "" if created is None else short_duration((ended or now) - created)
    line += [("  ──  ", "$line"), (f"{look.glyph} ", look.style), (look.word, f"{look.style} bold")]
    if is_terminal(job.status):
        if ended is not None:
            line.append((f" {moment(ended, now, zone)}", "$muted"))
        if since:
            line.append((_("  after {time}").format(time=since), "$muted"))
    else:
        if since:
            line.append((_(" for {time}").format(time=since), "$muted"))
        line += [("  ──  ", "$line"), (_("○ end"), "$faint")]
    return tuple(line)


def progress_line(job: "Job", *, now: float, zone: tzinfo, is_stalled: bool = False) -> tuple[Span, ...]:
    """``28/64 ████▌ 44 % · about 5m40s left``; empty where nothing is known. A stalled job promises no end."""
    progress = job.progress
    if progress is None or not (progress.total_steps or progress.step):
        return ()
    total = progress.total_steps
    line: list[Span] = [(str(progress.step), "$ink bold")]
    if not total:
        return (*line, (ngettext(" step", " steps", progress.step), "$muted"))
    share = progress.step / total
    color = "$running" if not is_terminal(job.status) else job_look(job.status).style
    filled = bar(share, BAR_WIDTH)
    line += [(f"/{total}  ", "$muted"), (filled, f"{color} on $raised"), (f"  {share:.0%}", "$ink")]
    created = parse_time(job.create_time, zone)
    is_moving = not is_terminal(job.status) and not is_stalled
    if is_moving and created is not None and 0 < progress.step < total:
        left = (now - created) / progress.step * (total - progress.step)
        line.append((_("  about {time} left").format(time=short_duration(left)), "$muted"))
    if progress.phase and not is_terminal(job.status):
        line.append((f"  {phase_word(clean(progress.phase))}", "$muted"))
    return tuple(line)


def stall_line(job: "Job", stalled_s: float | None, usual_s: float | None) -> tuple[Span, ...]:
    """What a job that tells nothing new was last at, and what to look at; empty for one that is well."""
    if stalled_s is None:
        return ()
    line: list[Span] = [
        ("◒ ", "$warn"),
        (_("nothing new for {time}").format(time=short_duration(stalled_s)), "$warn bold"),
    ]
    if usual_s is not None:
        line.append((_(" · a step usually takes {time}").format(time=short_duration(usual_s)), "$muted"))
    if job.progress and job.progress.phase:
        line.append((_(" · last at {phase}").format(phase=phase_word(clean(job.progress.phase))), "$muted"))
    line.append((_(" · l shows the log, 5 the calls of its functions"), "$muted"))
    return tuple(line)


def made_of(job: "Job", report: Mapping[str, Any] | None) -> tuple[Section, ...]:
    """What a job is made of: model, data, functions, hyper-parameters."""
    kind = _("OPD: learns from a teacher") if job.is_opd else _("RL: learns from rewards")
    facts = [
        Fact(_("id"), clean(job.job_id)),
        Fact(_("kind"), kind),
        Fact(_("model"), clean(job.model or job.base_model or "–")),
    ]
    if job.teacher_model:
        facts.append(Fact(_("teacher"), clean(job.teacher_model)))
    if job.finetuned_output:
        facts.append(Fact(_("output"), clean(job.finetuned_output)))
    facts += _files(_("training"), job.training_file_ids)
    facts += _files(_("validation"), job.validation_file_ids)
    facts += [Fact("" if place else _("traces"), line) for place, line in enumerate(tracing_lines(report))]
    sections = [Section(_("JOB"), tuple(facts))]
    functions = _functions(report)
    if functions:
        sections.append(Section(_("FUNCTIONS"), functions))
    settings = _settings(job.hyper_parameters)
    if settings:
        sections.append(Section(_("HYPER-PARAMETERS"), settings))
    return tuple(sections)


def _files(label: str, files: Sequence[str | None]) -> list[Fact]:
    known = [clean(item) for item in files if item]
    return [Fact(label if not number else "", name) for number, name in enumerate(known)]


def _functions(report: Mapping[str, Any] | None) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for item in (report or {}).get("functions") or ():
        value: list[Span] = [(clean(item.get("name", "?")), "$ink")]
        if item.get("weight") is not None and item.get("kind") != "rollout":
            value.append((f" ×{item['weight']:g}", "$muted"))
        if item.get("calls"):
            calls = ngettext("  {count:,} call", "  {count:,} calls", item["calls"]).format(count=item["calls"])
            value.append((calls, "$muted"))
        if item.get("p50_s") is not None:
            value.append((f"  p50 {item['p50_s'] * 1000:.0f} ms", "$muted"))
        failures = sum(dict(item.get("failures") or {}).values())
        if failures:
            value.append((_("  {count} failed").format(count=failures), "$failed"))
        found.append(Fact(kind_word(clean(item.get("kind", "function"))), value))
    return tuple(found)


def _settings(values: Mapping[str, Any]) -> tuple[Fact, ...]:
    ranked = sorted(values, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    return tuple(Fact(clean(name), clean(values[name])) for name in ranked)


def outcome(job: "Job", report: Mapping[str, Any] | None) -> tuple[Section, ...]:
    """What came out so far: rewards, validation, what failed, checkpoints."""
    facts: list[Fact] = []
    rewards = job.progress.rewards if job.progress else ()
    if rewards:
        facts.append(Fact(_("reward"), [(f"{rewards[-1]:.3f}", "$ink bold"), *_since(rewards)]))
        facts.append(Fact(_("best step"), f"{max(rewards):.3f}"))
    if job.progress and job.progress.validation is not None:
        facts.append(Fact(_("validation"), [(f"{job.progress.validation:.3f}", "$succeeded bold")]))
    if report:
        share = report.get("zero_variance_share")
        if share is not None:
            style = "$warn" if share > 0.5 else "$ink"
            facts.append(
                Fact(_("no spread"), [(f"{share:.0%}", style), (_(" of the groups taught nothing"), "$muted")])
            )
        totals = report.get("totals") or {}
        if totals.get("rollouts"):
            facts.append(Fact(_("rollouts"), _rollouts(totals)))
    sections = [Section(_("RESULT"), tuple(facts))] if facts else []
    checkpoints = _checkpoints(report)
    if checkpoints:
        sections.append(Section(_("CHECKPOINTS"), checkpoints))
    return tuple(sections)


def _since(rewards: Sequence[float]) -> list[Span]:
    if len(rewards) < 4:
        return []
    change = rewards[-1] - rewards[0]
    glyph, style = ("▲", "$succeeded") if change > 0.02 else ("▼", "$failed") if change < -0.02 else ("▬", "$muted")
    return [("  ", ""), (f"{glyph} {change:+.3f}", style), (_(" since the start"), "$muted")]


def _rollouts(totals: Mapping[str, Any]) -> list[Span]:
    line: list[Span] = [(f"{totals['rollouts']:,}", "$ink")]
    for key, text in (
        ("failed_rollouts", N_("  {count:,} failed")),
        ("failed_rewards", N_("  {count:,} without a reward")),
    ):
        if totals.get(key):
            line.append((_(text).format(count=totals[key]), "$failed"))
    return line


def _checkpoints(report: Mapping[str, Any] | None) -> tuple[Fact, ...]:
    found = []
    for item in (report or {}).get("checkpoints") or ():
        if not item.get("is_kept", True):
            continue
        # The name, which is long and ends with the step, goes last: it may be cut.
        score = item.get("validation") if item.get("validation") is not None else item.get("reward")
        value: list[Span] = [("–    " if score is None else f"{score:.3f}", "$ink")]
        if item.get("is_best"):
            value.append((_("  ★ best"), "$succeeded"))
        value.append((f"  {clean(item.get('name', ''))}", "$muted"))
        found.append(Fact(_("step {step}").format(step=item.get("step", "?")), value))
    return tuple(found)


def note_lines(note: "JobNote | None") -> tuple[tuple[Span, ...], ...]:
    """A person's own note, and whether the job is pinned; empty where there is neither."""
    if note is None or note.is_empty:
        return ()
    texts = redact(plain(note.text)).split("\n") if note.text else []
    lines: list[tuple[Span, ...]] = [
        (("✎ " if not number else "  ", "$warn"), (t, "$ink")) for number, t in enumerate(texts)
    ]
    if note.is_pinned:
        lines.insert(0, (("⚑ ", "$accent"), (_("pinned"), "$muted")))
    return tuple(lines)


_HEAD = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[,.]\d+)? - [A-Z]+ - ")


def failure_lines(job: "Job", trouble: Sequence[tuple[int, str]]) -> tuple[tuple[Span, ...], ...]:
    """Why a job failed: the service's words, then the log lines that matter. trouble: line numbers from 1, texts."""
    if job.status != JobStatus.FAILED:
        return ()
    title: list[Span] = [("✗ ", "$failed"), (_("Failed"), "$failed bold")]
    if job.code:
        title.append((f"  {clean(job.code)}", "$muted"))
    lines: list[tuple[Span, ...]] = [tuple(title)]
    lines.append(((clean(job.message or _("The service gave no reason.")), "$ink"),))
    if trouble:
        lines.append((("", ""),))
        lines += [((f"{number:>6}  ", "$faint"), (_HEAD.sub("", text), "$muted")) for number, text in trouble]
    return tuple(lines)
