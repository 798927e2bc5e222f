import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.get import data_of, step_of
from agentic_rl_tui.app.cli.output import emit, output_argument, table
from agentic_rl_tui.core.i18n import N_, _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

_COLUMNS = (N_("STATUS"), N_("NAME"), N_("MODEL"), N_("TYPE"), N_("STEP"), N_("CREATED"), N_("ID"))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--page", type=int, default=1, metavar="N", help=_("page, from 1"))
    parser.add_argument("-s", "--size", type=int, default=10, metavar="N", help=_("jobs a page, 1 to 100"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    page = _quickly(options) or _wholly(options)
    if options.output != "table":
        emit(page, options.output)
        return exits.OK
    table(tuple(_(heading) for heading in _COLUMNS), [_row(job) for job in page["jobs"]])
    if not page["jobs"]:
        total = page["total"]
        told = _("no such page; {total} jobs").format(total=total) if total else _("no jobs here yet")
        print(told, file=sys.stderr)
    return exits.OK


def _quickly(options: argparse.Namespace) -> "dict[str, Any] | None":
    from agentic_rl_tui.app.cli.quick import address_of
    from agentic_rl_tui.core.client import quick_jobs

    to = address_of(options)
    return None if to is None else quick_jobs.jobs(to, options.page, options.size)


def _wholly(options: argparse.Namespace) -> "dict[str, Any]":
    from agentic_rl_tui.app.cli.connect import with_client

    page = with_client(options, lambda client: client.list(page_no=options.page, page_size=options.size))
    jobs = [data_of(job) for job in page.jobs]
    return {"jobs": jobs, "page_no": page.page_no, "page_size": page.page_size, "total": page.total}


def _row(job: "dict[str, Any]") -> tuple[str, ...]:
    is_opd = job.get("training_type") == "pg_opd" or bool(job.get("teacher_model"))
    return (
        job["status"].lower(),
        job.get("job_name") or "",
        job.get("model") or "",
        "OPD" if is_opd else "RL",
        step_of(job),
        job.get("create_time") or "",
        job["job_id"],
    )
