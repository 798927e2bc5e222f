"""Entry point: decides between the full-screen app and a verb before anything heavy is imported.

``--help`` and ``--version`` are answered from text alone; they are what shell completions and impatient people call.
"""

import os
import sys

from agentic_rl_tui.app.language import speak


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    speak()
    if sys.stdout is None:
        # Closed by the caller. The next file or socket must not take its number.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it is open as long as the process lives
    if first in ("-h", "--help", "help") and len(arguments) == 1:
        from agentic_rl_tui.app.cli.help import shown

        return _say(shown())
    if first in ("-V", "--version"):
        from agentic_rl_tui.core.version import __version__

        return _say(f"agentic-rl-tui {__version__}\n")
    from agentic_rl_tui.app.cli.dispatch import dispatch

    return dispatch(arguments)


def _say(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = None
        if not isinstance(error, BrokenPipeError):
            print(f"agentic-rl-tui: stdout: {error.strerror}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
