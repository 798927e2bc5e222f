"""The way to the service: connecting, its health, and going to another profile while the program runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer

from agentic_rl_tui.app.present.states import health_look
from agentic_rl_tui.app.remaking import remade
from agentic_rl_tui.app.surfaces import state_of
from agentic_rl_tui.app.telling import Telling
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, ConfigError, NoKey, Unreachable
from agentic_rl_tui.widgets.bars import Health

if TYPE_CHECKING:
    from agentic_rl_tui.app.backend import Backend
    from agentic_rl_tui.core.settings import Profile, Settings

HEALTH_LOCAL_S = 5.0
HEALTH_REMOTE_S = 60.0
UNUSABLE = ("unreachable", "unauthorized", "failing", "no_key")
OF_A_PROFILE = ("jobs", "functions", "traces")
"""The places that show what a profile holds; the others show files and stay as they are."""


class Connecting(Telling):
    """Owns the backend. `settings` says which profile counts."""

    backend: reactive["Backend | None"] = reactive(None)
    workspace_shown: reactive[str] = reactive("")
    profile_shown: reactive[str] = reactive("")
    health_shown: reactive[Health] = reactive(Health())

    connect: "Callable[[Settings], Backend]"
    is_polling: bool = True
    _health_timer: Timer | None = None
    _rest_until: float = 0.0
    """Before this the service has asked to be left alone."""
    MODES: ClassVar[dict[str, Any]] = {}

    @dataclass
    class Connected(Message):
        backend: "Backend"

    @dataclass
    class ConnectFailed(Message):
        error: ArlError

    @dataclass
    class HealthKnown(Message):
        state: str

    @dataclass
    class ProfileReady(Message):
        """Another profile answers and can take the place of the one in use."""

        settings: "Settings"
        backend: "Backend"
        state: str

    @dataclass
    class ProfileRefused(Message):
        name: str
        error: ArlError

    def show_profile(self) -> None:
        """Before the first frame: nobody watches yet."""
        self.set_reactive(Connecting.workspace_shown, home_path(self.settings.workspace))
        self.set_reactive(Connecting.profile_shown, _label(self.settings))

    @work(thread=True, exclusive=True, group="app.connect", exit_on_error=False)
    def connect_backend(self) -> None:
        try:
            backend = self.connect(self.settings)
        except ArlError as error:
            self.post_message(self.ConnectFailed(error))
        else:
            self.post_message(self.Connected(backend))

    @on(Connected)
    def _connected(self, event: Connected) -> None:
        self._take(event.backend)
        self.check_health()

    def _take(self, backend: "Backend") -> None:
        before, self.backend = self.backend, backend
        if before is not None and before is not backend:
            self._close(before)
        if self._health_timer is not None:
            self._health_timer.stop()
        if self.is_polling:
            every = HEALTH_LOCAL_S if self.settings.profile.is_local else HEALTH_REMOTE_S
            self._health_timer = self.set_interval(every, self.check_health)

    @work(group="app.close", exit_on_error=False)
    async def _close(self, backend: "Backend") -> None:
        await backend.close()

    @work(exclusive=True, group="app.health", exit_on_error=False)
    async def check_health(self) -> None:
        """Ask how the service is; a terminal that nobody looks at asks nothing."""
        if self.backend is not None and self.app_focus and self.clock() >= self._rest_until:
            try:
                state = (await self.backend.health()).state
            except ArlError as error:
                state = state_of(error)
                self._rest_until = self.clock() + (error.retry_after_s or 0.0)
            self.post_message(self.HealthKnown(state))

    @on(HealthKnown)
    def _health_known(self, event: HealthKnown) -> None:
        self.set_health(event.state)

    @on(ConnectFailed)
    def _connect_failed(self, event: ConnectFailed) -> None:
        self.set_health("no_key" if isinstance(event.error, NoKey) else "failing")
        self.fail(event.error, _("use profile {name}").format(name=self.settings.profile_name))

    def set_health(self, state: str) -> None:
        look = health_look(state)
        self.health_shown = Health(look.glyph, look.word, look.style)

    # Another profile

    def action_profile(self) -> None:
        from agentic_rl_tui.app.screens.choose import Choice, Choose

        known = self.settings.profiles
        items = [
            Choice(
                name,
                name,
                _("on this machine") if profile.is_local else profile.base_url,
                _("in use") if name == self.settings.profile_name else "",
            )
            for name, profile in sorted(known.items(), key=_local_first)
        ]

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is not None and choice.value != self.settings.profile_name:
                self.say(_("Connecting to {name} …").format(name=choice.value))
                self.switch_profile(choice.value)

        self.push_screen(Choose(_("Work with which profile?"), items), chosen)

    @work(exclusive=True, group="app.profile", exit_on_error=False)
    async def switch_profile(self, name: str) -> None:
        """Connect to another profile; the one in use goes on until the other one has answered."""
        import asyncio

        settings = replace(self.settings, profile_name=name)
        backend = None
        try:
            settings.api_key()
            backend = await asyncio.to_thread(self.connect, settings)
            health = await backend.health()
            if health.state in UNUSABLE:
                raise _unusable(settings.profile, health.state, health.detail)
        except ArlError as error:
            if backend is not None:
                await backend.close()
            self.post_message(self.ProfileRefused(name, error))
        else:
            self.post_message(self.ProfileReady(settings, backend, health.state))

    @on(ProfileRefused)
    def _profile_refused(self, event: ProfileRefused) -> None:
        self.fail(event.error, _("switch to profile {name}").format(name=event.name))

    @on(ProfileReady)
    async def _profile_ready(self, event: ProfileReady) -> None:
        """Leave nothing of the former profile on any screen, then show the new one."""
        self.before_profile()
        self.workers.cancel_group(self, "app.health")
        before, self.backend = self.backend, None
        if before is not None:
            await before.close()
        self.settings = event.settings
        self.after_profile()
        async with remade(self, OF_A_PROFILE):
            self.profile_shown = _label(self.settings)
            self.set_health(event.state)
            self._take(event.backend)
        self.say(_("Profile {name} is in use").format(name=self.settings.profile_name))

    def before_profile(self) -> None:
        """What is to be kept of the profile in use."""

    def after_profile(self) -> None:
        """What belongs to a profile and is to begin anew."""


def _unusable(profile: "Profile", state: str, detail: str) -> ArlError:
    where = profile.base_url
    if state == "unreachable":
        return Unreachable(detail or _("{where} does not answer").format(where=where))
    return ConfigError(
        detail or _("{where} cannot be used").format(where=where),
        advice=_("The profile that was in use stays in use."),
    )


def _local_first(item: tuple[str, "Profile"]) -> tuple[bool, str]:
    return not item[1].is_local, item[0]


def _label(settings: "Settings") -> str:
    profile = settings.profile
    if profile.is_local:
        return profile.name
    try:
        secret = settings.api_key()
    except NoKey:
        return _("{profile} no key").format(profile=profile.name)
    except ArlError:
        return _("{profile} bad key").format(profile=profile.name)
    if secret is None:
        return profile.name
    origin = secret.origin.split()[0]
    return _("{profile} {key} from {origin}").format(profile=profile.name, key=secret, origin=origin)


def home_path(path: Path) -> str:
    """A path as people write it: from ``~`` where it lies in the home folder."""
    try:
        return f"~/{path.relative_to(Path.home())}" if path != Path.home() else "~"
    except ValueError:
        return str(path)


def changed(values: Mapping[str, Any], key: str, value: object) -> dict[str, Any]:
    """Flat settings with one of them set, or gone for None."""
    kept = {name: known for name, known in values.items() if name != key}
    return kept if value is None else {**kept, key: value}
