from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.output import answer, output_argument
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR", help=_("where to write; default: ./<template>"))
    parser.add_argument("--template", default="calc-agent", type=_known, metavar="NAME")
    output_argument(parser)


def _known(name: str) -> str:
    from agentic_rl_tui.core.templates import TEMPLATES

    if name not in TEMPLATES:
        known = ", ".join(sorted(TEMPLATES))
        raise argparse.ArgumentTypeError(
            _("there is no template {name!r}; known: {known}").format(name=name, known=known)
        )
    return name


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

    template = TEMPLATES[options.template]
    destination = Path(options.directory or template.name).absolute()
    written = write_workspace(template, destination)
    told = _("{destination}: {count} files. Open it with: agentic-rl-tui --workspace {destination}")
    answer(
        told.format(destination=destination, count=len(written)),
        {"directory": str(destination), "template": template.name, "files": sorted(written)},
        options.output,
    )
    return exits.OK
