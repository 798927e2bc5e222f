"""The jobs place, by keys."""

from typing import Any

from textual.widgets import Button

from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.core.models.errors import RateLimited, Unreachable
from agentic_rl_tui.widgets.bars import Heading, KeyBar
from agentic_rl_tui.widgets.panels import Empty
from agentic_rl_tui.widgets.prompt import Prompt


def names(screen: JobsScreen) -> list[str]:
    return [row.name for row in screen.table.rows()]


async def test_jobs_come_in_the_order_of_the_platform_and_say_their_state(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        assert names(app.screen)[:2] == ["calc-agent-3f2a", "calc-opd-9bc1"]
        row = app.screen.table.current
        assert row is not None
        assert (row.look.label, row.step, row.total_steps, row.age) == ("● running", 28, 64, "4m12s")
        assert app.health_shown.word == "ready"


async def test_refresh_keeps_cursor_and_marks_when_jobs_come_and_go(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "space", "j")
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        cursor, marks = screen.table.current, screen.table.marks
        new = scenes.job(0, "brand-new", "RUNNING", 1)
        gone = list(backend.store)[1]
        backend.store = {new.job_id: new} | {key: job for key, job in backend.store.items() if key != gone}
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert names(screen)[0] == "brand-new"
        assert screen.table.current is not None
        assert cursor is not None
        assert screen.table.current.job_id == cursor.job_id
        assert screen.table.marks == marks
        assert gone not in [row.job_id for row in screen.table.items]


async def test_filter_previews_while_typing_enter_applies_escape_restores_then_clears(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        await pilot.press("slash", *"status:failed")
        assert names(screen) == ["calc-agent-77aa"]
        await pilot.press("enter")
        await pilot.pause()
        assert screen.filter_text == "status:failed"
        assert screen.table.has_focus
        await pilot.press("slash", "x", "y")
        assert names(screen) == []
        await pilot.press("escape")
        await pilot.pause()
        assert names(screen) == ["calc-agent-77aa"]
        assert screen.filter_text == "status:failed"
        await pilot.press("escape")
        await pilot.pause()
        assert screen.filter_text == ""
        assert len(names(screen)) == 8


async def test_escape_undoes_one_layer_at_a_time(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        await pilot.press("slash", *"calc", "enter", "space", "slash")
        assert screen.query_one(Prompt).is_open
        await pilot.press("escape")
        assert not screen.query_one(Prompt).is_open
        assert screen.table.marks
        await pilot.press("escape")
        assert not screen.table.marks
        assert screen.filter_text == "calc"
        await pilot.press("escape")
        assert screen.filter_text == ""
        await pilot.press("escape")
        assert app.screen is screen


async def test_cancel_asks_with_the_focus_on_keep_and_names_the_job(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("x")
        assert isinstance(app.screen, Confirm)
        assert isinstance(app.focused, Button)
        assert app.focused.id == "no"
        assert "calc-agent-3f2a" in str(app.screen.query_one("#dialog-title").render())
        await pilot.press("enter")
        await settle(pilot)
        assert backend.calls == []
        await pilot.press("x", "tab", "enter")
        await settle(pilot)
        assert [verb for verb, _ in backend.calls] == ["cancel"]
        assert isinstance(app.screen, JobsScreen)
        assert app.screen.table.current is not None
        assert app.screen.table.current.look.word == "canceling"


async def test_marked_jobs_win_over_the_cursor_and_are_counted(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "space", "space", "D")
        assert isinstance(app.screen, Confirm)
        assert "Delete 2 jobs?" in str(app.screen.query_one("#dialog-title").render())
        await pilot.press("enter", "enter")
        await settle(pilot)
        assert backend.calls == []
        await pilot.press("D")
        short = app.screen_stack[-2].table.chosen[0].job_id[-4:]
        await pilot.press(*short, "enter", "enter")
        await settle(pilot)
        assert sorted(verb for verb, _ in backend.calls) == ["delete", "delete"]
        assert len(backend.store) == 6


async def test_a_verb_that_cannot_act_stays_dimmed_and_says_why(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j")
        await pilot.pause()
        hints = {hint.label: hint for hint in app.screen.query_one(KeyBar).hints}
        assert not hints["cancel"].is_enabled
        await pilot.press("x")
        assert isinstance(app.screen, JobsScreen)
        assert any("nothing to cancel" in note.message for note in app._notifications)


async def test_an_outage_tells_once_keeps_the_old_rows_and_ends(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        backend.broken = Unreachable("no route to the platform")
        for _ in range(3):
            await pilot.press("ctrl+r")
            await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert len(app.problems.items) == 1
        assert len(names(screen)) == 8
        assert "stale" in screen.query_one("#jobs-heading", Heading).note[0][0]
        assert app.health_shown.word == "unreachable"
        backend.broken = None
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert screen.query_one("#jobs-heading", Heading).note == ()
        assert app.health_shown.word == "ready"


async def test_the_first_failure_explains_itself_in_an_empty_place(scenes: Any, settle: Any) -> None:
    backend = scenes.FakeBackend()
    backend.broken = RateLimited("too many requests", retry_after_s=30.0)
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        empty = app.screen.query_one("#jobs-empty", Empty)
        assert empty.display
        assert "does not answer" in empty.title


async def test_no_jobs_says_what_to_do_next(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.FakeBackend())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        empty = app.screen.query_one("#jobs-empty", Empty)
        assert empty.title == "No jobs yet"
        assert any("submit" in text for line in empty.body for text, _ in line)


async def test_enter_opens_the_job_and_escape_comes_back_to_the_same_row(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        assert app.screen.table.cursor == 3
        assert app.screen.table.has_focus


async def test_further_pages_are_read_when_the_cursor_comes_near(scenes: Any, settle: Any) -> None:
    jobs = [scenes.job(number, f"job-{number:03}", "SUCCEEDED", number * 60) for number in range(250)]
    app = scenes.app(scenes.FakeBackend(jobs))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert len(screen.table.items) == 100
        for _ in range(3):
            await pilot.press("G")
            await settle(pilot)
        assert names(screen) == [job.job_name for job in jobs]


async def test_read_only_changes_nothing(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend, is_read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("x", "D")
        assert isinstance(app.screen, JobsScreen)
        assert backend.calls == []
        assert any("read-only" in note.message for note in app._notifications)


async def test_the_jobs_of_the_last_time_are_there_before_the_platform_answers(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), keeps_jobs=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
    backend = scenes.FakeBackend()
    backend.broken = Unreachable("no route to the platform")
    app = scenes.app(backend, keeps_jobs=True)
    app.connect_backend = lambda: None
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert names(screen)[0] == "calc-agent-3f2a"
        assert "as of 0s ago" in screen.query_one("#jobs-heading", Heading).note[0][0]
        app.backend = backend
        await settle(pilot)
        assert names(screen)[0] == "calc-agent-3f2a"
        assert "stale" in screen.query_one("#jobs-heading", Heading).note[0][0]


async def test_the_end_of_a_job_is_told_once(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        first = next(iter(backend.store))
        backend.store[first] = backend.store[first].model_copy(update={"status": "SUCCEEDED"})
        for _ in range(3):
            await pilot.press("ctrl+r")
            await settle(pilot)
        assert [note.title for note in app._notifications] == ["calc-agent-3f2a"]


async def test_a_terminal_that_is_looked_at_again_shows_how_things_are_now(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    asked: list[int] = []
    jobs = backend.jobs

    async def counted(page_no: int, page_size: int) -> Any:
        asked.append(page_no)
        return await jobs(page_no, page_size)

    backend.jobs = counted
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = len(asked)
        app.app_focus = False
        await settle(pilot)
        assert len(asked) == before
        app.app_focus = True
        await settle(pilot)
        assert len(asked) == before + 1
        backend.broken = RateLimited("too many requests", retry_after_s=30.0)
        await pilot.press("ctrl+r")
        await settle(pilot)
        before = len(asked)
        app.app_focus = False
        app.app_focus = True
        await settle(pilot)
        assert len(asked) == before


async def test_the_health_is_not_asked_while_the_service_wants_rest(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    now = [scenes.NOW]
    app.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        backend.broken = RateLimited("too many requests", retry_after_s=30.0)
        app.check_health()
        await settle(pilot)
        assert app.health_shown.word == "failing"
        backend.broken = None
        app.check_health()
        await settle(pilot)
        assert app.health_shown.word == "failing"
        now[0] += 31
        app.check_health()
        await settle(pilot)
        assert app.health_shown.word == "ready"
