"""Workspace, functions, job file and submitting, by keys."""

import shutil
from pathlib import Path
from typing import Any

from textual.widgets import Button, ContentSwitcher

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.screens.functions import FunctionsScreen
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.jobfile import JobFileScreen
from agentic_rl_tui.app.screens.submit import Submit
from agentic_rl_tui.app.screens.workspace import WorkspaceScreen
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.editor import Editor
from agentic_rl_tui.widgets.panels import Empty, Note


def text_of(note: Note) -> str:
    return "\n".join("".join(part for part, _ in line) for line in note.lines)


async def test_the_tree_says_what_each_file_is(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="workspace")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, WorkspaceScreen)
        seen = {entry.path.name: (entry.facts.word, entry.rows) for entry in screen.table.items}
        assert seen["answer.py"][0] == "reward"
        assert seen["train.jsonl"] == ("data", 3)
        assert seen["rl-job.yaml"][0] == "job file"


async def test_the_preview_follows_the_cursor_and_enter_reads_it(scenes: Any, settle: Any, workspace: Path) -> None:
    (workspace / "data" / "blob.bin").write_bytes(b"\0\1\2")
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="workspace")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, WorkspaceScreen)
        shown = {}
        for entry in list(screen.table.items):
            screen.table.move_to(str(entry.path))
            await settle(pilot)
            shown[entry.path.name] = screen.query_one("#preview", ContentSwitcher).current
        assert shown["answer.py"] == "preview-text"
        assert shown["train.jsonl"] == "preview-rows"
        assert shown["blob.bin"] == "preview-binary"
        screen.table.move_to(str(workspace / "functions" / "answer.py"))
        await settle(pilot)
        editor = screen.query_one("#preview-text", Editor)
        assert "class AnswerReward" in editor.text
        assert editor.language == "python"
        await pilot.press("enter")
        assert editor.has_focus
        await pilot.press("x")
        assert "class AnswerReward" in editor.text
        await pilot.press("escape")
        assert screen.table.has_focus


async def test_folders_fold_and_the_cursor_climbs(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="workspace")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, WorkspaceScreen)
        before = len(screen.table.items)
        await pilot.press("j", "left")
        assert screen.table.current is not None
        assert screen.table.current.path.name == "data"
        await pilot.press("h")
        assert len(screen.table.items) == before - 1
        await pilot.press("l")
        await settle(pilot)
        assert len(screen.table.items) == before


async def test_an_empty_folder_says_how_to_begin(scenes: Any, settle: Any, tmp_path: Path) -> None:
    empty = tmp_path / "nothing"
    empty.mkdir()
    app = scenes.app(scenes.FakeBackend(), empty)
    async with app.run_test(size=(80, 24)) as pilot:
        for key, selector in (("1", "#preview-empty"), ("2", "#functions-empty"), ("3", "#jobfile-empty")):
            await pilot.press(key)
            await settle(pilot)
            told = app.screen.query_one(selector, Empty)
            assert told.display
            assert any("agentic-rl-tui init" in text for line in told.body for text, _ in line), key


async def test_functions_are_listed_with_their_source(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="functions")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, FunctionsScreen)
        assert [row.info.class_name for row in screen.table.items] == ["AnswerReward"]
        assert "class AnswerReward" in screen.query_one("#functions-source", Editor).text


async def test_typing_is_checked_and_enter_on_a_problem_goes_there(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="job-file")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobFileScreen)
        screen.editor.move_cursor(screen.editor.document.end)
        await pilot.press("enter", *"nonsense_key: 1")
        await settle(pilot)
        assert screen.document is not None
        assert screen.table.display
        assert any("not saved" in chip.text for chip in screen.query_one(Heading).chips)
        screen.table.focus()
        await pilot.press("enter")
        assert screen.editor.has_focus
        item = screen.table.current
        assert item is not None
        assert screen.editor.cursor_location == (item.line - 1, item.col - 1)


async def test_saving_keeps_every_byte_that_was_not_changed(scenes: Any, settle: Any, workspace: Path) -> None:
    path = workspace / "rl-job.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = path.read_bytes()
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert path.read_bytes() == before
        await pilot.press("end", "!", "ctrl+s")
        await settle(pilot)
        assert path.read_bytes() == before.replace(b"agent\r\n", b"agent!\r\n", 1)


async def test_a_disk_that_refuses_is_told(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("x")
        shutil.rmtree(workspace)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert "cannot be written" in app.problems.items[-1].message
        assert app.screen.is_changed


async def test_reading_again_asks_before_it_loses_changes(scenes: Any, settle: Any, workspace: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobFileScreen)
        await pilot.press("x", "ctrl+r")
        await pilot.press("escape")
        assert screen.is_changed
        await pilot.press("ctrl+r", "y")
        await settle(pilot)
        assert not screen.is_changed


async def test_submit_shows_the_plan_the_steps_and_goes_to_the_job(scenes: Any, settle: Any, template: Path) -> None:
    backend = scenes.sample_backend()
    backend.news = [StepNews("upload:train", "upload data/train.jsonl", "started")]
    app = scenes.app(backend, template, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f5")
        await settle(pilot)
        assert isinstance(app.screen, Submit)
        plan = text_of(app.screen.query_one("#deed-text", Note))
        assert "register  agent, answer" in plan
        assert "./data/train.jsonl" in plan
        assert isinstance(app.focused, Button)
        assert app.focused.id == "yes"
        await pilot.press("enter")
        await settle(pilot)
        assert backend.calls == [("submit", str(template / "rl-job.yaml"))]
        assert isinstance(app.screen, JobScreen)
        assert app.current_mode == "jobs"
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen.table.items[0].name == "calc-agent-new0"


async def test_errors_block_submitting_and_are_listed(scenes: Any, settle: Any, workspace: Path) -> None:
    (workspace / "rl-job.yaml").write_text("functions: 3\n")
    backend = scenes.FakeBackend()
    app = scenes.app(backend, workspace, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f5")
        await settle(pilot)
        assert isinstance(app.screen, Submit)
        assert "Correct these" in text_of(app.screen.query_one("#deed-text", Note))
        assert app.screen.query_one("#yes").has_class("-idle")
        await pilot.press("f5")
        assert backend.calls == []
        await pilot.press("escape")
        assert isinstance(app.screen, JobFileScreen)


async def test_a_failed_submission_explains_itself_and_can_be_tried_again(
    scenes: Any, settle: Any, template: Path
) -> None:
    backend = scenes.sample_backend()
    backend.news = [StepNews("package", "package answer", "failed", detail="too large")]
    app = scenes.app(backend, template, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f5")
        await settle(pilot)
        backend.broken = PackageError("the package is 300 MB", advice="Leave out data/.")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, Submit)
        told = text_of(app.screen.query_one("#deed-text", Note))
        assert "the package is 300 MB" in told
        assert "Leave out data/." in told
        assert app.problems.items
        backend.broken, backend.news = None, []
        # The focus moves and the next place opens by messages of their own, after the work has ended.
        await settle(pilot)
        assert app.focused is app.screen.query_one("#yes")
        await pilot.press("enter")
        await settle(pilot)
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)


async def test_every_press_of_a_dialog_button_counts(scenes: Any, settle: Any, template: Path) -> None:
    backend = scenes.sample_backend()
    backend.broken = PackageError("the package is 300 MB")
    app = scenes.app(backend, template, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f5")
        await settle(pilot)
        for attempt in range(1, 4):
            button = app.screen.query_one("#yes", Button)
            app.screen.set_focus(button)
            button.action_press()
            await settle(pilot)
            await settle(pilot)
            assert len(app.problems.items) == attempt
            assert app.focused is button


async def test_opening_a_job_file_from_the_tree(scenes: Any, settle: Any, workspace: Path) -> None:
    (workspace / "opd-job.yaml").write_text((workspace / "rl-job.yaml").read_text().replace("calc", "opd"))
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("alt+1")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, WorkspaceScreen)
        screen.table.move_to(str(workspace / "opd-job.yaml"))
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobFileScreen)
        assert "name: opd" in app.screen.editor.text
