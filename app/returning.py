"""Coming back to where one was: the view of the last time is shown again, and kept while it changes."""

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from agentic_rl_tui.app.missed import MissedEnds
from agentic_rl_tui.app.view import View, view_path, write_view
from agentic_rl_tui.core.i18n import _

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.jobs import JobsScreen

KEEP_EVERY_S = 2.0


class Returning(MissedEnds):
    """In: `view`, as it was read before the start. A terminal may be lost at any moment, so changes are kept soon."""

    view: View = View()
    keeps_view: bool = False
    _written: View | None = None
    _is_reopened: bool = False

    def start_keeping(self) -> None:
        self._written = self.view
        if self.keeps_view and self.is_polling:
            self.set_interval(KEEP_EVERY_S, self.keep_view)

    def seen_view(self) -> View:
        """Where one is. A place that was not gone to keeps what is known of it."""
        place = self.current_mode
        view = self.view if not place.isidentifier() or place not in self.MODES else replace(self.view, place=place)
        screen = self.jobs_screen()
        if screen is None or not screen.is_mounted:
            return view
        view = replace(view, filter=screen.filter_text, order=screen.table.order, cursor=screen.cursor_id)
        from agentic_rl_tui.app.screens.job import JobScreen

        opened = next((item for item in self._screen_stacks["jobs"] if isinstance(item, JobScreen)), None)
        if opened is None:
            return replace(view, job="", tab="") if self._is_reopened else view
        return replace(view, job=opened.job_id, tab=opened.tab)

    def jobs_screen(self) -> "JobsScreen | None":
        from agentic_rl_tui.app.screens.jobs import JobsScreen

        stack = self._screen_stacks.get("jobs", [])
        return next((item for item in stack if isinstance(item, JobsScreen)), None)

    def keep_view(self) -> None:
        view = self.seen_view()
        if view != self._written:
            self._written = self.view = view
            self._write(view_path(self.settings), view)

    @work(thread=True, exclusive=True, group="app.view", exit_on_error=False)
    def _write(self, path: Path, view: View) -> None:
        write_view(path, view)

    def keep_last_view(self) -> None:
        """At the end: there is no later chance, and nothing more to do where the disk refuses."""
        if self.keeps_view and self._written is not None:
            view = self.seen_view()
            if view != self._written:
                self._written = self.view = view
                try:
                    write_view(view_path(self.settings), view)
                except OSError as error:
                    self.log.error(f"the view is not kept: {error}")

    def watch_backend(self) -> None:
        if self.backend is not None:
            self.await_ends(is_listed=self.jobs_screen() is not None)
            self.call_later(self.reopen_job)

    def reopen_job(self) -> None:
        """Open the job of the last time, unless somebody has gone elsewhere meanwhile."""
        if self._is_reopened:
            return
        self._is_reopened = True
        screen = self.jobs_screen()
        if self.view.job and screen is not None and self.screen is screen:
            self.open_job(self.view.job, tab=self.view.tab or "overview")

    def tell_broken_view(self, kept_as: Path) -> None:
        self.warn(_("What was kept of the last view cannot be read; it was set aside as {path}").format(path=kept_as))

    def before_profile(self) -> None:
        self.keep_last_view()

    def after_profile(self) -> None:
        """The new profile has a view of its own; the place stays the one on the screen."""
        from agentic_rl_tui.app.view import BrokenView, read_view

        self.view = View()
        if self.keeps_view:
            try:
                self.view = replace(read_view(view_path(self.settings)), place=self.current_mode, job="", tab="")
            except BrokenView as broken:
                self.tell_broken_view(broken.kept_as)
        self._written = self.view

    @abstractmethod
    def open_job(self, job_id: str, *, tab: str = "overview") -> None:
        """Show one job on top of the jobs."""
