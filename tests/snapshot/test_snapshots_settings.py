"""How the settings look."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from agentic_rl_tui.core.settings import Profile, Secret

SIZES = [
    pytest.param((80, 24), id="80x24"),
    pytest.param((120, 40), id="120x40"),
    pytest.param((200, 60), id="200x60"),
]
FILE = "/home/user/.config/agentic-rl-tui/config.toml"


@pytest.fixture
def look(
    scenes: Any, snap_compare: Callable[..., bool], settle: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., bool]:
    def compare(size: tuple[int, int], *keys: str) -> bool:
        monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-0123456789abcdef")
        app = scenes.app(scenes.sample_backend())
        dashscope = Profile("dashscope", "https://dashscope.aliyuncs.com/api/v1", "built in")
        lab = Profile("lab", "https://lab.example.com/api/v1", FILE, stored_key=Secret("sk-lab-0123456789", "f"))
        app.settings = replace(
            app.settings,
            values={**app.settings.values, "local.max_running_jobs": 2, "keys.jobs.cancel": "X"},
            origins={"tui.theme": FILE, "local.max_running_jobs": FILE, "keys.jobs.cancel": FILE},
            profiles={
                "local": replace(app.settings.profile, socket=Path("/home/user/platform.sock")),
                "dashscope": dashscope,
                "lab": replace(lab, api_key_env="LAB_KEY"),
                "bare": Profile("bare", "https://bare.example.com", FILE, api_key_env="BARE_KEY"),
            },
        )

        async def prepare(pilot: Pilot[Any]) -> None:
            await settle(pilot)
            for key in ("tilde", *keys):
                await pilot.press(key)
                await settle(pilot)

        return snap_compare(app, terminal_size=size, run_before=prepare)

    return compare


@pytest.mark.parametrize("size", SIZES)
def test_settings(look: Any, size: tuple[int, int]) -> None:
    assert look(size, "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_profiles(look: Any, size: tuple[int, int]) -> None:
    assert look(size, "right_square_bracket", "c", "j")


@pytest.mark.parametrize("size", SIZES)
def test_keys(look: Any, size: tuple[int, int]) -> None:
    assert look(size, "left_square_bracket", "slash", *"jobs", "enter")


@pytest.mark.parametrize("size", SIZES[:2])
def test_a_value_that_is_wrong(look: Any, size: tuple[int, int]) -> None:
    assert look(size, "slash", *"idle", "enter", "enter", *"soon", "enter")


@pytest.mark.parametrize("size", SIZES[:2])
def test_a_key_that_is_taken(look: Any, size: tuple[int, int]) -> None:
    assert look(size, "left_square_bracket", "enter", "5")
