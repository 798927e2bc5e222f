"""The seeking half of a log view: searching in the background, hiding the lines that are not wanted."""

import re
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual import work
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive

from agentic_rl_tui.widgets.highlight import TROUBLE
from agentic_rl_tui.widgets.lines import LineSource, Stop
from agentic_rl_tui.widgets.lines_sieve import LEVELS, LevelSieve, Sieve, Sifted, TextSieve, nearest_error
from agentic_rl_tui.widgets.logview_rows import LogRows

_AT_ONCE = 5000
"""Lines that are sifted on the spot; more than that is done in the background."""
_SHOW_EVERY_S = 0.1


class LogSeek(LogRows):
    """Finds and hides lines. Subclasses move: `go_to`, `_place`, `action_ask`."""

    is_following: reactive[bool] = reactive(False, init=False)

    @dataclass
    class SearchEnded(Message):
        """line is None when nothing was found; went_round when the search passed an end of the log."""

        view: "LogSeek"
        line: int | None
        went_round: bool
        pattern: re.Pattern[str]

    @dataclass
    class FilterChanged(Message):
        """The filter is another one, or more lines have gone through it."""

        view: "LogSeek"

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LogSeek.FilterChanged)

    def __init__(self, **names: Any) -> None:
        super().__init__(**names)
        self._search_turn = 0
        self._sift_turn = 0
        self._is_sifting = False
        self._anchor: int | None = None
        self.level = LEVELS[0]
        self.only: re.Pattern[str] | None = None

    @abstractmethod
    def go_to(self, line: int) -> None:
        """Bring a line among those shown (from 0) into view."""

    @abstractmethod
    def _place(self, top: int, sub: int = 0) -> None:
        """Show from this line on. sub: which of its wrapped rows comes first."""

    @abstractmethod
    def action_ask(self, what: str) -> None:
        """Ask for what to search, filter or go to."""

    def grew(self) -> None:
        """The source has more lines than before, or begins anew."""
        if self.sifted is not None and not self._is_sifting:
            waiting = len(self.source) - self.sifted.scanned
            if waiting < 0:
                self._begin_sifting()
            elif waiting > _AT_ONCE:
                self._sift_behind(self.sifted)
            else:
                self.sifted.extend(lambda: False)
        self._shown_grew()

    def _shown_grew(self) -> None:
        self._windows.clear()
        self.virtual_size = Size(self.scrollable_size.width, self.line_count)
        if self.is_following:
            self._place(*self._bottom())
        else:
            self._redraw()

    # Searching

    def search(self, text: str) -> None:
        """Find `text` from the top of the screen on, in the background. An empty text ends the search."""
        self._search_turn += 1
        self.match_line = None
        self.pattern = compile_search(text) if text else None
        if self.pattern is not None:
            self._seek(self.pattern, self.top, backwards=False)

    def action_again(self, direction: int) -> None:
        if self.pattern is None:
            self.action_ask("search")
            return
        self._seek(self.pattern, self._after_match(direction), backwards=direction < 0)

    def action_trouble(self, direction: int) -> None:
        self._seek(TROUBLE, self._after_match(direction), backwards=direction < 0)

    def _after_match(self, direction: int) -> int:
        if self.match_line is None:
            return self.top
        return self.match_line + direction

    @work(thread=True, exclusive=True, group="log.search", exit_on_error=False)
    def _seek(self, pattern: re.Pattern[str], start: int, *, backwards: bool) -> None:
        turn = self._search_turn
        source = self.shown
        # Errors are found by their words, which is many times quicker than by the pattern.
        find = source.find if pattern is not TROUBLE else partial(_error_like, source)

        def is_old() -> bool:
            return turn != self._search_turn

        found = find(pattern, start, backwards=backwards, stop=is_old)
        went_round = False
        if found is None and not is_old():
            went_round = True
            found = find(pattern, len(source) - 1 if backwards else 0, backwards=backwards, stop=is_old)
        if not is_old():
            self.post_message(self.SearchEnded(self, found, went_round, pattern))

    def on_log_seek_search_ended(self, event: SearchEnded) -> None:
        if event.line is not None:
            self.match_line = event.line
            self.go_to(event.line)

    def watch_pattern(self) -> None:
        self._redraw()

    def watch_match_line(self) -> None:
        self._redraw()

    # Hiding lines

    @property
    def is_sifting(self) -> bool:
        """Whether lines still go through the filter in the background."""
        return self._is_sifting

    def sift(self, *, level: str | None = None, text: str | None = None) -> None:
        """Show only lines of a level and above, and only those with a text; what is None stays as it is."""
        self.level = level if level is not None else self.level
        if text is not None:
            self.only = compile_search(text) if text else None
        self._begin_sifting()
        self._shown_grew()
        self.post_message(self.FilterChanged(self))

    def action_level(self) -> None:
        """The next level; after the gravest, all lines again."""
        self.sift(level=LEVELS[(LEVELS.index(self.level) + 1) % len(LEVELS)])

    def _begin_sifting(self) -> None:
        """Start the filter anew, and stay near the line that is looked at."""
        self._sift_turn += 1
        self._search_turn += 1
        here = self._anchor if self._anchor is not None else self.number_of(self.top)
        match = None if self.match_line is None else self.number_of(self.match_line)
        sieves: list[Sieve] = [] if self.level == LEVELS[0] else [LevelSieve(self.level)]
        if self.only is not None:
            sieves.append(TextSieve(self.only))
        self._windows.clear()
        self.sifted = Sifted(self.source, sieves) if sieves else None
        self._is_sifting = False
        self.match_line = match if self.sifted is None else None
        self.top, self.sub = (here if self.sifted is None else 0), 0
        self._anchor = None if self.sifted is None else here
        if self.sifted is None:
            self._place(*min((self.top, 0), self._bottom()))
        elif len(self.source) <= _AT_ONCE:
            self.sifted.extend(lambda: False)
            self._to_anchor()
        else:
            self._sift_behind(self.sifted)

    def _sift_behind(self, sifted: Sifted) -> None:
        self._is_sifting = True
        self._sift(sifted)
        self.set_timer(_SHOW_EVERY_S, self._show_sifting)

    @work(thread=True, exclusive=True, group="log.sift", exit_on_error=False)
    def _sift(self, sifted: Sifted) -> None:
        turn = self._sift_turn
        while turn == self._sift_turn and not sifted.is_complete:
            before = sifted.scanned
            sifted.extend(lambda: turn != self._sift_turn)
            if sifted.scanned == before:
                break
        if turn == self._sift_turn:
            self._is_sifting = False

    def _show_sifting(self) -> None:
        if self.sifted is None:
            return
        self._to_anchor()
        self._shown_grew()
        self.post_message(self.FilterChanged(self))
        if self._is_sifting:
            self.set_timer(_SHOW_EVERY_S, self._show_sifting)

    def _to_anchor(self) -> None:
        if self.sifted is None or self._anchor is None or self.sifted.scanned <= self._anchor:
            return
        target = min((self.sifted.index_of(self._anchor), 0), self._bottom())
        if not self._is_sifting:
            self._anchor = None
        self._place(*target)


def _error_like(
    source: LineSource, _pattern: re.Pattern[str], start: int, *, backwards: bool, stop: Stop
) -> int | None:
    return nearest_error(source, start, backwards=backwards, stop=stop)


def compile_search(text: str) -> re.Pattern[str]:
    """A pattern from what somebody typed: a regular expression where it is one; capitals make case count."""
    flags = 0 if any(char.isupper() for char in text) else re.IGNORECASE
    try:
        return re.compile(text, flags)
    except re.error:
        return re.compile(re.escape(text), flags)


def typed_text(pattern: re.Pattern[str]) -> str:
    """What was typed for a pattern: text that is no regular expression without the marks that make it one."""
    text = re.sub(r"\\(.)", r"\1", pattern.pattern, flags=re.DOTALL)
    if re.escape(text) != pattern.pattern:
        return pattern.pattern
    try:
        re.compile(text)
    except re.error:
        return text
    return pattern.pattern
