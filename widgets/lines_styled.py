"""Lines that the program itself has coloured."""

import re
from collections.abc import Iterable, Iterator

from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.lines import LineBuffer, Stop


class StyledLines(LineBuffer):
    """Lines with colour sequences of ours. Searches and filters see their text alone, and so never a sequence."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        super().__init__(lines)
        self._plain = LineBuffer(ansi.text_of(line) for line in self.lines(0, len(self)))

    def find(self, pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop) -> int | None:
        return self._plain.find(pattern, start, backwards=backwards, stop=stop)

    def blocks(self, start: int) -> Iterator[bytes]:
        return self._plain.blocks(start)
