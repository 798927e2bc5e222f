import sys

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.text import plain


def confirmed(question: str, *, assume_yes: bool) -> bool:
    """Ask on a terminal; the safe answer is the default. A script has decided already and is not asked."""
    if assume_yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(f"{plain(question, keep_newlines=False)} [y/N] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip().casefold()
    if answer in ("y", "yes"):
        return True
    print(_("nothing was changed"), file=sys.stderr)
    return False
