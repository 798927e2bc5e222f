from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.get import show_job
from agentic_rl_tui.app.cli.output import output_argument
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.sdk import AgenticRL


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help=_("give up waiting; the job goes on"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.app.cli.goes_on import job_goes_on, told_on_interrupt
    from agentic_rl_tui.app.cli.stalls import StallTeller, send_notice
    from agentic_rl_tui.core.models.status import JobStatus

    async def wait(client: AgenticRL) -> Job:
        with told_on_interrupt(lambda: job_goes_on(options.job_id)):
            # A job that was never seen is not waited for: losses are waited out only once it is known to be there.
            await client.get(options.job_id)
            stalls = StallTeller(client)
            async with stalls.beside():
                job = await client.wait(options.job_id, timeout_s=options.timeout, on_status=stalls.see)
        status = job.status.lower()
        await send_notice(client, job, status, status)
        return job

    job = with_client(options, wait)
    show_job(job, options.output)
    return exits.OK if job.status == JobStatus.SUCCEEDED else exits.JOB_FAILED
