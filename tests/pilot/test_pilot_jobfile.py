"""The job file place by keys: completion, fixes, presets, drafts, a file that others write too."""

import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opened import Opened

from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.jobfile import JobFileScreen
from agentic_rl_tui.app.screens.jobfile_doc import KeyHelp
from agentic_rl_tui.app.screens.submit import Submit
from agentic_rl_tui.widgets.panels import Facts, Note


@pytest.fixture
def opened(scenes: Any, settle: Any) -> Any:
    """An app on the job file of a workspace, with the screen's own pauses waited for."""

    class Here(Opened):
        place = "jobfile"

        @property
        def screen(self) -> JobFileScreen:
            assert isinstance(self.app.screen, JobFileScreen)
            return self.app.screen

    return partial(Here, scenes, settle)


async def test_completion_offers_what_fits_and_undo_takes_it_back(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        editor = it.screen.editor
        row = next(number for number, line in enumerate(editor.document.lines) if "type: rollout" in line)
        editor.move_cursor((row, len(editor.document.lines[row])))
        before = editor.text
        for _ in range(len("rollout")):
            await it.pilot.press("backspace")
        await it.press("r", "e", "w")
        assert it.screen.popup.is_open
        assert [item.label for item in it.screen.popup.items] == ["reward", "group_reward"]
        await it.press("down", "tab")
        assert editor.document.lines[row].endswith("type: group_reward")
        assert not it.screen.popup.is_open
        await it.press("ctrl+z")
        assert editor.document.lines[row].endswith("type: rew")
        while editor.text != before:
            await it.pilot.press("ctrl+z")


async def test_escape_closes_the_list_and_enter_breaks_the_line_beside_it(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        editor = it.screen.editor
        editor.move_cursor(editor.document.end)
        await it.press("enter", "o", "b")
        assert it.screen.popup.is_open
        await it.press("escape")
        assert not it.screen.popup.is_open
        assert editor.has_focus
        await it.press("s")
        assert it.screen.popup.is_open
        lines = editor.document.line_count
        await it.press("enter")
        assert editor.document.line_count == lines + 1


async def test_completion_when_asked_offers_classes_and_files(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        editor = it.screen.editor
        for key, wanted in (("classpath:", "functions.rollout.agent.CalcAgent"), ("file_name:", "./data/train.jsonl")):
            row = next(number for number, line in enumerate(editor.document.lines) if key in line)
            line = editor.document.lines[row]
            editor.replace("", (row, line.index(key) + len(key) + 1), (row, len(line)))
            editor.move_cursor((row, len(editor.document.lines[row])))
            await it.press("f2")
            labels = [item.label for item in it.screen.popup.items]
            assert wanted in labels
            it.screen.popup.index = labels.index(wanted)
            await it.press("enter")
            assert editor.document.lines[row].endswith(wanted)


async def test_a_fix_is_shown_before_it_is_made_and_can_be_undone(opened: Any, template: Path) -> None:
    path = template / "rl-job.yaml"
    path.write_text(path.read_text().replace("batch_size: 32", "bach_size: 32"))
    async with opened(template) as it:
        before = it.screen.editor.text
        await it.press("f6")
        assert it.screen.editor.cursor_location[0] + 1 in {item.line for item in it.screen.table.items}
        while "bach_size" not in it.screen.editor.document.lines[it.screen.editor.cursor_location[0]]:
            await it.press("f6")
        await it.press("f7")
        assert isinstance(it.app.screen, Difference)
        await it.press("escape")
        assert it.screen.editor.text == before
        await it.press("f7")
        await it.press("enter")
        assert "\n    batch_size: 32" in it.screen.editor.text
        assert it.screen.editor.has_focus
        await it.press("ctrl+z")
        assert it.screen.editor.text == before


async def test_problems_stand_in_the_gutter_and_all_are_fixed_at_once(opened: Any, template: Path) -> None:
    path = template / "rl-job.yaml"
    text = path.read_text()
    path.write_text(text.replace("batch_size: 32", "bach_size: 32").replace("n_epochs:", "n_epoch:"))
    async with opened(template) as it:
        lines = it.screen.editor.document.lines
        marked = {lines[number].strip().split(":")[0] for number in it.screen.editor.marks}
        assert {"bach_size", "n_epoch"} <= marked
        await it.press("f8")
        await it.press("y")
        assert it.screen.editor.text == text
        assert not [item for item in it.screen.table.items if item.severity.value == "error"]


async def test_presets_and_scenarios_are_differences_first(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        before = it.screen.editor.text
        await it.press("f10")
        assert isinstance(it.app.screen, Choose)
        await it.press("enter")
        assert isinstance(it.app.screen, Difference)
        await it.press("enter")
        assert "n_epochs: 1" in it.screen.editor.text
        await it.press("f12", *"teacher only")
        await it.press("enter")
        assert isinstance(it.app.screen, Difference)
        await it.press("y")
        assert "teacher_model:" in it.screen.editor.text
        assert it.screen.document is not None
        assert it.screen.document.scenario == "OPD: teacher only"
        await it.press("ctrl+z", "ctrl+z")
        assert it.screen.editor.text == before


async def test_the_outline_jumps_and_the_key_is_explained(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.press("ctrl+o", *"training")
        await it.press("enter")
        row, _ = it.screen.editor.cursor_location
        assert it.screen.editor.document.lines[row].startswith("training")
        row = next(n for n, line in enumerate(it.screen.editor.document.lines) if "kl_loss_coef" in line)
        it.screen.editor.move_cursor((row, 6))
        await it.wait()
        shown = it.screen.query_one("#jobfile-doc", Facts).sections
        assert "kl_loss_coef" in shown[0].title
        await it.press("f3")
        assert isinstance(it.app.screen, KeyHelp)
        await it.press("escape")
        assert it.screen.editor.has_focus


async def test_the_meaning_counts_and_prices(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        facts = {
            fact.label: "".join(text for text, _ in fact.value) if not isinstance(fact.value, str) else fact.value
            for section in it.screen.query_one("#jobfile-meaning", Facts).sections
            for fact in section.facts
            if fact.label
        }
        assert facts["scenario"] == "RL"
        assert facts["steps"].startswith("24")
        assert "CNY" in facts["about"]
        assert facts["as of"]
        assert facts["source"].startswith("help.aliyun.com")
        assert "CalcAgent" in facts["rollout"]


async def test_a_change_by_others_is_never_written_over_unasked(opened: Any, template: Path) -> None:
    path = template / "rl-job.yaml"
    async with opened(template) as it:
        theirs = path.read_text().replace("name: calc-agent", "name: theirs", 1)
        path.write_text(theirs)
        it.screen.look_at_disk()
        await it.wait()
        assert it.screen.editor.text == theirs
        await it.press("x")
        mine = it.screen.editor.text
        path.write_text(theirs + "# more\n")
        await it.press("ctrl+s")
        assert isinstance(it.app.screen, Choose)
        assert path.read_text() == theirs + "# more\n"
        await it.press("enter")
        assert isinstance(it.app.screen, Difference)
        await it.press("escape")
        assert isinstance(it.app.screen, Choose)
        await it.press("down", "enter")
        assert it.screen.editor.text == mine
        await it.press("ctrl+s")
        assert path.read_text() == mine


async def test_taking_theirs_can_be_undone(opened: Any, template: Path) -> None:
    path = template / "rl-job.yaml"
    async with opened(template) as it:
        await it.press("x")
        mine = it.screen.editor.text
        path.write_text("name: theirs\n")
        it.screen.look_at_disk()
        await it.wait()
        assert isinstance(it.app.screen, Choose)
        await it.press("down", "down", "enter")
        assert it.screen.editor.text == "name: theirs\n"
        assert not it.screen.is_changed
        await it.press("ctrl+z")
        assert it.screen.editor.text == mine


async def test_what_was_not_saved_is_offered_again(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.press(*"lost ")
        typed = it.screen.editor.text
    assert "lost" not in (template / "rl-job.yaml").read_text()
    async with opened(template) as it:
        assert isinstance(it.app.screen, Choose)
        await it.press("enter")
        assert it.screen.editor.text == typed
        await it.press("ctrl+s")
        assert (template / "rl-job.yaml").read_text() == typed
    async with opened(template) as it:
        assert isinstance(it.app.screen, JobFileScreen)


async def test_saving_keeps_mode_and_links(opened: Any, template: Path) -> None:
    path = template / "rl-job.yaml"
    real = template / "real.txt"
    path.rename(real)
    path.symlink_to(real)
    real.chmod(0o640)
    async with opened(template) as it:
        await it.press("x", "ctrl+s")
        assert path.is_symlink()
        assert stat.S_IMODE(os.stat(real).st_mode) == 0o640
        assert real.read_text().startswith("x#")


async def test_another_job_file_of_the_workspace(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.press("ctrl+t", *"opd")
        await it.press("enter")
        assert it.screen.path == template / "opd-job.yaml"
        assert it.screen.document is not None
        assert it.screen.document.scenario.startswith("OPD")


async def test_the_preflight_finds_bad_data_and_keeps_the_job_from_being_sent(opened: Any, template: Path) -> None:
    data = template / "data" / "train.jsonl"
    data.write_text(data.read_text().replace('"role"', '"rloe"', 1))
    (template / "requirements.txt").unlink()
    async with opened(template) as it:
        await it.press("f5")
        assert isinstance(it.app.screen, Submit)
        told = "\n".join(
            "".join(part for part, _ in line) for line in it.app.screen.query_one("#deed-text", Note).lines
        )
        assert "train.jsonl:1" in told
        assert "requirements" in told
        assert it.app.screen.query_one("#yes").has_class("-idle")
        await it.press("f5")
        assert isinstance(it.app.screen, Submit)
        assert it.app.backend.calls == []


async def test_it_works_on_a_small_screen(opened: Any, template: Path) -> None:
    async with opened(template, (80, 24)) as it:
        row = next(n for n, line in enumerate(it.screen.editor.document.lines) if "kl_loss_coef" in line)
        it.screen.editor.move_cursor((row, 6))
        await it.wait()
        line = it.screen.query_one("#jobfile-docline")
        assert line.display
        assert "kl_loss_coef" in "".join(text for text, _ in line.facts)
        for width, height in ((60, 20), (200, 60), (80, 24), (120, 40), (81, 25)):
            await it.pilot.resize_terminal(width, height)
            await it.pilot.pause()
        assert it.screen.editor.has_focus


async def test_escape_leaves_the_text_so_that_single_keys_work(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        before = it.screen.editor.text
        await it.press("escape", "e", "escape")
        assert not it.screen.editor.has_focus
        await it.press("1")
        assert it.app.current_mode == "workspace"
        await it.press("3")
        assert it.screen.editor.has_focus
        assert it.screen.editor.text == before
