"""Coming back: the columns, the view of the last time, and another profile without a restart."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.screens.columns import ColumnPicker
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.app.view import BrokenView, View, read_view, view_path
from agentic_rl_tui.core.models.errors import Unreachable
from agentic_rl_tui.core.paths import config_dir
from agentic_rl_tui.core.settings import Profile
from agentic_rl_tui.widgets.bars import HeaderBar

SIZE = (120, 40)


def shown(screen: Any) -> list[str]:
    return [column.key for column in screen.table.columns]


def names(screen: Any) -> list[str]:
    return [row.name for row in screen.table.rows()]


async def test_columns_are_chosen_moved_sorted_and_kept(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), keeps_settings=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("T")
        await settle(pilot)
        assert isinstance(app.screen, ColumnPicker)
        # Type goes, the last validation comes, and moves to the front; the name sorts downwards.
        await pilot.press("j", "o", "o", "j", "j", "space", "G", "space")
        await pilot.press(*["left"] * 13, "enter")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert shown(screen)[0] == "note"
        assert "type" not in shown(screen)
        assert screen.table.order == ("name", True)
        assert names(screen)[-1] == "calc-agent-11d0"
    kept = tomllib.loads((config_dir() / "config.toml").read_text())["tui"]["jobs_columns"]
    assert kept[0] == "note"
    app = scenes.app(scenes.sample_backend(), values={"tui.jobs_columns": kept})
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert shown(app.screen) == kept
        placed = [place.column.key for place in app.screen.table._places]
        assert {"status", "name", "step", "reward", "age"} <= set(placed)
        assert not {"id", "note", "model"} & set(placed)


async def test_giving_up_changes_no_column_and_one_has_to_stay(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), values={"tui.jobs_columns": ["name", "no-such"]})
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert shown(app.screen) == ["name"]
        await pilot.press("T", "space")
        assert any("has to stay" in note.message for note in app._notifications)
        await pilot.press("u", "escape")
        await settle(pilot)
        assert shown(app.screen) == ["name"]


def kept_view(app: Any) -> View:
    return read_view(view_path(app.settings))


async def test_place_filter_order_cursor_and_job_come_back(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), keeps_view=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"calc", "enter", "o", "o", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        job_id = app.screen.job_id
        await pilot.press("l")
        await settle(pilot)
        await pilot.press("ctrl+q")
    view = kept_view(app)
    assert (view.place, view.filter, view.job, view.tab, view.cursor) == ("jobs", "calc", job_id, "logs", job_id)
    app = scenes.app(scenes.sample_backend(), keeps_view=True, view=view)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        assert (app.screen.job_id, app.screen.tab) == (job_id, "logs")
        await pilot.press("escape")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert (screen.filter_text, screen.table.order, screen.cursor_id) == ("calc", view.order, job_id)
        await pilot.press("5")
        await settle(pilot)
        app.keep_view()
        await settle(pilot)
        assert (kept_view(app).place, kept_view(app).job) == ("traces", "")


async def test_a_place_that_was_asked_for_wins_over_the_last_one(scenes: Any, settle: Any) -> None:
    view = View(place="traces", filter="calc", job="ft-x", tab="logs")
    app = scenes.app(scenes.sample_backend(), start_place="functions", view=view)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert app.screen.query_one(HeaderBar).active == "functions"


async def test_a_job_of_the_last_time_that_is_gone_is_told_and_left(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), view=View(place="jobs", job="ft-gone"))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)
        assert "ft-gone" in app.problems.items[-1].message


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1}', '{"version": 1, "order": 5}'])
def test_a_broken_view_is_set_aside_once(tmp_path: Path, content: str) -> None:
    path = tmp_path / "view.json"
    path.write_text(content)
    with pytest.raises(BrokenView) as broken:
        read_view(path)
    assert broken.value.kept_as.read_text() == content
    assert read_view(path) == View()


async def test_a_broken_view_is_told(scenes: Any, settle: Any, tmp_path: Path) -> None:
    app = scenes.app(scenes.sample_backend(), broken_view=tmp_path / "x.broken")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert any("set aside" in note.message for note in app._notifications)


def two_profiles(scenes: Any, here: Any, there: Any, workspace: Path, **facts: Any) -> Any:
    """An app with a local profile and a far one, each with its own backend."""
    app = scenes.app(here, workspace, **facts)
    far = Profile("far", "https://far.example/api/v1", "test", api_key_env="FAR_KEY")
    app.settings = replace(app.settings, profiles={**app.settings.profiles, "far": far})
    app.connect = lambda settings: there if settings.profile_name == "far" else here
    return app


async def switch(pilot: Any, settle: Any, name: str) -> None:
    await pilot.press("at")
    await settle(pilot)
    await pilot.press(*name, "enter")
    await settle(pilot)
    await settle(pilot)


async def test_another_profile_shows_its_own_jobs_and_nothing_of_the_former(
    scenes: Any, settle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", "sk-far-0123456789")
    here, there = scenes.sample_backend(), scenes.FakeBackend([scenes.job(1, "far-job", "RUNNING", 60)])
    closed: list[str] = []

    async def close() -> None:
        closed.append("here")

    here.close = close
    app = two_profiles(scenes, here, there, tmp_path, keeps_notes=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.notes.write(next(iter(here.store)), "mine")
        await pilot.press("slash", *"calc", "enter", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        await switch(pilot, settle, "far")
        screen = app.screen
        assert isinstance(screen, JobsScreen)
        assert names(screen) == ["far-job"]
        assert screen.filter_text == ""
        assert app.notes.all() == {}
        assert "far" in screen.query_one(HeaderBar).profile
        assert "6789" in screen.query_one(HeaderBar).profile
        assert "sk-far-0123456789" not in screen.query_one(HeaderBar).profile
        assert closed == ["here"]
        assert app.settings.profile_name == "far"
        await switch(pilot, settle, "local")
        assert len(names(app.screen)) == 8
        assert app.notes.all()


async def test_a_profile_that_does_not_answer_leaves_the_old_one(
    scenes: Any, settle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = scenes.sample_backend(), scenes.FakeBackend()
    there.broken = Unreachable("no route to far")
    app = two_profiles(scenes, here, there, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await switch(pilot, settle, "far")
        assert "no API key" not in app.screen.query_one(HeaderBar).profile
        assert app.problems.items[-1].title == "Could not switch to profile far"
        monkeypatch.setenv("FAR_KEY", "sk-far-0123456789")
        await switch(pilot, settle, "far")
        assert "no route to far" in app.problems.items[-1].message
        assert app.settings.profile_name == "local"
        assert app.backend is here
        assert len(names(app.screen)) == 8


async def test_the_job_file_stays_open_over_a_switch(
    scenes: Any, settle: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", "sk-far-0123456789")
    app = two_profiles(scenes, scenes.sample_backend(), scenes.FakeBackend(), workspace, start_place="jobfile")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = app.screen
        app.switch_profile("far")
        await settle(pilot)
        await settle(pilot)
        assert app.screen is screen
        assert app.settings.profile_name == "far"
