from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import workspace_of
from agentic_rl_tui.app.cli.output import emit, output_argument, table, write
from agentic_rl_tui.app.cli.values import path
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from agentic_rl_tui.core.jobfile import JobDocument
    from agentic_rl_tui.core.sdk.preflight import Check

_GLYPHS = {"ok": "✓", "warning": "!", "error": "✗"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", type=path, metavar="FILE", help=_("the job file; default: the workspace's own")
    )
    parser.add_argument(
        "--fix", action="store_true", help=_("write every safe fix into the job file and show the change")
    )
    output_argument(parser)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.core.jobfile import load
    from agentic_rl_tui.core.sdk.facts import facts_of
    from agentic_rl_tui.core.sdk.preflight import preflight

    path = _chosen(options)
    document = load(path, facts=facts_of(path.parent))
    change: list[str] = []
    if options.fix:
        document, change = _fixed(document)
    checks = preflight(document)
    if options.output == "table":
        _tell(checks, change)
    else:
        emit({"file": str(path), "change": change, "checks": [_data(check) for check in checks]}, options.output)
    return exits.REJECTED if any(check.blocks for check in checks) else exits.OK


def _chosen(options: argparse.Namespace) -> Path:
    from pathlib import Path

    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.workspaces import job_files

    if options.file is not None:
        return Path(options.file).absolute()
    workspace = workspace_of(options)
    found = job_files(workspace)
    if not found:
        raise InputError(_("there is no job file in {workspace}").format(workspace=workspace), advice=_("Name one."))
    return found[0]


def _fixed(document: JobDocument) -> tuple[JobDocument, list[str]]:
    """The document with its safe fixes on disk, and the change as a unified diff."""
    from difflib import unified_diff

    from agentic_rl_tui.core.jobfile import fix_all, load
    from agentic_rl_tui.core.sdk.facts import facts_of
    from agentic_rl_tui.core.textfile import TextFile

    path = document.path
    text = fix_all(document)
    if text == document.text:
        return document, []
    TextFile.read(path).save(text)
    before, after = document.text.splitlines(), text.splitlines()
    change = list(unified_diff(before, after, path.name, path.name, lineterm=""))
    return load(path, facts=facts_of(path.parent)), change


def _tell(checks: Sequence[Check], change: list[str]) -> None:
    for line in change:
        write(plain(line))
    rows = [
        (_GLYPHS.get(check.state, check.state), check.label, check.detail, f"{check.seconds:.2f} s") for check in checks
    ]
    table(("", _("CHECKED"), _("FOUND"), _("TOOK")), rows)
    for check in checks:
        for finding in check.findings:
            place = f"{finding.place}:{finding.col}" if finding.line and finding.col else finding.place
            advice = f" {finding.advice}" if finding.advice else ""
            write(plain(f"{_GLYPHS[finding.severity]} {place}: {finding.message}{advice}", keep_newlines=False))
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
