from __future__ import annotations

import argparse
import sys

from agentic_rl_tui.app.cli.output import output_argument
from agentic_rl_tui.app.cli.screen import has_screen
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR", help=_("where to write; default: ./calc-agent"))
    output_argument(parser)
    parser.epilog = _("Without a terminal on stdout the whole job is run headless and its log printed.")


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentic_rl_tui.app.cli.connect import settings_of
    from agentic_rl_tui.core.templates import TEMPLATES, WorkspaceExists, write_workspace

    template = TEMPLATES["calc-agent"]
    destination = Path(options.directory or template.name).absolute()
    try:
        write_workspace(template, destination)
    except WorkspaceExists as exists:
        if not exists.is_same_template:
            raise
        print(_("{destination} is there already and is used as it is").format(destination=destination), file=sys.stderr)
    else:
        print(_("wrote {destination}").format(destination=destination), file=sys.stderr)
    options.workspace = str(destination)
    job_file = destination / template.job_file
    if has_screen():
        from agentic_rl_tui.app.tui import run_tui

        return run_tui(settings_of(options), start_place="job-file", job_file=job_file)
    from agentic_rl_tui.app.cli.run import submit_and_follow

    return submit_and_follow(options, job_file)
