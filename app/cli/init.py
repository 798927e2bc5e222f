from __future__ import annotations

import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.helping import listed
from agentic_rl_tui.app.cli.output import answer, output_argument
from agentic_rl_tui.core.i18n import N_, _

TITLES = {
    "calc-agent": N_("Arithmetic word problems with a calculator tool"),
    "word-problems": N_("Word problems of several steps, solved without tools"),
    "tool-router": N_("Choosing the right tool among ten, learnt from a teacher (OPD)"),
}
"""The templates as `core.templates` has them, whose import would double the time of `--help`."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIR", help=_("where to write; default: ./<template>"))
    parser.add_argument(
        "--template", default="calc-agent", type=_known, metavar="NAME",
        help=_("the template to begin with; default: calc-agent"),
    )  # fmt: skip
    output_argument(parser)
    parser.epilog = listed(_("templates"), ((name, _(title)) for name, title in TITLES.items()))


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
