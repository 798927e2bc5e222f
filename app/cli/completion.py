import argparse

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.dispatch import PROGRAM
from agentic_rl_tui.app.cli.output import write


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.epilog = (
        f'bash: eval "$({PROGRAM} completion bash)"   zsh: the same with zsh   fish: {PROGRAM} completion fish | source'
    )


def run(options: argparse.Namespace) -> int:
    from agentic_rl_tui.app.cli.completion_scripts import script

    write(script(options.shell))
    return exits.OK
