"""The settings screen by keys."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.settings import SettingsScreen
from agentic_rl_tui.app.screens.settings_dialogs import AskValue, PressKey
from agentic_rl_tui.core.i18n import language, set_language
from agentic_rl_tui.core.settings import Profile, Secret
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import HeaderBar, Heading
from agentic_rl_tui.widgets.panels import Note

KEY = "sk-0123456789abcdef"


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    set_language("en")
    yield
    set_language("en")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


def lines(note: Note) -> str:
    return "\n".join("".join(text for text, _style in line) for line in note.lines)


async def opened(app: Any, pilot: Any, settle: Any, *keys: str) -> SettingsScreen:
    await settle(pilot)
    await pilot.press("tilde", *keys)
    await settle(pilot)
    screen = app.screen
    assert isinstance(screen, SettingsScreen)
    return screen


def go_to(screen: SettingsScreen, key: str) -> None:
    screen.table.cursor = [row.key for row in screen.table.items].index(key)


async def test_a_value_is_written_and_its_origin_shown(scenes: Any, settle: Any, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle)
        go_to(screen, "local.idle_s")
        await pilot.press("enter")
        await settle(pilot)
        dialog = app.screen
        assert isinstance(dialog, AskValue)
        await pilot.press("x", "enter")
        await settle(pilot)
        assert app.screen is dialog
        assert "'x' is no value of local.idle_s" in lines(dialog.query_one("#ask-problem", Note))
        await pilot.press("backspace", *"30", "enter")
        await settle(pilot)
        assert app.screen is screen
        assert file.read_text() == "# mine\n\n[local]\nidle_s = 30\n"
        assert screen.row is not None
        assert (screen.row.value, screen.row.origin) == ("30 s", str(file))
        await pilot.press("backspace")
        await settle(pilot)
        assert (screen.row.value, screen.row.origin) == ("300 s", "")
        assert tomllib.loads(file.read_text()) == {"local": {}}


async def test_a_broken_file_is_told_of_and_left_alone(scenes: Any, settle: Any, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("[local\n")
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle)
        go_to(screen, "tui.bell")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("down", "enter")
        await settle(pilot)
        assert file.read_text() == "[local\n"
        assert "is not valid TOML" in app.problems.items[-1].message
        assert app.settings.get("tui.bell", True) is True


async def test_what_the_environment_says_goes_on_winning(scenes: Any, settle: Any, file: Path) -> None:
    app = scenes.app(scenes.sample_backend())
    app.settings = replace(
        app.settings,
        values={**app.settings.values, "timeout_s": "9"},
        origins={"timeout_s": "environment HTTP_REQUEST_TIMEOUT"},
    )
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle)
        go_to(screen, "timeout_s")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press(*"90", "enter")
        await settle(pilot)
        assert tomllib.loads(file.read_text()) == {"timeout_s": 90}
        assert app.settings.get("timeout_s") == "9"
        assert screen.row is not None
        assert screen.row.origin == "environment HTTP_REQUEST_TIMEOUT"


async def test_colours_and_language_change_at_once(scenes: Any, settle: Any, file: Path) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle)
        go_to(screen, "tui.theme")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, Choose)
        await pilot.press("down", "enter")
        await settle(pilot)
        assert app.theme == themes.LIGHT
        go_to(screen, "language")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert language() == "zh_CN"
        assert tomllib.loads(file.read_text()) == {"tui": {"theme": "light"}, "language": "zh_CN"}
        fresh = app.screen
        assert isinstance(fresh, SettingsScreen)
        assert fresh is not screen
        titles = [place.title for place in fresh.query_one(HeaderBar).places]
        assert "Jobs" not in titles
        await pilot.press("escape", "1")
        await settle(pilot)
        assert app.current_mode == "workspace"


async def test_a_key_is_pressed_and_conflicts_are_shown(scenes: Any, settle: Any, file: Path) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle, "left_square_bracket")
        assert screen.tab == "keys"
        go_to(screen, "app.problems")
        await pilot.press("enter")
        await settle(pilot)
        dialog = app.screen
        assert isinstance(dialog, PressKey)
        await pilot.press("5")
        assert "5 is bound to both app.traces and app.problems" in lines(dialog.query_one("#dialog-text", Note))
        await pilot.press("enter")
        assert app.screen is dialog
        await pilot.press("percent_sign", "enter")
        await settle(pilot)
        assert app.screen is screen
        assert tomllib.loads(file.read_text()) == {"keys": {"app.problems": "%"}}
        assert screen.row is not None
        assert screen.row.is_set
        await pilot.press("percent_sign")
        await settle(pilot)
        assert type(app.screen).__name__ == "Problems"
        await pilot.press("escape")
        await pilot.press("backspace")
        await settle(pilot)
        assert not screen.row.is_set


async def test_profiles_show_masked_keys_and_answer_when_asked(
    scenes: Any, settle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    app = scenes.app(scenes.sample_backend())
    profiles = {
        **app.settings.profiles,
        "dashscope": Profile("dashscope", "https://dashscope.aliyuncs.com/api/v1", "built in"),
        "mine": Profile("mine", "https://a.example", "f", api_key_env="MINE", stored_key=Secret("sk-mine-456789", "f")),
        "bare": Profile("bare", "https://b.example", "f", api_key_env="NONE"),
    }
    app.settings = replace(app.settings, profiles=profiles)
    async with app.run_test(size=(160, 40)) as pilot:
        screen = await opened(app, pilot, settle, "right_square_bracket")
        values = {row.key: row.value for row in screen.table.items}
        assert values["local"] == "needs none"
        assert values["dashscope"] == "••••cdef  from environment DASHSCOPE_API_KEY"
        assert values["mine"].startswith("••••6789")
        assert "no key that can be used" in values["bare"]
        await pilot.press("c")
        await settle(pilot)
        assert "ready" in screen.checked["local"]
        go_to(screen, "bare")
        await pilot.press("c")
        await settle(pilot)
        assert "needs an API key" in screen.checked["bare"]


async def test_a_new_profile_with_its_key(scenes: Any, settle: Any, file: Path) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle, "right_square_bracket")
        await pilot.press("n", *"local", "enter")
        await settle(pilot)
        assert isinstance(app.screen, AskValue)
        await pilot.press(*["backspace"] * 5, *"mine", "enter")
        await settle(pilot)
        await pilot.press(*"https://a.example/api", "enter")
        await settle(pilot)
        assert app.screen is screen
        go_to(screen, "mine")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press(*"itself", "enter")
        await settle(pilot)
        await pilot.press(*KEY, "enter")
        await settle(pilot)
        assert tomllib.loads(file.read_text())["profiles"]["mine"] == {
            "base_url": "https://a.example/api",
            "api_key": KEY,
        }
        assert file.stat().st_mode & 0o077 == 0
        assert {row.key: row.value for row in screen.table.items}["mine"].startswith("••••cdef")
        assert KEY not in app.export_screenshot()


async def test_a_profile_is_deleted_from_the_file_after_a_yes(scenes: Any, settle: Any, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('# mine\n[profiles.old]\nbase_url = "https://o.example"\n\n[tui]\nbell = true\n')
    app = scenes.app(scenes.sample_backend())
    old = Profile("old", "https://o.example", str(file), stored_key=Secret(KEY, "f"))
    far = Profile("far", "https://far.example", "/elsewhere/agentic-rl.toml")
    app.settings = replace(app.settings, profiles={**app.settings.profiles, "old": old, "far": far})
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle, "right_square_bracket")
        for name, words in (("local", "in use"), ("far", "/elsewhere/agentic-rl.toml")):
            go_to(screen, name)
            assert words in (screen.why_not("settings.delete") or "")
        go_to(screen, "old")
        await pilot.press("D")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert "profiles.old" in file.read_text()
        await pilot.press("D", "y")
        await settle(pilot)
        assert file.read_text() == "# mine\n[tui]\nbell = true\n"
        assert "old" not in {row.key for row in screen.table.items}
        assert app.screen is screen
        assert screen.table.has_focus


async def test_words_narrow_the_list(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, settle)
        await pilot.press("slash", *"bell", "enter")
        await settle(pilot)
        assert [row.key for row in screen.table.items] == ["tui.bell"]
        assert [chip.text for chip in screen.query_one(Heading).chips] == ["/ bell"]
        await pilot.press("escape")
        await settle(pilot)
        assert len(screen.table.items) > 20
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is not screen


async def test_read_only_changes_nothing(scenes: Any, settle: Any, file: Path) -> None:
    app = scenes.app(scenes.sample_backend(), is_read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot, settle)
        await pilot.press("enter", "backspace")
        await settle(pilot)
        assert app.screen is screen
        assert not file.exists()
