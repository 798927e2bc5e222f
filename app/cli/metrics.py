import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import FORMATS, emit, table, write
from agentic_rl_tui.core.i18n import N_, _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.models.metrics_book import MetricBook
    from agentic_rl_tui.core.sdk import AgenticRL

_PAGE = 1000
_COLUMNS = (
    (N_("REWARD"), ("critic/rewards/mean", "critic/score/mean", "reward/mean"), ".4f"),
    (N_("STD"), ("critic/rewards/std", "critic/score/std", "reward/std"), ".4f"),
    (N_("VALIDATION"), ("validation/data/reward/mean@1",), ".4f"),
    (N_("NO SPREAD"), ("trajectory/zero_variance_share", "zero_variance_share"), ".0%"),
    (N_("LENGTH"), ("response_length/mean", "completion_length/mean"), ".1f"),
    (N_("SECONDS"), ("timing/s/rollout/mean",), ".3f"),
    (N_("FAILED"), ("trajectory/failed_rollouts",), ".0f"),
    (N_("NO REWARD"), ("trajectory/failed_rewards",), ".0f"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument("--smooth", type=_weight, default=0.0, metavar="SHARE",
                        help=_("how much of the past stays in each number, 0 to below 1; default: 0"))  # fmt: skip
    parser.add_argument("-o", "--output-format", "--output", dest="output", choices=(*FORMATS, "csv"), default="table",
                        metavar="FORMAT", help=_("table, json, yaml or csv; default: table"))  # fmt: skip


def _weight(text: str) -> float:
    weight = float(text)
    if not 0 <= weight < 1:
        raise argparse.ArgumentTypeError(_("must be from 0 to below 1"))
    return weight


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.connect import with_client
    from agentic_rl_tui.core.models.metrics_book import csv_lines, smooth

    book = with_client(options, lambda client: _read(client, options.job_id))
    for series in book.series.values():
        series.values[:] = smooth(series.values, options.smooth) if options.smooth else series.values
    if options.output == "csv":
        for line in csv_lines({options.job_id: book}):
            write(line)
    elif options.output != "table":
        emit({"job_id": options.job_id, "steps": [{"step": step, **row} for step, row in book.rows()]}, options.output)
    else:
        _show(book)
    return exits.OK


async def _read(client: "AgenticRL", job_id: str) -> "MetricBook":
    """All numbers that the log tells so far."""
    from agentic_rl_tui.core.models.metrics_book import MetricBook

    book = MetricBook()
    offset = 0
    while True:
        page = await client.logs(job_id, offset=offset, lines=_PAGE)
        book.feed(page.lines)
        offset += len(page.lines)
        if not page.lines or offset >= page.total:
            return book


def _show(book: "MetricBook") -> None:
    import sys

    found = [(title, series, form) for title, names, form in _COLUMNS if (series := book.first(*names)) is not None]
    rows = []
    for step in book.steps():
        values = [(series.at(step), form) for _title, series, form in found]
        rows.append((str(step), *("–" if value is None else format(value, form) for value, form in values)))
    table((_("STEP"), *(_(title) for title, _series, _form in found)), rows)
    if not rows:
        print(_("this log holds no numbers"), file=sys.stderr)
