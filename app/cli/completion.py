import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import PROGRAM
from agentic_rl_tui.app.cli.output import write
from agentic_rl_tui.core.i18n import _


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    told = _(
        'bash: eval "$({program} completion bash)"   zsh: the same with zsh   fish: {program} completion fish | source'
    )
    parser.epilog = told.format(program=PROGRAM)


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.completion_scripts import script

    write(script(options.shell))
    return exits.OK
