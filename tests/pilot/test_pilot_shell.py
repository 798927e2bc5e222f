"""The frame: places, help, palette, problems, leaving, keys of the user, faults."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size

from agentic_rl_tui.app import shell
from agentic_rl_tui.app.screens.help import Help
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.app.screens.palette import Palette
from agentic_rl_tui.app.screens.problems import Problems
from agentic_rl_tui.core.models.errors import ServerError
from agentic_rl_tui.widgets.bars import HeaderBar, KeyBar
from agentic_rl_tui.widgets.panels import Facts, Note


async def test_every_place_by_its_key_and_minus_goes_back(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.sample_backend(), workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        seen = []
        for key in ("1", "2", "alt+3", "5", "4"):
            await pilot.press(key if key != "alt+3" else "3")
            await settle(pilot)
            seen.append(app.screen.query_one(HeaderBar).active)
            if seen[-1] == "jobfile":
                await pilot.press("alt+5")
                await settle(pilot)
        assert seen == ["workspace", "functions", "jobfile", "traces", "jobs"]
        await pilot.press("minus")
        await settle(pilot)
        assert app.screen.query_one(HeaderBar).active == "traces"


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
async def test_header_and_footer_fill_exactly_one_line(scenes: Any, settle: Any, width: int) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        for bar in (app.screen.query_one(HeaderBar), app.screen.query_one(KeyBar)):
            assert bar.render_line(0).cell_length == width
        header = app.screen.query_one(HeaderBar).render_line(0).text
        assert "Jobs" in header
        assert "ready" in header


async def test_the_footer_shows_at_most_six_keys_and_what_escape_does(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"calc", "enter")
        await settle(pilot)
        hints = app.screen.query_one(KeyBar).hints
        assert len(hints) <= 6
        assert [(hint.key, hint.label) for hint in hints][-2:] == [("?", "help"), ("esc", "clear filter")]


async def test_help_lists_the_keys_that_work_here(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        await settle(pilot)
        assert isinstance(app.screen, Help)
        titles = [section.title for facts in app.screen.query(Facts) for section in facts.sections]
        assert titles[0] == "Jobs"
        assert "Everywhere" in titles
        assert "Logs" not in titles
        await pilot.press("escape")
        assert isinstance(app.screen, JobsScreen)


@pytest.mark.parametrize("key", ["ctrl+p", "colon"])
async def test_the_palette_finds_a_command_and_runs_it(scenes: Any, settle: Any, key: str) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert isinstance(app.screen, Palette)
        await pilot.press(*"traces")
        await pilot.press("enter")
        await settle(pilot)
        assert app.screen.query_one(HeaderBar).active == "traces"


async def test_the_palette_acts_on_the_row_under_the_cursor(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p", *"mark", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        assert len(app.screen.table.marks) == 1


async def test_problems_keep_every_error_and_copy_it_whole(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        backend.broken = ServerError("the service had a fault [/red]", request_id="req-42", status=500)
        await pilot.press("x", "tab", "enter")
        await settle(pilot)
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert isinstance(app.screen, Problems)
        text = "\n".join("".join(part for part, _ in line) for line in app.screen.query_one(Note).lines)
        assert "req-42" in text
        await pilot.press("y")
        assert "req-42" in app.clipboard
        await pilot.press("escape")
        assert isinstance(app.screen, JobsScreen)


async def test_a_fault_in_a_worker_is_reported_and_the_app_goes_on(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()

    async def broken(page_no: int, page_size: int) -> None:
        raise ZeroDivisionError("a bug")

    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        backend.jobs = broken
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.problems.items[-1].is_bug
        assert "ZeroDivisionError" in app.problems.items[-1].text
        assert isinstance(app.screen, JobsScreen)
        await pilot.press("j")
        assert app.screen.table.cursor == 1


async def test_q_goes_back_and_at_the_root_leaves(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("q")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        await pilot.press("q")
    assert app.return_value == 0


async def test_own_keys_work_and_show_in_the_footer(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), values={"keys.jobs.cancel": "X", "keys.table.down": "ctrl+n,down"})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        hints = {hint.label: hint.key for hint in app.screen.query_one(KeyBar).hints}
        assert hints["cancel"] == "X"
        await pilot.press("ctrl+n")
        assert isinstance(app.screen, JobsScreen)
        assert app.screen.table.cursor == 1
        await pilot.press("x")
        assert isinstance(app.screen, JobsScreen)


async def test_colliding_keys_are_refused_with_reasons(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), values={"keys.jobs.cancel": "j"})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "j is bound to both" in app.problems.items[0].message
        await pilot.press("j")
        assert isinstance(app.screen, JobsScreen)
        assert app.screen.table.cursor == 1


async def test_light_theme_and_back(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f9")
        await settle(pilot)
        assert app.theme == "arl-light"
        await pilot.press("f9")
        assert app.theme == "arl-dark"


async def test_resize_storm_keeps_the_cursor_in_sight(scenes: Any, settle: Any) -> None:
    jobs = [scenes.job(number, f"job-{number:03}", "SUCCEEDED", number * 60) for number in range(90)]
    app = scenes.app(scenes.FakeBackend(jobs))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        screen.table.cursor = 60
        for width, height in ((60, 20), (200, 60), (40, 10), (80, 24), (33, 9), (120, 40)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            top = round(screen.table.scroll_offset.y)
            assert top <= 60 < top + screen.table.size.height


@pytest.mark.parametrize(("is_in_order", "columns"), [(False, 100), (True, 80)])
async def test_a_size_that_came_late_gives_way_to_the_one_the_terminal_has(
    scenes: Any, settle: Any, monkeypatch: pytest.MonkeyPatch, is_in_order: bool, columns: int
) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        monkeypatch.setattr(shell, "get_terminal_size", lambda: (100, 30))
        monkeypatch.setattr(type(app), "is_headless", False)
        app.supports_smooth_scrolling = is_in_order
        late = Size(80, 24)
        app.post_message(events.Resize(late, late))
        await settle(pilot)
        monkeypatch.undo()
        assert app.size.width == app.screen.size.width == columns


async def test_ctrl_c_twice_leaves(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+c")
        assert isinstance(app.screen, JobsScreen)
        assert any("again to leave" in note.message for note in app._notifications)
        await pilot.press("ctrl+c")
    assert app.return_value == 0
