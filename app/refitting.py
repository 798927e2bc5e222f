"""Going by changed settings while the program runs: language, colours, keys."""

from typing import TYPE_CHECKING

from textual.screen import Screen

from agentic_rl_tui.app import keymap
from agentic_rl_tui.app.places import PLACES
from agentic_rl_tui.app.remaking import remade
from agentic_rl_tui.app.watching import Watching
from agentic_rl_tui.core.i18n import SETTING, _, language, set_language
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import PlaceTab

if TYPE_CHECKING:
    from agentic_rl_tui.core.settings import Settings


class Refitting(Watching):
    """In: `take_up` with the key of a setting that has changed."""

    settings: "Settings"
    place_tabs: tuple[PlaceTab, ...] = ()

    def action_settings(self) -> None:
        from agentic_rl_tui.app.screens.base import PlaceScreen
        from agentic_rl_tui.app.screens.settings import SettingsScreen

        if isinstance(self.screen, PlaceScreen) and not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    def take_up(self, key: str) -> None:
        """Go by the new value of a setting at once where that can be done."""
        if key == SETTING:
            self.speak()
        elif key == "tui.theme":
            self.theme = self.chosen_theme()
        elif key.startswith("keys."):
            mine = keymap.user_keys(self.settings.values)
            if not keymap.check_keymap(mine):
                self.set_keymap(mine)

    def chosen_theme(self) -> str:
        """The user's theme; else the terminal's own colours where it has only sixteen, else the dark one."""
        wish = str(self.settings.get("tui.theme", ""))
        for name in (wish, f"arl-{wish}"):
            if name in self.available_themes:
                return name
        return themes.ANSI if self.console.color_system == "standard" else themes.DARK

    def speak(self) -> None:
        before = language()
        wanted = self.settings.get(SETTING)
        if set_language(None if wanted is None else str(wanted)) != before:
            self.place_tabs = tuple(PlaceTab(name, key, _(title)) for name, key, title in PLACES)
            self.call_later(self._show_again)

    async def _show_again(self) -> None:
        """Make every place anew, in the new language. Text that is not saved keeps its screen as it is."""
        had_settings = len(self.screen_stack) > 1
        kept = [name for name, stack in self._screen_stacks.items() if any(map(_is_changed, stack))]
        if self.current_mode in kept:
            self.warn(_("Save the text that is being edited; its screen changes its words when it is opened again"))
            return
        async with remade(self, [name for name in self._screen_stacks if name not in kept]):
            pass
        self.check_health()
        if had_settings:
            self.action_settings()


def _is_changed(screen: "Screen[object]") -> bool:
    from agentic_rl_tui.app.screens.base import PlaceScreen

    return isinstance(screen, PlaceScreen) and screen.is_changed
