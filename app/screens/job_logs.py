"""The log of a job: follows while it grows, searches in the background, holds still when you scroll up."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.widgets.cells import Span
from agentic_rl_tui.widgets.lines import LineSource
from agentic_rl_tui.widgets.logview import LogView


class JobLogs(Vertical):
    """In: `show_lines` when the buffer has grown, `set_note` (what the stream says). Out: `StateChanged`."""

    @dataclass
    class StateChanged(Message):
        logs: "JobLogs"

    def __init__(self, source: LineSource) -> None:
        super().__init__(id="logs")
        self._source = source
        self._note: tuple[Span, ...] = ()
        self._is_live = True

    def compose(self) -> ComposeResult:
        yield LogView(id="log-view")

    def on_mount(self) -> None:
        self.view.source = self._source
        self.view.is_following = True
        self.show_lines()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def show_lines(self) -> None:
        self.view.grew()
        self.view.placeholder = _("Waiting for the first line …") if self._is_live else _("The log is empty")
        self.post_message(self.StateChanged(self))

    def set_note(self, note: tuple[Span, ...], *, is_live: bool) -> None:
        self._note = note
        self._is_live = is_live
        self.show_lines()

    def state(self) -> tuple[Span, ...]:
        """Where the view is and what it does, for the line of tabs."""
        view = self.view
        line: list[Span] = list(self._note)
        if line:
            line.append(("  ", ""))
        if view.pattern is not None:
            line += [(f" / {view.pattern.pattern} ", "$accent on $raised"), ("  ", "")]
        if view.is_wrapped:
            line += [(_("wrap"), "$muted"), ("  ", "")]
        seen = ngettext("{seen} of {count} line", "{seen} of {count} lines", view.line_count)
        line.append((seen.format(seen=f"{view.last_seen:,}", count=f"{view.line_count:,}"), "$muted"))
        if view.is_following and self._is_live:
            line += [("  ", ""), (f"● {_('following')}", "$running")]
        elif not self._is_live:
            line += [("  ", ""), (_("complete"), "$faint")]
        else:
            line += [("  ", ""), (f"○ {_('holding')}", "$warn")]
        return tuple(line)

    @on(LogView.Moved)
    @on(LogView.FollowChanged)
    def _moved(self) -> None:
        self.post_message(self.StateChanged(self))
