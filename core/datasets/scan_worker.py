"""The process that scans ranges of a file for another one: requests on stdin, answers on stdout.

The first request is (path, options, language), the others are (start, end, full rules); the answer to each of those
is a packed `Findings`. The end of stdin is the end of the work.
"""

import gc
import sys

from agentic_rl_tui.core.datasets.findings import Options
from agentic_rl_tui.core.datasets.frames import receive, send
from agentic_rl_tui.core.datasets.scan import RangeScanner
from agentic_rl_tui.core.i18n import set_language


def main() -> None:
    # Rows hold no cycles: collecting them again and again would cost a fifth of the time.
    gc.disable()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    path, options, language = first
    set_language(language)
    scanner = RangeScanner(Options(*options))
    while (request := receive(source)) is not None:
        start, end, full = request
        send(sink, scanner.scan(path, start, end, full=full).pack())


if __name__ == "__main__":
    main()
