"""The profiles of the settings screen: made, changed, checked, used, deleted."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from agentic_rl_tui.app.present.settings import Row
from agentic_rl_tui.app.present.states import health_look
from agentic_rl_tui.app.screens.base import PlaceScreen
from agentic_rl_tui.app.screens.settings_dialogs import AskValue
from agentic_rl_tui.app.surfaces import state_of
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.known import PROFILE_FIELDS, Known, parse, shown, wanted
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.core.sources import user_file
from agentic_rl_tui.widgets.cells import Span

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.choose import Choice


class SettingsProfiles(PlaceScreen):
    """Subclasses show the list, and know the row under the cursor."""

    @dataclass
    class Checked(Message):
        """What the check of a profile's connection found."""

        name: str
        state: str
        detail: str

    def __init__(self) -> None:
        super().__init__()
        self.checked: dict[str, str] = {}

    @property
    @abstractmethod
    def row(self) -> Row | None:
        """The row under the cursor."""

    @abstractmethod
    def show(self) -> None:
        """Read the settings again into the list that is seen."""

    def may_write(self) -> bool:
        if self.arl.options.is_read_only:
            self.arl.refuse(_("Started with --read-only: nothing can be changed from here"))
        return not self.arl.options.is_read_only

    def change_profile(self, name: str) -> None:
        from agentic_rl_tui.app.screens.choose import Choice, Choose

        items = [Choice("use", _("Work with this profile")), Choice("check", _("Check the connection"))]
        if name != "local":
            items += [Choice(field.key, _(field.meaning)) for field in PROFILE_FIELDS.values()]
        if self.why_it_stays() is None:
            items.append(Choice("delete", _("Delete this profile")))

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is None:
                return
            if choice.value == "use":
                self.action_use()
            elif choice.value == "check":
                self.action_check()
            elif choice.value == "delete":
                self.action_delete()
            else:
                self._ask_field(name, PROFILE_FIELDS[choice.value])

        self.app.push_screen(Choose(_("Profile {name}").format(name=name), items), chosen)

    def _ask_field(self, name: str, field: Known) -> None:
        profile = self.arl.settings.profiles.get(name)
        is_secret = field.key == "api_key"
        now = "" if profile is None or is_secret else shown(getattr(profile, field.key, None))
        lines = (((_(field.meaning), "$ink"),), ((wanted(field), "$muted"),))

        def given(text: str | None) -> None:
            if text is not None:
                self._keep_field(name, field, text)

        title = _("{field} of profile {name}").format(field=field.key, name=name)
        self.app.push_screen(AskValue(title, lines, now, lambda text: parse(field, text), is_secret=is_secret), given)

    def _keep_field(self, name: str, field: Known, text: str) -> None:
        from agentic_rl_tui.core.models.redact import redact
        from agentic_rl_tui.core.preferences import prefer
        from agentic_rl_tui.core.settings import load

        settings = self.arl.settings
        if field.key == "api_key":
            redact.add(text.strip())
        try:
            prefer(f"profiles.{name}.{field.key}", parse(field, text))
            fresh = load(workspace=settings.workspace, profile="local").profiles[name]
        except ConfigError as error:
            self.arl.fail(error, _("keep profile {name}").format(name=name))
            return
        self.arl.settings = replace(settings, profiles={**settings.profiles, name: fresh})
        self.checked.pop(name, None)
        self.show()

    def action_new(self) -> None:
        if not self.may("settings.new") or not self.may_write():
            return
        names = self.arl.settings.profiles

        def check(text: str) -> None:
            if not text.strip().replace("-", "").replace("_", "").isalnum() or text.strip() in names:
                raise ConfigError(
                    _("{name!r} cannot be the name of a new profile").format(name=text),
                    advice=_("Use letters, digits, - and _, and none of {names}.").format(names=", ".join(names)),
                )

        def named(text: str | None) -> None:
            if text is not None:
                self._ask_field(text.strip(), PROFILE_FIELDS["base_url"])

        lines = (((_("what you will call it, for example with --profile"), "$ink"),),)
        self.app.push_screen(AskValue(_("Name of the new profile"), lines, "", check), named)

    def why_it_stays(self) -> str | None:
        """Why the profile under the cursor cannot be deleted; None when it can."""
        row, settings = self.row, self.arl.settings
        profile = settings.profiles.get(row.key) if row is not None else None
        if profile is None:
            return _("There is nothing here")
        if profile.name == settings.profile_name:
            return _("It is in use; work with another profile first")
        if profile.origin != user_file():
            return _("It is not in your file, but comes from: {origin}").format(origin=_(profile.origin))
        return None

    def action_delete(self) -> None:
        row = self.row
        if row is None or not self.may("settings.delete"):
            return
        from agentic_rl_tui.app.screens.confirm import Confirm

        profile = self.arl.settings.profiles[row.key]
        lines: list[tuple[Span, ...]] = [((plain(profile.base_url, keep_newlines=False), "$ink"),)]
        if profile.stored_key is not None:
            lines.append(((_("The key that is kept with it goes, too."), "$muted"),))

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._forget_profile(profile.name)

        question = _("Delete profile {name}?").format(name=row.name)
        self.app.push_screen(Confirm(question, tuple(lines), yes=_("Delete"), no=_("Keep")), answered)

    def _forget_profile(self, name: str) -> None:
        """Take a profile out of the user's file; one of the same name that the file stood before comes to light."""
        from agentic_rl_tui.core.preferences import prefer
        from agentic_rl_tui.core.settings import load

        settings = self.arl.settings
        try:
            prefer(f"profiles.{name}", None)
            fresh = load(workspace=settings.workspace, profile="local").profiles
        except ConfigError as error:
            self.arl.fail(error, _("delete profile {name}").format(name=name))
            return
        kept = {known: profile for known, profile in settings.profiles.items() if known != name}
        if name in fresh:
            kept[name] = fresh[name]
        self.arl.settings = replace(settings, profiles=kept)
        self.checked.pop(name, None)
        self.show()

    def action_use(self) -> None:
        row = self.row
        if row is not None and self.may("settings.use"):
            if row.key == self.arl.settings.profile_name:
                self.arl.say(_("Profile {name} is in use").format(name=row.key))
            else:
                self.arl.say(_("Connecting to {name} …").format(name=row.key))
                self.arl.switch_profile(row.key)

    def action_check(self) -> None:
        row = self.row
        if row is not None and self.may("settings.check"):
            self.checked[row.key] = _("asking …")
            self.show()
            self._check(row.key)

    @work(group="settings.check", exit_on_error=False)
    async def _check(self, name: str) -> None:
        """Ask the service of a profile how it is, with a connection of its own."""
        import asyncio

        settings = replace(self.arl.settings, profile_name=name)
        try:
            settings.api_key()
            backend = await asyncio.to_thread(self.arl.connect, settings)
            try:
                health = await backend.health()
            finally:
                if backend is not self.arl.backend:
                    await backend.close()
            self.post_message(self.Checked(name, health.state, health.detail))
        except ArlError as error:
            self.post_message(self.Checked(name, state_of(error), error.message))

    @on(Checked)
    def _was_checked(self, event: Checked) -> None:
        look = health_look(event.state)
        self.checked[event.name] = f"{look.glyph} {look.word}" + (f": {event.detail}" if event.detail else "")
        self.show()
