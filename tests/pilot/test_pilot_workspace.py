"""The workspace place by keys: rows, checks and repairs, files, editing, templates, other folders."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opened import Opened

from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.jobfile import JobFileScreen
from agentic_rl_tui.app.screens.workspace import WorkspaceScreen
from agentic_rl_tui.core.workspaces import Recent
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.panels import Note


@pytest.fixture
def opened(scenes: Any, settle: Any) -> Any:
    class Here(Opened):
        place = "workspace"

        async def go(self, name: str) -> None:
            assert self.screen.table.move_to(str(self.root / name))
            await self.wait()

        @property
        def screen(self) -> WorkspaceScreen:
            assert isinstance(self.app.screen, WorkspaceScreen)
            return self.app.screen

        @property
        def row_text(self) -> str:
            lines = self.screen.query_one("#preview-row-text", Note).lines
            return "\n".join("".join(part for part, _ in line) for line in lines)

        @property
        def names(self) -> set[str]:
            return {entry.path.relative_to(self.root).as_posix() for entry in self.screen.table.items}

    return partial(Here, scenes, settle)


async def test_rows_are_conversations_found_by_number_and_text(opened: Any, template: Path) -> None:
    rows = [json.loads(line) for line in (template / "data" / "train.jsonl").read_text().splitlines()]
    async with opened(template) as it:
        await it.go("data/train.jsonl")
        assert it.screen.switcher.current == "preview-rows"
        assert rows[0]["messages"][-1]["content"].splitlines()[0] in it.row_text
        await it.press("ctrl+g")
        await it.press("backspace", "4", "1", "enter")
        assert it.screen.row_number == 41
        await it.press("]")
        assert it.screen.row_number == 42
        wanted = rows[100]["messages"][-1]["content"].split()[0:4]
        await it.press("/", *" ".join(wanted).lower(), "enter")
        found = it.screen.row_number
        assert " ".join(wanted).lower() in json.dumps(rows[found]).lower()
        assert "row" in "".join(text for text, _ in it.screen.query_one("#preview-heading", Heading).note)
        await it.press("escape")
        assert it.screen.table.has_focus


async def test_checks_name_the_place_and_offer_repairs_as_differences(opened: Any, template: Path) -> None:
    data = template / "data" / "train.jsonl"
    sound = data.read_bytes()
    data.write_bytes(sound.replace(b"\n", b"\r\n"))
    async with opened(template) as it:
        states = {entry.path.name: entry.state for entry in it.screen.table.items}
        assert states["train.jsonl"] == "warning"
        assert states["rl-job.yaml"] == "ok"
        assert states["answer.py"] == "ok"
        await it.press("c")
        assert it.screen.findings.has_focus
        row = next(item for item in it.screen.findings.items if "train.jsonl" in item.finding.path)
        it.screen.findings.move_to(row.key)
        await it.press("f7")
        assert isinstance(it.app.screen, Difference)
        await it.press("y")
        assert data.read_bytes() == sound
        assert not it.screen.findings.items


async def test_enter_on_a_finding_goes_to_its_line(opened: Any, template: Path) -> None:
    lines = (template / "data" / "train.jsonl").read_text().splitlines()
    lines[6] = "{broken"
    (template / "data" / "train.jsonl").write_text("\n".join(lines) + "\n")
    async with opened(template) as it:
        await it.press("c")
        await it.press("enter")
        assert it.screen.switcher.current == "preview-rows"
        assert it.screen.row_number == 6
        assert "broken" in it.row_text
    path = template / "rl-job.yaml"
    (template / "data" / "train.jsonl").write_text("\n".join(lines[:6]) + "\n")
    path.write_text(path.read_text().replace("batch_size", "bach_size", 1))
    async with opened(template) as it:
        await it.press("c")
        row = next(item for item in it.screen.findings.items if "bach_size" in item.finding.message)
        it.screen.findings.move_to(row.key)
        await it.press("enter")
        assert isinstance(it.app.screen, JobFileScreen)


async def test_files_are_made_renamed_and_deleted_after_a_question(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.go("rl-job.yaml")
        await it.press("n", *"notes/plan.md", "enter")
        assert "notes/plan.md" in it.names
        assert it.screen.table.current is not None
        assert it.screen.table.current.path.name == "plan.md"
        await it.press("r")
        for _ in range(len("notes/plan.md")):
            await it.pilot.press("backspace")
        await it.press(*"计划.md", "enter")
        assert (template / "计划.md").exists()
        await it.press("n", *"../../out.txt", "enter")
        assert "outside" in it.app.problems.items[-1].message
        await it.go("计划.md")
        await it.press("D")
        assert isinstance(it.app.screen, Confirm)
        await it.press("enter")
        assert (template / "计划.md").exists()
        await it.press("D", "y")
        assert not (template / "计划.md").exists()


async def test_a_file_is_edited_in_place(opened: Any, template: Path) -> None:
    path = template / "requirements.txt"
    before = path.read_text()
    async with opened(template) as it:
        await it.go("requirements.txt")
        await it.press("e")
        assert it.screen.editor.has_focus
        await it.press("#", "ctrl+s")
        assert path.read_text() == f"#{before}"
        await it.press("x", "escape")
        assert isinstance(it.app.screen, Choose)
        await it.press("down", "down", "enter")
        assert path.read_text() == f"#{before}"
        assert it.screen.table.has_focus


async def test_a_workspace_is_written_from_a_template_and_another_opened(opened: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "empty", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "only.md").write_text("# 二\n")
    async with opened(first) as it:
        await it.press("N")
        await it.press("enter")
        await it.press("enter")
        assert (first / "rl-job.yaml").is_file()
        assert "rl-job.yaml" in it.names
        await it.press("w", *str(second), "enter")
        assert it.app.settings.workspace == second
        assert [entry.path.name for entry in it.screen.table.items] == ["only.md"]
        assert {visit.path for visit in Recent().visits()} == {first, second}
        await it.press("3")
        assert isinstance(it.app.screen, JobFileScreen)
        assert it.app.screen.path is None
        await it.press("1")
        await it.press("w")
        await it.press("enter")
        assert it.app.settings.workspace == first


async def test_changes_by_others_are_seen(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        it.screen.watch_files()
        await it.wait()
        (template / "functions" / "reward" / "more.py").write_text("def broken(:\n")
        it.screen.watch_files()
        await it.wait()
        assert "functions/reward/more.py" in it.names


async def test_storms_of_sizes_keep_the_place(opened: Any, template: Path) -> None:
    async with opened(template, (80, 24)) as it:
        await it.go("data/train.jsonl")
        for step in range(12):
            await it.pilot.resize_terminal(40 + step * 13 % 120, 12 + step * 7 % 50)
        await it.pilot.resize_terminal(80, 24)
        await it.wait()
        assert it.screen.table.has_focus
        assert it.screen.table.current is not None
        assert it.screen.table.current.path.name == "train.jsonl"


async def test_a_large_workspace_opens_with_its_folders_closed(scenes: Any, settle: Any, tmp_path: Path) -> None:
    root = tmp_path / "large"
    for folder in range(12):
        (root / f"d{folder:02}").mkdir(parents=True)
        for number in range(60):
            (root / f"d{folder:02}" / f"f{number}.txt").touch()
    (root / "z").mkdir()
    (root / "z" / "one.txt").touch()
    app = scenes.app(scenes.FakeBackend(), root, start_place="workspace")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert len(screen.table.items) < 200
        opened = {entry.path.name for entry in screen.table.items if entry.is_open}
        assert len(opened) < 12
        closed = next(entry for entry in screen.table.items if entry.is_folder and not entry.is_open)
        screen.table.move_to(str(closed.path))
        before = len(screen.table.items)
        await pilot.press("l")
        await settle(pilot)
        assert len(screen.table.items) == before + 60


async def test_pipes_and_links_into_nothing_are_never_waited_for(opened: Any, template: Path) -> None:
    for name in ("pipe.py", "pipe.jsonl", "pipe.yaml", "pipe.txt"):
        os.mkfifo(template / name)
    (template / "round").symlink_to("round")
    (template / "zero.jsonl").symlink_to("/dev/zero")
    async with opened(template) as it:
        for name in ("pipe.py", "pipe.jsonl", "pipe.yaml", "pipe.txt", "zero.jsonl", "round"):
            await it.go(name)
            heading = it.screen.query_one("#preview-heading", Heading)
            assert heading.title == name
            assert it.screen.switcher.current == "preview-binary"
            await it.press("e")
            assert not it.screen.is_editing
        assert "pipe.py is no regular file" in [problem.message for problem in it.app.problems.items]


async def test_a_very_long_line_is_looked_at_by_lines_and_not_edited(opened: Any, template: Path) -> None:
    (template / "long.py").write_text(f'x = "{"y" * 200_001}"\n')
    async with opened(template) as it:
        await it.go("long.py")
        assert it.screen.switcher.current == "preview-lines"
        await it.press("e")
        assert not it.screen.is_editing
        assert it.app.problems.items[-1].message == "long.py has a line of more than 200,000 characters"
