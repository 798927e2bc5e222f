import argparse
import sys
from typing import TYPE_CHECKING

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import N_, _

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import Job, JobPage

_COLUMNS = (N_("STATUS"), N_("NAME"), N_("MODEL"), N_("TYPE"), N_("STEP"), N_("CREATED"), N_("ID"))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--page", type=int, default=1, metavar="N", help=_("page, from 1"))
    parser.add_argument("-s", "--size", type=int, default=10, metavar="N", help=_("jobs a page, 1 to 100"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    page: JobPage = with_client(options, lambda client: client.list(page_no=options.page, page_size=options.size))
    if options.output == "table":
        table(tuple(_(heading) for heading in _COLUMNS), [_row(job) for job in page.jobs])
        if not page.jobs:
            print(
                _("no jobs here yet") if page.total == 0 else _("no such page; {total} jobs").format(total=page.total),
                file=sys.stderr,
            )
    else:
        jobs = [job.model_dump(mode="json", exclude_none=True) for job in page.jobs]
        emit({"jobs": jobs, "page_no": page.page_no, "page_size": page.page_size, "total": page.total}, options.output)
    return exits.OK


def _row(job: "Job") -> tuple[str, ...]:
    return (
        job.status.lower(),
        job.job_name or "",
        job.model or "",
        "OPD" if job.is_opd else "RL",
        step_of(job),
        job.create_time or "",
        job.job_id,
    )


def step_of(job: "Job") -> str:
    """``12/64``, or ``–`` where the server does not say."""
    if job.progress is None or job.progress.total_steps is None:
        return "–"
    return f"{job.progress.step}/{job.progress.total_steps}"
