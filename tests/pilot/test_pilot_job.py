"""One job, by keys: tabs, the overview, saving, deleting."""

from pathlib import Path
from typing import Any

from streaming import log_view

from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.job_logs import JobLogs
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.bars import TabBar
from agentic_rl_tui.widgets.panels import Empty, Note


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


async def test_a_failed_job_explains_itself_with_the_lines_that_matter(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "enter")
        await settle(pilot)
        text = "\n".join("".join(part for part, _ in line) for line in app.screen.query_one("#job-failure", Note).lines)
        assert "KeyError: 'solution'" in text
        assert "64 of 64 rollouts failed" in text
        assert "2026-12-01" not in text


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


async def test_saving_the_log_and_the_numbers_never_overwrites(scenes: Any, settle: Any, tmp_path: Path) -> None:
    app = scenes.app(scenes.sample_backend(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
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
        assert header.startswith('"step","actor/entropy"')
        assert first.startswith("1,")
        assert len(rest) == 27
