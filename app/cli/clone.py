from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.output import emit, write
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk.clone import Cloned, Start


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id")
    parser.add_argument(
        "-o",
        "--output",
        dest="target",
        metavar="FILE",
        help=_("the new job file, or a folder for it; default: a free name in the workspace"),
    )
    parser.add_argument(
        "--checkpoint", metavar="NAME", help=_("go on from this checkpoint: its name, its step, or best")
    )
    parser.add_argument("--checkpoints", action="store_true", help=_("only list the checkpoints to go on from"))
    parser.add_argument("--json", action="store_true", help=_("print JSON"))


def run(options: argparse.Namespace) -> int:
    if options.checkpoints:
        return _list(options)
    cloned: Cloned = with_client(
        options,
        lambda client: client.clone(options.job_id, output=options.target, checkpoint=options.checkpoint),
    )
    if options.json:
        emit({"path": str(cloned.path), "notes": list(cloned.notes)}, "json")
        return exits.OK
    for note in cloned.notes:
        print(note, file=sys.stderr)
    write(str(cloned.path))
    return exits.OK


def _list(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from agentic_rl_tui.app.cli.output import table

    starts: tuple[Start, ...] = with_client(options, lambda client: client.checkpoints(options.job_id))
    if options.json:
        emit({"checkpoints": [asdict(start) for start in starts]}, "json")
        return exits.OK
    rows = [
        (
            "–" if start.step is None else str(start.step),
            "–" if start.validation is None else f"{start.validation:.3f}",
            _("best") if start.is_best else _("output") if start.is_output else "",
            start.name,
        )
        for start in starts
    ]
    table((_("STEP"), _("VALIDATION"), _("WHAT"), _("NAME")), rows)
    if not rows:
        print(_("{job_id} left no checkpoint to go on from").format(job_id=options.job_id), file=sys.stderr)
    return exits.OK
