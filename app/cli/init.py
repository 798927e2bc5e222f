import argparse
from pathlib import Path

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import write
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR", help=_("where to write; default: ./<template>"))
    parser.add_argument("--template", default="calc-agent", choices=sorted(TEMPLATES), metavar="NAME")


def run(options: argparse.Namespace) -> int:
    template = TEMPLATES[options.template]
    destination = Path(options.directory or template.name).absolute()
    written = write_workspace(template, destination)
    write(
        _("{destination}: {count} files. Open it with: agentic-rl-tui --workspace {destination}").format(
            destination=destination, count=len(written)
        )
    )
    return exits.OK
