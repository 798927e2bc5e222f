"""Settings, profiles and keys: what counts, where it comes from, and changing it in the user's own file."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
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
from agentic_rl_tui.app.screens.base import Layer
from agentic_rl_tui.app.screens.settings_dialogs import AskValue, PressKey
from agentic_rl_tui.app.screens.settings_profiles import SettingsProfiles
from agentic_rl_tui.core.i18n import N_, SETTING, _
from agentic_rl_tui.core.known import CHOICE, SWITCH, Known, known, parse, shown, wanted
from agentic_rl_tui.core.models.errors import ConfigError
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


class SettingsScreen(SettingsProfiles):
    place = ""
    CSS_PATH = themes.STYLES / "settings.tcss"
    BINDINGS = bindings("settings")

    tab: reactive[str] = reactive("settings", init=False)

    def __init__(self, tab: str = "settings") -> None:
        super().__init__()
        self.set_reactive(SettingsScreen.tab, tab)
        self.words = ""

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
        if (
            action_id in ("settings.use", "settings.check", "settings.new", "settings.delete")
            and self.tab != "profiles"
        ):
            return _("Go to the profiles first")
        if action_id == "settings.reset" and self.tab == "profiles":
            return _("Profiles have no default")
        if action_id == "settings.delete":
            return self.why_it_stays()
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
        if row is None or not self.may_write():
            return
        if self.tab == "settings":
            self._change_setting(known(row.key))
        elif self.tab == "keys":
            self._change_key(row.key)
        else:
            self.change_profile(row.key)

    def action_reset(self) -> None:
        row = self.row
        if row is not None and self.may("settings.reset") and self.may_write():
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
