"""Entry point: decides between the full-screen app and a verb before anything heavy is imported.

``--help`` and ``--version`` are answered from text alone; they are what shell completions and impatient people call.
"""

import sys

from agentic_rl_tui.app.language import speak


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    speak()
    if first in ("-h", "--help", "help") and len(arguments) == 1:
        from agentic_rl_tui.app.cli.help import shown

        sys.stdout.write(shown())
        return 0
    if first in ("-V", "--version"):
        from agentic_rl_tui.core.version import __version__

        sys.stdout.write(f"agentic-rl-tui {__version__}\n")
        return 0
    from agentic_rl_tui.app.cli.dispatch import dispatch

    return dispatch(arguments)


if __name__ == "__main__":
    sys.exit(main())
