"""Finding words in the text that is edited, and going to a line, by keys."""

from pathlib import Path
from typing import Any

from agentic_rl_tui.app.screens.finding import matches
from agentic_rl_tui.app.screens.jobfile import JobFileScreen
from agentic_rl_tui.app.screens.workspace import WorkspaceScreen
from agentic_rl_tui.widgets.bars import Heading


def chips(screen: Any, selector: str) -> list[str]:
    return [chip.text for chip in screen.query_one(selector, Heading).chips]


async def test_words_are_found_while_they_are_typed(scenes: Any, settle: Any, template: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), template, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, JobFileScreen)
        before = screen.editor.text
        await pilot.press("ctrl+f", *"capacity:")
        await settle(pilot)
        assert screen.editor.selected_text == "capacity:"
        count = before.count("capacity:")
        assert any(f"1 of {count}" in chip for chip in chips(screen, "#jobfile-heading"))
        first = screen.editor.cursor_location
        await pilot.press("enter")
        await settle(pilot)
        assert screen.editor.has_focus
        await pilot.press("ctrl+f", "enter")
        await settle(pilot)
        assert screen.editor.cursor_location > first
        await pilot.press("alt+n")
        assert any(f"3 of {count}" in chip for chip in chips(screen, "#jobfile-heading"))
        await pilot.press("alt+shift+n", "alt+shift+n", "alt+shift+n")
        assert any(f"{count} of {count}" in chip for chip in chips(screen, "#jobfile-heading"))
        assert screen.editor.text == before
        # One layer at a time: the search, then the text; there n and / are keys of the screen.
        await pilot.press("escape")
        assert not chips(screen, "#jobfile-heading")
        assert screen.editor.has_focus
        await pilot.press("escape", "/", *"GSPO", "enter")
        await settle(pilot)
        assert any("not found" in chip for chip in chips(screen, "#jobfile-heading"))


async def test_a_line_is_gone_to_by_its_number(scenes: Any, settle: Any, template: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), template, start_place="jobfile")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+g", "4", "0", "enter")
        await settle(pilot)
        assert app.screen.editor.cursor_location == (39, 0)
        assert app.screen.editor.has_focus
        await pilot.press("ctrl+g", "9", "9", "9", "enter")
        await settle(pilot)
        assert app.screen.editor.cursor_location == (39, 0)


async def test_the_editor_of_the_workspace_finds_too(scenes: Any, settle: Any, template: Path) -> None:
    app = scenes.app(scenes.FakeBackend(), template, start_place="workspace")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, WorkspaceScreen)
        screen.table.move_to(str(template / "functions" / "reward" / "answer.py"))
        await pilot.press("e")
        await settle(pilot)
        await pilot.press("ctrl+f", *"Fraction", "enter")
        await settle(pilot)
        assert screen.editor.selected_text == "Fraction"
        assert any("/ Fraction" in chip for chip in chips(screen, "#preview-heading"))
        await pilot.press("escape")
        assert screen.is_editing
        assert not chips(screen, "#preview-heading")
        await pilot.press("escape")
        await settle(pilot)
        assert not screen.is_editing


def test_capitals_make_case_count() -> None:
    assert matches("One one ONE", "one") == [0, 4, 8]
    assert matches("One one ONE", "ONE") == [8]
    assert matches("aaaa", "aa") == [0, 2]
    assert matches("text", "") == []
    assert matches("İstanbul one", "one") == [9]
