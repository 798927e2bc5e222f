import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, facts, output_argument

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.models.jobs import Job


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    show(_quickly(options) or _wholly(options), options.output)
    return exits.OK


def _quickly(options: argparse.Namespace) -> "dict[str, Any] | None":
    from agentic_rl_tui.app.cli.quick import address_of
    from agentic_rl_tui.core.client import quick_jobs

    to = address_of(options)
    return None if to is None else quick_jobs.job(to, options.job_id)


def _wholly(options: argparse.Namespace) -> "dict[str, Any]":
    from agentic_rl_tui.app.cli.connect import with_client

    return data_of(with_client(options, lambda client: client.get(options.job_id)))


def data_of(job: "Job") -> "dict[str, Any]":
    """What JSON shows of a job."""
    return job.model_dump(mode="json", exclude_none=True)


def show_job(job: "Job", form: str) -> None:
    show(data_of(job), form)


def show(job: "dict[str, Any]", form: str) -> None:
    if form != "table":
        emit(job, form)
        return
    progress = job.get("progress")
    shown = {name: value for name, value in job.items() if name != "progress"}
    if progress:
        rewards = progress["rewards"]
        shown |= {"step": step_of(job), "reward": f"{rewards[-1]:.3f}" if rewards else None}
    facts(shown)


def step_of(job: "dict[str, Any]") -> str:
    """``12/64``, or ``–`` where the server does not say."""
    progress = job.get("progress") or {}
    total = progress.get("total_steps")
    return "–" if total is None else f"{progress['step']}/{total}"
