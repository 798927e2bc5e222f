import argparse
from typing import TYPE_CHECKING

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.list_jobs import step_of
from agentic_rl_tui.app.cli.output import emit, facts, output_argument

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    job: Job = with_client(options, lambda client: client.get(options.job_id))
    show_job(job, options.output)
    return exits.OK


def show_job(job: "Job", form: str) -> None:
    if form != "table":
        emit(job.model_dump(mode="json", exclude_none=True), form)
        return
    known = job.model_dump(mode="json", exclude={"progress"}, exclude_none=True)
    reward = f"{job.progress.rewards[-1]:.3f}" if job.progress and job.progress.rewards else None
    progress = {"step": step_of(job), "reward": reward} if job.progress else {}
    facts({**known, **progress})
