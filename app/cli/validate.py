from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import workspace_of
from agentic_rl_tui.app.cli.output import emit, output_argument, table, write
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from agentic_rl_tui.core.sdk.preflight import Check
    from agentic_rl_tui.core.sdk.repairs import Repair

_GLYPHS = {"ok": "✓", "warning": "!", "error": "✗"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", type=path, metavar="FILE", help=_("the job file; default: the workspace's own")
    )
    parser.add_argument("-c", "--config", type=path, metavar="FILE", help=_("the job file, named as `run` takes it"))
    parser.add_argument(
        "--fix",
        action="store_true",
        help=_("show every safe repair of the job file, its data and requirements, and make it"),
    )
    parser.add_argument("--dry-run", action="store_true", help=_("with --fix: only show the repairs"))
    parser.add_argument("-y", "--yes", action="store_true", help=_("do not ask"))
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.jobfile import load
    from agentic_rl_tui.core.sdk.facts import facts_of
    from agentic_rl_tui.core.sdk.preflight import preflight

    path = _chosen(options)
    document = load(path, facts=facts_of(path.parent))
    made: Sequence[Repair] = ()
    if options.fix:
        from agentic_rl_tui.core.sdk.repairs import repairs

        made = repairs(document)
        if options.output == "table":
            _show(made)
        if made and not options.dry_run:
            if not _agreed(made, options):
                return exits.REJECTED
            for repair in made:
                repair.apply()
            document = load(path, facts=facts_of(path.parent))
    checks = preflight(document)
    if options.output == "table":
        _tell(checks)
    else:
        change = [line for repair in made if repair.kind == "jobfile" for line in repair.lines]
        emit(
            {
                "file": str(path),
                "change": change,
                "repairs": [{**_repair_data(repair), "is_made": not options.dry_run} for repair in made],
                "checks": [_data(check) for check in checks],
            },
            options.output,
        )
    return exits.REJECTED if any(check.blocks for check in checks) else exits.OK


def _agreed(made: Sequence[Repair], options: argparse.Namespace) -> bool:
    from agentic_rl_tui.app.cli.confirm import confirmed

    question = ngettext("Change {count} file?", "Change {count} files?", len(made)).format(count=len(made))
    return confirmed(question, assume_yes=options.yes or options.output != "table")


def _show(made: Sequence[Repair]) -> None:
    if not made:
        print(_("nothing can be repaired by itself"), file=sys.stderr)
    for repair in made:
        places = ngettext("{count} place", "{count} places", repair.count).format(count=repair.count)
        write(plain(f"{repair.path}: {repair.label} ({places})", keep_newlines=False))
        for line in repair.lines:
            write(plain(line))


def _repair_data(repair: Repair) -> dict[str, Any]:
    return {
        "file": str(repair.path), "kind": repair.kind, "label": repair.label, "count": repair.count,
        "lines": list(repair.lines),
    }  # fmt: skip


def _chosen(options: argparse.Namespace) -> Path:
    from pathlib import Path

    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.workspaces import job_files

    if options.file is not None and options.config is not None:
        raise InputError(_("two job files are named"), advice=_("Name one."))
    if (named := options.file or options.config) is not None:
        return Path(named).absolute()
    workspace = workspace_of(options)
    found = job_files(workspace)
    if not found:
        raise InputError(_("there is no job file in {workspace}").format(workspace=workspace), advice=_("Name one."))
    return found[0]


def _tell(checks: Sequence[Check]) -> None:
    from agentic_rl_tui.app.cli.source_problems import with_advice

    rows = [
        (_GLYPHS.get(check.state, check.state), check.label, check.detail, f"{check.seconds:.2f} s") for check in checks
    ]
    table(("", _("CHECKED"), _("FOUND"), _("TOOK")), rows)
    for check in checks:
        for finding in check.findings:
            place = f"{finding.place}:{finding.col}" if finding.line and finding.col else finding.place
            told = with_advice(finding.message, finding.advice)
            write(plain(f"{_GLYPHS[finding.severity]} {place}: {told}", keep_newlines=False))
        if check.hidden:
            print(_("{count} more in {what}").format(count=check.hidden, what=plain(check.label)), file=sys.stderr)


def _data(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "label": check.label,
        "state": check.state,
        "detail": check.detail,
        "hidden": check.hidden,
        "findings": [
            {
                "severity": finding.severity, "file": finding.path, "line": finding.line, "col": finding.col,
                "message": finding.message, "advice": finding.advice,
            }
            for finding in check.findings
        ],
    }  # fmt: skip
