"""One job, by keys: tabs, the live log, search, charts, trajectories."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agentic_rl_tui.app.backend import LogChunk, LogNote
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.job_logs import JobLogs
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.bars import KeyBar, TabBar
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Note


def log_view(app: Any) -> LogView:
    view = app.screen.query_one("#log-view", LogView)
    assert isinstance(view, LogView)
    return view


class Streaming:
    """Log chunks that a test hands out one by one."""

    def __init__(self, backend: Any) -> None:
        self.queue: asyncio.Queue[LogChunk | LogNote | None] = asyncio.Queue()
        self.offsets: list[int] = []
        backend.follow = self.follow

    async def follow(self, job_id: str, offset: int = 0) -> AsyncIterator[LogChunk | LogNote]:
        self.offsets.append(offset)
        while (item := await self.queue.get()) is not None:
            yield item


async def test_tabs_by_brackets_and_the_log_by_l(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        seen = []
        for _ in range(5):
            await pilot.press("]")
            await settle(pilot)
            seen.append(app.screen.query_one(TabBar).active)
            assert app.focused is not None
        assert seen == ["logs", "metrics", "trajectories", "traces", "overview"]
        await pilot.press("l")
        await settle(pilot)
        assert app.screen.tab == "logs"
        assert app.focused is log_view(app)


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
            await pilot.pause(0.15)

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
        await pilot.pause(0.15)
        assert any("reconnecting" in text for text, _ in app.screen.query_one(TabBar).note)
        await stream.queue.put(LogChunk(1, ("b", "c", "d"), 4))
        await pilot.pause(0.15)
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
        await pilot.pause(0.15)
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
        await pilot.pause(0.15)
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


async def test_a_failed_job_explains_itself_with_the_lines_that_matter(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "enter")
        await settle(pilot)
        await pilot.pause(0.2)
        text = "\n".join("".join(part for part, _ in line) for line in app.screen.query_one("#job-failure", Note).lines)
        assert "KeyError: 'solution'" in text
        assert "64 of 64 rollouts failed" in text
        assert "2026-12-01" not in text


async def test_charts_are_read_from_the_log(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter", "]", "]")
        await settle(pilot)
        await pilot.pause(0.15)
        charts = {chart.heading: chart for chart in app.screen.query("Chart")}
        reward = charts["Reward"]
        assert [line.label for line in reward.lines] == ["training", "validation"]
        assert len(reward.lines[0].values) == 28
        assert reward.lines[1].steps == (16,)
        assert "Groups without spread" in charts


async def test_trajectories_go_three_levels_deep_and_back(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter", "[", "[")
        await settle(pilot)
        screen = app.screen
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("j", "enter")
        await settle(pilot)
        talk = "\n".join("".join(part for part, _ in line) for line in screen.query_one("#trajectory-text", Note).lines)
        assert "calculator" in talk
        assert "### ANSWER: 100 ###" in talk
        labels = []
        for _ in range(3):
            labels.append(screen.query_one(KeyBar).hints[-1].label)
            await pilot.press("escape")
            await settle(pilot)
        assert labels == ["back to the samples", "back to the steps", "back to jobs"]
        assert isinstance(app.screen, JobsScreen)


async def test_a_job_without_kept_rollouts_says_so(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("j", "enter", "[", "[")
        await settle(pilot)
        assert app.screen.query_one("#trajectory-empty", Empty).title == "No trajectories here"
        await pilot.press("]", "]")
        await settle(pilot)
        assert app.screen.tab == "overview"
        assert app.focused is not None


async def test_deleting_a_finished_job_leaves_its_screen(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "enter")
        await settle(pilot)
        assert app.screen.query_one(JobLogs) is not None
        await pilot.press("D", "y")
        await settle(pilot)
        assert [verb for verb, _ in backend.calls] == ["delete"]
        assert isinstance(app.screen, JobsScreen)
        assert len(app.screen.table.items) == 7


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
            await pilot.pause(0.2)
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
        await pilot.pause(0.15)
        await stream.queue.put(LogChunk(1, ("y",), 2))
        await pilot.pause(0.15)
        await stream.queue.put(LogChunk(0, ("x", "y"), 2))
        await pilot.pause(0.15)
        assert list(app.screen.feed.source.lines(0, 9)) == ["x", "y"]
        assert stream.offsets == [0, 0]


async def test_saving_the_log_and_the_numbers_never_overwrites(scenes: Any, settle: Any, tmp_path: Path) -> None:
    app = scenes.app(scenes.sample_backend(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await pilot.pause(0.15)
        for _ in range(2):
            await pilot.press("s", "enter")
            await settle(pilot)
        saved = tmp_path / "calc-agent-3f2a.log"
        assert saved.read_text().splitlines() == list(app.screen.feed.source.lines(0, 10_000))
        assert "File exists" in app.problems.items[-1].message
        await pilot.press("]")
        await settle(pilot)
        await pilot.press("s", "enter")
        await settle(pilot)
        header, first, *rest = (tmp_path / "calc-agent-3f2a.csv").read_text().splitlines()
        assert header.startswith('step,"actor/entropy"')
        assert first.startswith("1,")
        assert len(rest) == 27
