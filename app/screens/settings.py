"""Settings, profiles and keys: what counts, where it comes from, and changing it in the user's own file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import reactive

from agentic_rl_tui.app.keymap import bindings, by_id, user_keys
from agentic_rl_tui.app.present.settings import (
    Row,
    action_title,
    detail,
    key_columns,
    key_rows,
    matching,
    new_problems,
    profile_columns,
    profile_rows,
    setting_columns,
    setting_rows,
)
from agentic_rl_tui.app.present.states import health_look
from agentic_rl_tui.app.screens.base import Layer, PlaceScreen
from agentic_rl_tui.app.screens.settings_dialogs import AskValue, PressKey
from agentic_rl_tui.app.surfaces import state_of
from agentic_rl_tui.core.i18n import N_, SETTING, _
from agentic_rl_tui.core.known import CHOICE, PROFILE_FIELDS, SWITCH, Known, known, parse, shown, wanted
from agentic_rl_tui.core.models.errors import ArlError, ConfigError
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading, Tab, TabBar
from agentic_rl_tui.widgets.columns import Column
from agentic_rl_tui.widgets.panels import Note
from agentic_rl_tui.widgets.prompt import Prompt
from agentic_rl_tui.widgets.table import Table

if TYPE_CHECKING:
    from agentic_rl_tui.app.screens.choose import Choice

TABS = (Tab("settings", N_("Settings")), Tab("profiles", N_("Profiles")), Tab("keys", N_("Keys")))
_COLUMNS: dict[str, Callable[[], tuple[Column[Row], ...]]] = {
    "settings": setting_columns,
    "profiles": profile_columns,
    "keys": key_columns,
}
_FIXED = ("environment", "flag")


class SettingsScreen(PlaceScreen):
    place = ""
    CSS_PATH = themes.STYLES / "settings.tcss"
    BINDINGS = bindings("settings")

    tab: reactive[str] = reactive("settings", init=False)

    @dataclass
    class Checked(Message):
        """What the check of a profile's connection found."""

        name: str
        state: str
        detail: str

    def __init__(self, tab: str = "settings") -> None:
        super().__init__()
        self.set_reactive(SettingsScreen.tab, tab)
        self.words = ""
        self.checked: dict[str, str] = {}

    def body(self) -> ComposeResult:
        yield Heading(id="settings-heading", classes="place-heading")
        yield TabBar(id="settings-tabs")
        for tab in TABS:
            yield Table(_COLUMNS[tab.name](), lambda row: row.key, id=f"{tab.name}-table")
        yield Note(id="settings-detail")

    def on_mount(self) -> None:
        self.query_one(Heading).title = _("Settings")
        self.query_one(TabBar).tabs = tuple(Tab(tab.name, _(tab.title)) for tab in TABS)
        self.watch_tab()

    @property
    def table(self) -> "Table[Row]":
        return self.query_one(f"#{self.tab}-table", Table)

    @property
    def row(self) -> Row | None:
        return self.table.current

    def watch_tab(self) -> None:
        self.query_one(TabBar).active = self.tab
        for tab in TABS:
            self.query_one(f"#{tab.name}-table").display = tab.name == self.tab
        self.show()
        self.table.focus()

    def show(self) -> None:
        """Read the settings again into the list that is seen."""
        settings = self.arl.settings
        rows = {
            "settings": lambda: setting_rows(settings),
            "profiles": lambda: profile_rows(settings, self.checked),
            "keys": lambda: key_rows(settings),
        }[self.tab]()
        self.table.items = matching(rows, self.words)
        heading = self.query_one(Heading)
        heading.chips = (Chip(f"/ {self.words}"),) if self.words else ()
        self._describe()

    @on(Table.Highlighted)
    def _describe(self) -> None:
        row = self.row
        self.query_one("#settings-detail", Note).lines = () if row is None else detail(row, self.tab)
        self.refresh_hints()

    def undo_layers(self) -> Iterator[Layer]:
        if self.words:
            yield Layer(_("show all"), self._widen)

    def _widen(self) -> None:
        self.words = ""
        self.show()

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("settings.use", "settings.check", "settings.new") and self.tab != "profiles":
            return _("Go to the profiles first")
        if action_id == "settings.reset" and self.tab == "profiles":
            return _("Profiles have no default")
        if action_id in ("settings.reset", "table.open") and self.row is None:
            return _("There is nothing here")
        return None

    # Tabs and narrowing

    @on(TabBar.Chosen)
    def _tab_chosen(self, event: TabBar.Chosen) -> None:
        self.tab = event.tab

    def action_next_tab(self, by: int = 1) -> None:
        names = [tab.name for tab in TABS]
        self.tab = names[(names.index(self.tab) + by) % len(names)]

    async def action_filter(self) -> None:
        await self.prompt.ask("filter", "/", text=self.words, hint=_("words of names, values and meanings"))

    @on(Prompt.Given)
    def _given(self, event: Prompt.Given) -> None:
        self.words = event.text.strip()
        self.show()

    # Changing

    @on(Table.Opened)
    def action_change(self) -> None:
        row = self.row
        if row is None or not self._may_write():
            return
        if self.tab == "settings":
            self._change_setting(known(row.key))
        elif self.tab == "keys":
            self._change_key(row.key)
        else:
            self._change_profile(row.key)

    def _may_write(self) -> bool:
        if self.arl.options.is_read_only:
            self.arl.refuse(_("Started with --read-only: nothing can be changed from here"))
        return not self.arl.options.is_read_only

    def action_reset(self) -> None:
        row = self.row
        if row is not None and self.may("settings.reset") and self._may_write():
            self._keep(row.key if self.tab == "settings" else f"keys.{row.key}", None)

    def _change_setting(self, setting: Known) -> None:
        value = self.arl.settings.get(setting.key, setting.default)
        if setting.kind in (CHOICE, SWITCH):
            self._choose(setting, ("true", "false") if setting.kind == SWITCH else setting.choices, shown(value))
            return
        lines = (((_(setting.meaning), "$ink"),), ((wanted(setting), "$muted"),))

        def given(text: str | None) -> None:
            if text is not None:
                self._keep(setting.key, parse(setting, text))

        self.app.push_screen(AskValue(setting.key, lines, shown(value), lambda text: parse(setting, text)), given)

    def _choose(self, setting: Known, choices: tuple[str, ...], now: str) -> None:
        from agentic_rl_tui.app.screens.choose import Choice, Choose
        from agentic_rl_tui.core.i18n import LANGUAGES

        named = LANGUAGES if setting.key == SETTING else {}
        items = [Choice(value, named.get(value, value), note=_("now") if value == now else "") for value in choices]

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is not None and choice.value != now:
                self._keep(setting.key, parse(setting, choice.value))

        start = choices.index(now) if now in choices else 0
        self.app.push_screen(Choose(_(setting.meaning), items, start=start), chosen)

    def _change_key(self, action_id: str) -> None:
        action = by_id(action_id)
        settings = self.arl.settings
        now = user_keys(settings.values).get(action_id, action.keys if action is not None else "")

        def pressed(key: str | None) -> None:
            if key is not None:
                self._keep(f"keys.{action_id}", key)

        wrong = lambda keys: new_problems(settings, action_id, keys)  # noqa: E731 - a name would say no more
        self.app.push_screen(PressKey(action_title(action_id), now, wrong), pressed)

    def _keep(self, key: str, value: object) -> None:
        """Write one value and go by it; what the environment or an option says goes on winning."""
        origin = self.arl.settings.origins.get(key, "")
        try:
            if origin.split(" ")[0] in _FIXED:
                from agentic_rl_tui.core.preferences import prefer

                prefer(key, value)
                self.arl.warn(_("Kept, but {origin} wins").format(origin=origin))
            else:
                self.arl.prefer(key, value)
        except ConfigError as error:
            self.arl.fail(error, _("keep {key}").format(key=key))
            return
        self.arl.take_up(key)
        if self.is_mounted:
            self.show()

    # Profiles

    def _change_profile(self, name: str) -> None:
        from agentic_rl_tui.app.screens.choose import Choice, Choose

        items = [Choice("use", _("Work with this profile")), Choice("check", _("Check the connection"))]
        if name != "local":
            items += [Choice(field.key, _(field.meaning)) for field in PROFILE_FIELDS.values()]

        def chosen(choice: "Choice[str] | None") -> None:
            if choice is None:
                return
            if choice.value == "use":
                self.action_use()
            elif choice.value == "check":
                self.action_check()
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
        if not self.may("settings.new") or not self._may_write():
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
