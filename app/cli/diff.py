from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.connect import with_client
from agentic_rl_tui.app.cli.output import emit, output_argument, write
from agentic_rl_tui.core.i18n import _

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from typing import Any

    from agentic_rl_tui.core.sdk.compare import JobComparison


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="JOB")
    parser.add_argument("new", metavar="JOB")
    parser.add_argument("--no-source", action="store_true", help=_("leave the lines of changed source files out"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    found: JobComparison = with_client(options, lambda client: client.compare(options.old, options.new))
    if options.output != "table":
        emit(_facts(found, with_source=not options.no_source), options.output)
        return exits.OK
    from agentic_rl_tui.app.present.comparison import comparison_text

    write(comparison_text(found, with_source=not options.no_source))
    if found.unknown:
        text = _("not submitted from this machine, so that code and data are not known here: {jobs}")
        print(text.format(jobs=", ".join(found.unknown)), file=sys.stderr)
    return exits.OK


def _facts(found: JobComparison, *, with_source: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from agentic_rl_tui.core.textfile import unified

    def lines(old: str, new: str) -> list[str]:
        return [f"{tag} {text}".rstrip() for tag, _old, _new, text in unified(old, new)]

    def source(path: str, old: str | None, new: str | None) -> dict[str, Any]:
        state = "added" if old is None else "removed" if new is None else "changed"
        facts = {"path": path, "state": state}
        return facts | ({"diff": lines(old or "", new or "")} if with_source else {})

    return {
        "old": found.old.job_id,
        "new": found.new.job_id,
        "is_same": found.is_same,
        "settings": [{"key": change.key, "old": change.old, "new": change.new} for change in found.settings],
        "functions": [asdict(change) for change in found.functions],
        "files": [source(change.path, change.old, change.new) for change in found.files],
        "data": [asdict(change) for change in found.data],
        "unknown": list(found.unknown),
    }
