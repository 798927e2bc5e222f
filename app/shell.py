"""The Textual app: wiring only. Screens hold the flows, `keymap` the keys, `backend` the way to the SDK."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.geometry import Size
from textual.screen import Screen

from agentic_rl_tui.app import keymap
from agentic_rl_tui.app.connecting import changed
from agentic_rl_tui.app.places import PLACES, first_place
from agentic_rl_tui.app.slow_line import SlowLine
from agentic_rl_tui.app.surfaces import Problem, ProblemLog
from agentic_rl_tui.app.tty import watch_terminal
from agentic_rl_tui.app.typing_ahead import TypingAhead
from agentic_rl_tui.app.view import View
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import PlaceTab

if TYPE_CHECKING:
    from agentic_rl_tui.app.backend import Backend
    from agentic_rl_tui.core.models.jobs import Job
    from agentic_rl_tui.core.notes import Notes
    from agentic_rl_tui.core.settings import Settings

CONNECT_AFTER_S = 0.02
INTERRUPT_TWICE_S = 2.0


@dataclass(frozen=True, slots=True)
class Options:
    """How one run differs from an ordinary one; tests freeze the clock and stop the timers."""

    clock: Callable[[], float] = time.time
    is_polling: bool = True
    zone: tzinfo | None = None
    is_read_only: bool = False
    keeps_logs: bool = True
    keeps_jobs: bool = True
    keeps_notes: bool = True
    keeps_settings: bool = True
    keeps_view: bool = True
    is_still: bool = False
    """Nothing moves by itself: no animation, no blinking cursor."""
    is_slow: bool = False
    """The screen is at the end of a slow line: nothing moves, and updates are few and small."""


def _connect(settings: "Settings") -> "Backend":
    """Make the real backend. Slow: it imports the SDK."""
    from agentic_rl_tui.app.sdk_backend import SdkBackend

    return SdkBackend(settings)


def _place(module: str, name: str) -> Callable[[], Screen[Any]]:
    """A place that is imported when somebody first goes there."""

    def make() -> Screen[Any]:
        screen: Screen[Any] = getattr(import_module(f"agentic_rl_tui.app.screens.{module}"), name)()
        return screen

    return make


class ArlApp(TypingAhead, SlowLine):
    """Owns what all places share: backend, profile, health, problems, the way between places."""

    TITLE = "agentic-rl-tui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = keymap.bindings("app")
    MODES: ClassVar[dict[str, Any]] = {
        "workspace": _place("workspace", "WorkspaceScreen"),
        "functions": _place("functions", "FunctionsScreen"),
        "jobfile": _place("jobfile", "JobFileScreen"),
        "jobs": _place("jobs", "JobsScreen"),
        "traces": _place("traces", "TracesScreen"),
    }

    def __init__(
        self,
        settings: "Settings",
        *,
        start_place: str | None = None,
        job_file: Path | None = None,
        submit_ready: bool = False,
        view: View | None = None,
        broken_view: Path | None = None,
        connect: "Callable[[Settings], Backend]" = _connect,
        options: Options | None = None,
    ) -> None:
        self.settings = settings
        self.options = options or Options()
        self.clock = self.options.clock
        self.zone: tzinfo = self.options.zone or datetime.now(UTC).astimezone().tzinfo or UTC
        self.problems = ProblemLog()
        self.job_file = job_file
        self.submit_ready = submit_ready
        self.place_tabs = tuple(PlaceTab(name, key, _(title)) for name, key, title in PLACES)
        self.connect = connect
        self.is_polling = self.options.is_polling
        self.keeps_view = self.options.keeps_view
        self.view = view or View()
        self._is_painted = False
        self.ends_told: set[str] = set()
        self.going_on: dict[str, Job] = {}
        self._interrupted_at = -INTERRUPT_TWICE_S
        self._broken_view = broken_view
        start = first_place(start_place, self.view.place)
        # The first place's sheet is read along with the common one: a sheet that comes later is a second parse.
        super().__init__(css_path=[themes.STYLES / "app.tcss", themes.STYLES / f"{start}.tcss"])
        self.is_still, self.is_slow = self.options.is_still, self.options.is_slow
        if self.is_still or self.is_slow:
            self.animation_level = "none"
        self._last_place: str | None = None
        self._current_mode = start
        self._screen_stacks = {self._current_mode: []}
        for theme in themes.themes():
            self.register_theme(theme)
        self.theme = self.chosen_theme()
        self.show_profile()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.TOKENS

    def on_mount(self) -> None:
        self._install_keys()
        self.start_keeping()
        if not self.is_headless:
            watch_terminal(partial(self.call_from_thread, self.exit, 0))
        if self._broken_view is not None:
            self.tell_broken_view(self._broken_view)

    def on_resize(self, event: events.Resize) -> None:
        """Go by the size that the terminal has: where signals tell of it, one may overtake another and leave it stale.

        Terminals that tell their size in the stream of keys, which is what smooth scrolling needs, do so in order.
        """
        is_told_by_signal = not (self.is_headless or self.is_web or self.supports_smooth_scrolling)
        if is_told_by_signal and (size := Size(*get_terminal_size())) != event.size:
            self.post_message(events.Resize(size, size))

    def on_unmount(self) -> None:
        self.keep_last_view()

    def tell_painted(self) -> None:
        """The first frame of a place is on the screen: now there is time to import the SDK."""
        if not self._is_painted:
            self._is_painted = True
            gc.enable()
            self.set_timer(CONNECT_AFTER_S, self.connect_backend)
            self.measure_line()

    def _install_keys(self) -> None:
        mine = keymap.user_keys(self.settings.values)
        wrong = keymap.check_keymap(mine)
        for sentence in wrong:
            self.problems.add(
                Problem(
                    _("use your keys"),
                    sentence,
                    _("Correct [keys] in the config file; the defaults are in force."),
                )
            )
        if wrong:
            self.warn(_("Your keys have problems; the default keys are in force. Press ! to read them"))
        elif mine:
            self.set_keymap(mine)

    def prefer(self, key: str, value: object) -> None:
        """Keep a wish in the user's settings file and go by it from now on. Raises ConfigError."""
        from agentic_rl_tui.core.preferences import prefer

        path = prefer(key, value)
        values = changed(self.settings.values, key, value)
        origins = changed(self.settings.origins, key, None if value is None else str(path))
        self.settings = replace(self.settings, values=values, origins=origins)

    # Places

    def action_go(self, place: str) -> None:
        if place in self.MODES and place != self.current_mode:
            self._last_place = self.current_mode
            self.switch_mode(place)

    def action_last_place(self) -> None:
        if self._last_place is not None:
            self.action_go(self._last_place)

    def open_job(self, job_id: str, *, job: "Job | None" = None, tab: str = "overview") -> None:
        """Show one job on top of the jobs."""
        from agentic_rl_tui.app.screens.job import JobScreen

        self.action_go("jobs")
        self.push_screen(JobScreen(job_id, job=job, tab=tab))

    def open_dump(self, path: Path) -> None:
        """Show a file of rollouts on top of the workspace."""
        from agentic_rl_tui.app.screens.dump import DumpScreen

        self.action_go("workspace")
        self.push_screen(DumpScreen(path))

    def action_open_dump(self) -> None:
        from agentic_rl_tui.app.screens.dump import choose_dump

        choose_dump(self)

    def open_job_file(self, path: Path) -> None:
        """Go to the job file place with this file."""
        from agentic_rl_tui.app.screens.jobfile import JobFileScreen

        self.job_file = path
        self.action_go("jobfile")
        screen = self.screen
        if isinstance(screen, JobFileScreen) and screen.is_mounted and screen.path != path:
            screen.open(path)

    @property
    def jobs_cache(self) -> Path | None:
        """Where the jobs of the last time are kept; None when nothing is kept."""
        if not self.options.keeps_jobs:
            return None
        from agentic_rl_tui.app.cache import cache_path

        return cache_path(self.settings.profile.base_url)

    @cached_property
    def notes(self) -> "Notes":
        """Notes and pins of this profile."""
        from agentic_rl_tui.core.notes import Notes, SessionNotes

        if not self.options.keeps_notes:
            return SessionNotes()
        profile = self.settings.profile
        return Notes(f"{profile.base_url}|{profile.workspace_id or ''}")

    def after_profile(self) -> None:
        super().after_profile()
        self.__dict__.pop("notes", None)
        self.forget_watched()

    def mirror_of(self, job_id: str) -> Path | None:
        """Where the log of a job is kept on this machine; None when it is not."""
        if not self.options.keeps_logs:
            return None
        from agentic_rl_tui.app.mirror import mirror_path

        return mirror_path(self.settings.profile.base_url, job_id)

    # Actions of everywhere

    def action_help(self) -> None:
        from agentic_rl_tui.app.screens.help import Help, help_sections

        self.push_screen(Help(help_sections(self.screen)))

    def action_palette(self) -> None:
        from agentic_rl_tui.app.screens.base import PlaceScreen
        from agentic_rl_tui.app.screens.palette import Command, Palette, commands

        screen = self.screen
        if not isinstance(screen, PlaceScreen):
            return

        async def run(command: Command | None) -> None:
            if command is not None:
                await self.run_action(command.run, default_namespace=command.node)

        self.push_screen(Palette(commands(screen)), run)

    def action_problems(self) -> None:
        from agentic_rl_tui.app.screens.problems import Problems

        if not isinstance(self.screen, Problems):
            self.push_screen(Problems(self.problems.items))

    def action_theme(self) -> None:
        self.theme = themes.LIGHT if self.theme == themes.DARK else themes.DARK

    def action_redraw(self) -> None:
        self.screen.refresh(layout=True, repaint=True)

    def action_help_quit(self) -> None:
        """ctrl+c with nothing selected: the first one asks, a second one soon after leaves."""
        now = time.monotonic()
        if now - self._interrupted_at < INTERRUPT_TWICE_S:
            self.action_leave()
        else:
            self._interrupted_at = now
            self.say(_("Press ctrl+c again to leave; jobs go on"))

    def action_leave(self) -> None:
        self.keep_last_view()
        self.exit(0)
