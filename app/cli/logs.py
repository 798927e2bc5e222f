import argparse
import sys
from typing import TYPE_CHECKING

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.goes_on import job_goes_on, told_on_interrupt
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.models.text import plain

if TYPE_CHECKING:
    from agentic_rl_tui.core.models.jobs import LogPage
    from agentic_rl_tui.core.sdk import AgenticRL

PAGE = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument("--offset", type=_count, default=0, metavar="N", help=_("lines to skip; default: 0"))
    parser.add_argument("--lines", type=_count, metavar="N", help=_("lines to print; default: all there are"))
    parser.add_argument("-f", "--follow", action="store_true", help=_("keep printing until the job has ended"))
    output_argument(parser)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(_("must not be negative"))
    return number


def run(options: argparse.Namespace) -> int:
    if options.follow:
        if options.output != "table" or options.lines is not None:
            print(_("--follow prints lines as they come and takes neither --output nor --lines"), file=sys.stderr)
            return exits.USAGE
        return with_client(options, lambda client: follow(client, options.job_id, options.offset))
    return with_client(options, lambda client: _print(client, options))


async def _print(client: "AgenticRL", options: argparse.Namespace) -> int:
    collected: list[str] = []
    offset, wanted, total = options.offset, options.lines, 0
    while wanted is None or wanted > 0:
        page = await client.logs(options.job_id, offset=offset, lines=min(PAGE, wanted or PAGE))
        total = page.total
        if options.output == "table":
            print_lines(page)
        else:
            collected += page.lines
        offset += len(page.lines)
        wanted = None if wanted is None else wanted - len(page.lines)
        if not page.lines or offset >= page.total:
            break
    if options.output != "table":
        emit({"job_id": options.job_id, "offset": options.offset, "total": total, "logs": collected}, options.output)
    return exits.OK


def print_lines(page: "LogPage") -> None:
    for line in page.lines:
        write(plain(line))


async def follow(client: "AgenticRL", job_id: str, offset: int = 0) -> int:
    """Print a job's log until it has ended; the exit code tells how it ended."""
    from agentic_rl_tui.core.models.jobs import LogPage

    with told_on_interrupt(lambda: job_goes_on(job_id)):
        async for piece in client.follow(job_id, offset=offset):
            if isinstance(piece, LogPage):
                print_lines(piece)
            else:
                print(plain(str(piece)), file=sys.stderr, flush=True)
        job = await client.get(job_id)
    ended = _("job {name} ({job_id}) {status}").format(name=job.job_name or job_id, job_id=job_id, status=job.status)
    print(plain(f"{ended}: {job.message}" if job.message else ended), file=sys.stderr)
    return exits.OK if job.status == JobStatus.SUCCEEDED else exits.JOB_FAILED
