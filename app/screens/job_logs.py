"""The log of a job: follows while it grows, searches and filters in the background, holds still when you scroll up."""

from collections.abc import Iterator

from textual import on
from textual.app import ComposeResult

from agentic_rl_tui.app.present.times import short_duration
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.job_panes import JobPane, Saving
from agentic_rl_tui.core.i18n import N_, _, ngettext
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.lines import LineSource
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.logview_rows import LogTexts
from agentic_rl_tui.widgets.logview_seek import typed_text

_BATCH_LINES = 5000
_GAP_S = 60
_LEVELS = {"info": N_("without debug"), "warning": N_("warnings"), "error": N_("errors")}
_CHIP = "$accent on $raised"


def log_texts() -> LogTexts:
    """The words of a log view in the language in force."""
    return LogTexts(
        more=_("… {count} more characters"),
        later=lambda seconds: _("{time} later").format(time=short_duration(seconds)),
    )


class JobLogs(JobPane):
    """In: `show_lines` when the buffer has grown, `set_note` (what the stream says). Out: `StateChanged`."""

    def __init__(self, source: LineSource) -> None:
        super().__init__(id="logs")
        self._source = source
        self._note: tuple[Span, ...] = ()
        self._is_live = True

    def compose(self) -> ComposeResult:
        view = LogView(id="log-view", texts=log_texts())
        view.gap_s = _GAP_S
        yield view

    def on_mount(self) -> None:
        self.view.source = self._source
        self.view.is_following = True
        self.show_lines()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def show_lines(self) -> None:
        self.view.grew()
        if self.view.sifted is not None:
            self.view.placeholder = _("No line passes the filter")
        else:
            self.view.placeholder = _("Waiting for the first line …") if self._is_live else _("The log is empty")
        self.post_message(self.StateChanged(self))

    def set_note(self, note: tuple[Span, ...], *, is_live: bool) -> None:
        self._note = note
        self._is_live = is_live
        self.show_lines()

    def state(self) -> tuple[Span, ...]:
        view = self.view
        parts: list[list[Span]] = [list(self._note)]
        if view.sifted is not None:
            parts.append([(f" {self._filter_words()} ", _CHIP)])
        if view.pattern is not None:
            parts.append([(f" / {typed_text(view.pattern)} ", _CHIP)])
        parts += [[(_("wrap"), "$muted")]] if view.is_wrapped else []
        parts += [[(_("raw"), "$warn")]] if view.is_raw else []
        parts += [[(self._count_words(), "$muted")], [self._doing()]]
        line: list[Span] = []
        for part in parts:
            if part:
                line += [("  ", ""), *part] if line else part
        return tuple(line)

    def _filter_words(self) -> str:
        words = [_(_LEVELS[self.view.level])] if self.view.level in _LEVELS else []
        if self.view.only is not None:
            words.append(f"& {typed_text(self.view.only)}")
        return " · ".join(words)

    def _count_words(self) -> str:
        view, total = self.view, len(self.view.source)
        if view.sifted is None:
            seen = ngettext("{seen} of {count} line", "{seen} of {count} lines", total)
            return seen.format(seen=f"{view.last_seen:,}", count=f"{total:,}")
        if view.is_sifting:
            looked = _("{passed} of {looked} lines, {percent} % looked at")
            percent = 100 * view.sifted.scanned // max(1, total)
            return looked.format(passed=f"{view.line_count:,}", looked=f"{view.sifted.scanned:,}", percent=percent)
        passed = ngettext("{passed} of {count} line", "{passed} of {count} lines", total)
        return passed.format(passed=f"{view.line_count:,}", count=f"{total:,}")

    def _doing(self) -> Span:
        if not self._is_live:
            return (_("log ended"), "$faint")
        if self.view.is_following:
            return (f"● {_('following')}", "$running")
        return (f"○ {_('holding')}", "$warn")

    def undoable(self) -> Iterator[Layer]:
        if self.view.pattern is not None or self.view.match_line is not None:
            yield Layer(_("clear search"), self._clear_search)
        if self.view.sifted is not None:
            yield Layer(_("stop filter") if self.view.is_sifting else _("clear filter"), self._clear_filter)

    def _clear_search(self) -> None:
        self.view.search("")
        self.post_message(self.StateChanged(self))

    def _clear_filter(self) -> None:
        self.view.sift(level="all", text="")
        self.show_lines()

    def saving(self) -> Saving:
        """The lines that are shown: all of them, or those that pass the filter."""
        if self.view.sifted is None:
            return Saving("log", self._lines)
        count = self.view.line_count
        what = ngettext("{count} filtered line", "{count} filtered lines", count).format(count=f"{count:,}")
        return Saving("filtered.log", self._lines, what)

    def _lines(self) -> Iterator[str]:
        source = self.view.shown
        for start in range(0, len(source), _BATCH_LINES):
            yield from source.lines(start, start + _BATCH_LINES)

    @on(LogView.Moved)
    @on(LogView.FollowChanged)
    @on(LogView.FilterChanged)
    def _moved(self) -> None:
        self.post_message(self.StateChanged(self))
