import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agentic_rl_tui.core.sdk import AgenticRL

_PROMPT_CHARS = 60
_MOST_NAMED = 5
_STEPS = (N_("STEP"), N_("PHASE"), N_("ROLLOUTS"), N_("MEAN REWARD"), N_("FAILED"), N_("NO REWARD"))
_SAMPLES = (N_("SAMPLE"), N_("MEAN REWARD"), N_("SPREAD"), N_("FAILED"), N_("LIKELY CAUSE"), N_("PROMPT"))
_ROLLOUTS = (N_("ROLLOUT"), N_("REWARD"), N_("ADVANTAGE"), N_("TURNS"), N_("PARTS AT TURN"), N_("FAILURE"))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "job_id",
        metavar="JOB_ID|FILE|FOLDER",
        help=_("a job, or rollouts as JSONL: a file, or the folder in which a trainer wrote one for each step"),
    )
    parser.add_argument("--step", type=int, metavar="N", help=_("the samples of this step; default: the steps"))
    parser.add_argument("--sample", type=int, metavar="N", help=_("the rollouts of this sample of the step"))
    parser.add_argument(
        "--phase", choices=("train", "validation"), default="train", help=_("which rollouts; default: train")
    )
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.models.errors import InputError

    if options.sample is not None and options.step is None:
        raise InputError(_("--sample needs the step too"), advice=_("Add --step N; without both the steps are listed."))
    from agentic_rl_tui.app.cli.connect import with_client

    if _is_file(options.job_id):
        page = _read_file(options)
    else:
        page = with_client(options, lambda client: _read(client, options))
    if options.output != "table":
        emit(page, options.output)
    elif options.step is None:
        _show(_STEPS, [_step(item) for item in page.get("steps") or ()])
    elif options.sample is None:
        _show(_SAMPLES, [_sample(item) for item in page.get("samples") or ()])
    else:
        _show(_ROLLOUTS, _rollouts(page.get("rollouts") or ()))
    return exits.OK


async def _read(client: "AgenticRL", options: argparse.Namespace) -> "dict[str, Any]":
    from agentic_rl_tui.core.sdk.trajectories import explain_samples, read_trajectories

    to, job_id, phase = client.transport, options.job_id, options.phase
    if options.step is not None and options.sample is None:
        return await explain_samples(to, job_id, step=options.step, phase=phase)
    return await read_trajectories(to, job_id, step=options.step, sample=options.sample, phase=phase)


def _is_file(name: str) -> bool:
    """Ids of jobs hold no slashes and do not end like files of lines."""
    import os

    return os.sep in name or name.endswith((".jsonl", ".ndjson")) or os.path.exists(name)


def _read_file(options: argparse.Namespace) -> "dict[str, Any]":
    """What the lines without a rollout are goes to stderr, the first few by name."""
    import sys

    from agentic_rl_tui.core.sdk.dumps import open_dump
    from agentic_rl_tui.core.sdk.trajectories import explain_dump

    with open_dump(options.job_id) as dump:
        for item in dump.unread[:_MOST_NAMED]:
            print(plain(f"{item.file}:{item.line}: {item.why}"), file=sys.stderr)
        if dump.unread_count:
            words = ngettext("{count} line holds no rollout", "{count} lines hold no rollout", dump.unread_count)
            print(words.format(count=f"{dump.unread_count:,}"), file=sys.stderr)
        if options.step is not None and options.sample is None:
            return explain_dump(dump, step=options.step, phase=options.phase)
        return dump.page(step=options.step, sample=options.sample, phase=options.phase)


def _show(columns: "Sequence[str]", rows: "list[tuple[str, ...]]") -> None:
    import sys

    table(tuple(_(heading) for heading in columns), rows)
    if not rows:
        print(_("no trajectories there"), file=sys.stderr)


def _number(value: "Any", form: str = ".3f") -> str:
    return format(value, form) if isinstance(value, int | float) else "–"


def _step(item: "Mapping[str, Any]") -> tuple[str, ...]:
    counts = (str(item.get(name, 0)) for name in ("failed_rollouts", "failed_rewards"))
    return (str(item["step"]), str(item["phase"]), str(item["rollouts"]), _number(item["reward_mean"]), *counts)


def _sample(item: "Mapping[str, Any]") -> tuple[str, ...]:
    from agentic_rl_tui.app.present.group_words import CAUSES, SPREADS

    failed = item.get("failed_rollouts", 0) + item.get("failed_rewards", 0)
    is_group = len(item.get("rewards") or ()) > 1
    cause = item.get("cause") if is_group else None
    prompt = " ".join(str(item.get("prompt", "")).split())
    return (
        str(item["sample"]),
        _number(item.get("reward_mean")),
        _(SPREADS[item["spread"]]) if is_group else "–",
        str(failed),
        _(CAUSES[cause]) if cause else "–",
        prompt if len(prompt) <= _PROMPT_CHARS else f"{prompt[:_PROMPT_CHARS]}…",
    )


def _rollouts(records: "Sequence[Mapping[str, Any]]") -> "list[tuple[str, ...]]":
    """Each rollout with the turn (from 1) at which it parts from the first one."""
    from agentic_rl_tui.core.models.alignment import first_difference, turns_of

    turns = [turns_of(record) for record in records]
    rows: list[tuple[str, ...]] = []
    for record, own in zip(records, turns, strict=True):
        parts = first_difference(turns[0], own)
        failure = record.get("failure") or {}
        reason = failure.get("message", "") if isinstance(failure, dict) else str(failure)
        rows.append(
            (
                str(record.get("rollout", 0)),
                _number(record.get("reward")),
                _number(record.get("advantage"), "+.3f"),
                str(len(own)),
                "–" if parts is None else str(parts + 1),
                " ".join(reason.split()),
            )
        )
    return rows
