"""The log of a job, by keys: followed, kept, searched."""

import asyncio
from typing import Any

from streaming import Streaming, log_view

from agentic_rl_tui.app.backend import LogChunk, LogNote
from agentic_rl_tui.app.poll import eased_s
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.bars import TabBar


async def test_the_log_follows_until_scrolled_up_and_g_resumes(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        view = log_view(app)

        async def send(first: int, count: int) -> None:
            lines = tuple(f"line {number}" for number in range(first, first + count))
            await stream.queue.put(LogChunk(first, lines, first + count))
            await settle(pilot)

        await send(0, 100)
        assert view.last_seen == 100
        await pilot.press("k")
        top = view.top
        await send(100, 50)
        assert not view.is_following
        assert view.top == top
        await pilot.press("G")
        await send(150, 50)
        assert view.is_following
        assert view.last_seen == 200


async def test_a_repeat_after_a_reconnect_is_shown_once_and_the_trouble_is_told(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("a", "b", "c"), 3))
        await stream.queue.put(LogNote("reconnecting in 2 s", is_trouble=True))
        await settle(pilot)
        assert any("reconnecting" in text for text, _ in app.screen.query_one(TabBar).note)
        await stream.queue.put(LogChunk(1, ("b", "c", "d"), 4))
        await settle(pilot)
        assert list(app.screen.feed.source.lines(0, 9)) == ["a", "b", "c", "d"]
        assert not any("reconnecting" in text for text, _ in app.screen.query_one(TabBar).note)
        await stream.queue.put(None)
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert stream.offsets == [0, 4]


async def test_search_finds_goes_round_and_escape_clears_it_before_leaving(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        view = log_view(app)
        await pilot.press("g", "slash", *"WARNING", "enter")
        await settle(pilot)
        lines = app.screen.feed.source.lines(0, 10_000)
        wanted = [number for number, line in enumerate(lines) if "WARNING" in line]
        assert view.match_line == wanted[0]
        found = []
        for _ in wanted:
            await pilot.press("n")
            await settle(pilot)
            found.append(view.match_line)
        assert found == [*wanted[1:], wanted[0]]
        await pilot.press("N")
        await settle(pilot)
        assert view.match_line == wanted[-1]
        await pilot.press("escape")
        assert view.pattern is None
        assert isinstance(app.screen, JobScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)


async def test_next_error_and_go_to_line(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "l")
        await settle(pilot)
        view = log_view(app)
        await pilot.press("g", "e")
        await settle(pilot)
        assert "ERROR" in app.screen.feed.source.lines(view.match_line, view.match_line + 1)[0]
        await pilot.press("ctrl+g", "2", "enter")
        await settle(pilot)
        assert view.top == 0
        await pilot.press("ctrl+g", "x", "enter")
        await settle(pilot)
        assert any("no line number" in note.message for note in app._notifications)


async def test_a_kept_log_is_read_without_the_platform_and_goes_on_where_it_ended(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    for turn in range(2):
        app = scenes.app(backend, keeps_logs=True)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            await pilot.press("l")
            await settle(pilot)
            if turn == 0:
                lines = ("one", "{'step': 1, 'critic/rewards/mean': 0.5}", "ERROR three")
                await stream.queue.put(LogChunk(0, lines, 3))
            await settle(pilot)
            assert app.screen.feed.source.lines(0, 1)[0] == "one"
            assert app.screen.feed.book.series["critic/rewards/mean"].values == [0.5]
            assert app.screen.feed.trouble == [(3, "ERROR three")]
            assert log_view(app).last_seen == 3
    assert stream.offsets == [0, 3]


async def test_a_shorter_log_under_the_same_id_starts_anew(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend, keeps_logs=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("a", "b", "c"), 3))
        await settle(pilot)
        await stream.queue.put(LogChunk(1, ("y",), 2))
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("x", "y"), 2))
        await settle(pilot)
        assert list(app.screen.feed.source.lines(0, 9)) == ["x", "y"]
        assert stream.offsets == [0, 0]


async def test_the_log_is_asked_for_less_often_while_nobody_looks_and_at_once_when_somebody_does(
    scenes: Any, settle: Any
) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        screen = app.screen
        usual = eased_s(0.5, screen.pulse())
        app.app_focus = False
        blurred = eased_s(0.5, screen.pulse())
        app.is_slow = True
        assert usual == 0.5 < blurred < eased_s(0.5, screen.pulse())
        await pilot.press("1")
        await settle(pilot)
        assert not screen.pulse().is_seen
        assert stream.pause is not None
        waiting = asyncio.ensure_future(stream.pause(3600.0))
        await pilot.press("4")
        await waiting
        app.app_focus = False  # a key had told that somebody is there
        waiting = asyncio.ensure_future(stream.pause(3600.0))
        await asyncio.sleep(0)
        app.app_focus = True
        await waiting
        await stream.queue.put(LogChunk(0, ("a", "b"), 2))
        await stream.queue.put(LogNote("reconnecting in 60 s", is_trouble=True))
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert stream.offsets == [0, 2]


async def test_text_that_is_no_regular_expression_is_looked_for_and_shown_as_it_was_typed(
    scenes: Any, settle: Any
) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await pilot.press("slash", "(", "[", "enter")
        await settle(pilot)
        assert any(" / ([ " in text for text, _ in app.screen.query_one(TabBar).note)
        assert any("'(['" in note.message for note in app._notifications)
        await pilot.press("slash", *r"\d", "enter")
        await settle(pilot)
        assert any(r" / \d " in text for text, _ in app.screen.query_one(TabBar).note)
