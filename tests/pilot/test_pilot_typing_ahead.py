"""Keys that come in one burst mean what they would have meant one by one."""

from typing import Any

from textual import events

from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.prompt import Prompt


def burst(app: Any, *keys: str) -> None:
    for key in keys:
        app.post_message(events.Key(key, {"slash": "/", "enter": "\r", "escape": "\x1b"}.get(key, key)))


async def test_what_follows_a_slash_is_text_and_no_command(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        burst(app, "slash", *"xDyq7", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        assert app.screen.filter_text == "xDyq7"
        assert backend.calls == []
        burst(app, "escape", "j", "l", "slash", *"WARN", "enter")
        for _ in range(3):
            await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        assert not app.screen.query_one(Prompt).is_open


async def test_a_search_in_a_log_takes_what_is_typed_at_once(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        burst(app, "slash", *"xexit", "enter")
        await settle(pilot)
        view = app.screen.query_one("#log-view")
        assert view.pattern is not None
        assert view.pattern.pattern == "xexit"


async def test_a_key_that_takes_long_holds_no_other_up_for_ever(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j")
        app._is_key_under_way = True  # and nothing comes back
        burst(app, "j", "j")
        await pilot.pause()
        assert app.screen.table.cursor == 1
        app._give_up(app._key_number)
        await settle(pilot)
        assert app.screen.table.cursor == 3
