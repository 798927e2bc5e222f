import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentic_rl_tui.app.cli.stalls import StallTeller
    from agentic_rl_tui.core.client.jobs import FollowNote
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
        from agentic_rl_tui.app.cli.connect import with_client

        return with_client(options, lambda client: follow(client, options.job_id, options.offset))
    reading = _Reading(options)
    if not _quickly(reading, options):
        from agentic_rl_tui.app.cli.connect import with_client

        with_client(options, lambda client: _wholly(client, reading, options.job_id))
    if options.output != "table":
        found = {"offset": options.offset, "total": reading.total, "logs": reading.collected}
        emit({"job_id": options.job_id, **found}, options.output)
    return exits.OK


class _Reading:
    """How far a log was read. Lines for people are printed as they come, those for programs are kept."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.offset: int = options.offset
        self.wanted: int | None = options.lines
        self.total = 0
        self.collected: list[str] = []
        self.is_over: bool = self.wanted == 0
        self._prints: bool = options.output == "table"

    @property
    def size(self) -> int:
        return min(PAGE, self.wanted or PAGE)

    def take(self, lines: "Sequence[str]", total: int) -> None:
        self.total = total
        if self._prints:
            print_lines(lines)
        else:
            self.collected += lines
        self.offset += len(lines)
        if self.wanted is not None:
            self.wanted -= len(lines)
        self.is_over = not lines or self.offset >= total or (self.wanted is not None and self.wanted <= 0)


def _quickly(reading: _Reading, options: argparse.Namespace) -> bool:
    """Read the short way as far as it goes; whether that was to the end."""
    from agentic_rl_tui.app.cli.quick import address_of
    from agentic_rl_tui.core.client import quick_jobs

    to = address_of(options)
    while to is not None and not reading.is_over:
        page = quick_jobs.lines(to, options.job_id, reading.offset, reading.size)
        if page is None:
            break
        reading.take(*page)
    return reading.is_over


async def _wholly(client: "AgenticRL", reading: _Reading, job_id: str) -> None:
    while not reading.is_over:
        page = await client.logs(job_id, offset=reading.offset, lines=reading.size)
        reading.take(page.lines, page.total)


def print_lines(lines: "Sequence[str]") -> None:
    for line in lines:
        write(plain(line))


def _narrate(lines: "Sequence[str]") -> None:
    for line in lines:
        print(plain(redact(line)), file=sys.stderr, flush=True)


async def _print_new(pieces: "AsyncIterator[LogPage | FollowNote]", stalls: "StallTeller", form: str) -> None:
    from agentic_rl_tui.core.models.jobs import LogPage

    async for piece in pieces:
        if isinstance(piece, LogPage):
            print_lines(piece.lines) if form == "table" else _narrate(piece.lines)
            stalls.lines(piece.offset + len(piece.lines))
        else:
            print(plain(str(piece)), file=sys.stderr, flush=True)


async def follow(client: "AgenticRL", job_id: str, offset: int = 0, form: str = "table") -> int:
    """Print a job's log until it has ended; the exit code tells how it ended.

    For programs stdout holds the job as it ended and nothing else: its log is narration then.
    """
    from agentic_rl_tui.app.cli.get import data_of
    from agentic_rl_tui.app.cli.goes_on import job_goes_on, told_on_interrupt
    from agentic_rl_tui.app.cli.stalls import StallTeller
    from agentic_rl_tui.core.models.status import JobStatus

    stalls = StallTeller(client)
    with told_on_interrupt(lambda: job_goes_on(job_id)):
        async with stalls.beside():
            await _print_new(client.follow(job_id, offset=offset, on_status=stalls.see), stalls, form)
        job = await client.get(job_id)
    ended = _("job {name} ({job_id}) {status}").format(name=job.job_name or job_id, job_id=job_id, status=job.status)
    if job.message:
        ended = _("{what}: {detail}").format(what=ended, detail=job.message)
    print(plain(ended), file=sys.stderr)
    if form != "table":
        emit(data_of(job), form)
    return exits.OK if job.status == JobStatus.SUCCEEDED else exits.JOB_FAILED
