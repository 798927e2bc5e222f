"""A file of rollouts by keys: from the workspace and from everywhere, walked, filtered, saved, left."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opened import Opened

from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.dump import DumpScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.app.screens.workspace import WorkspaceScreen
from agentic_rl_tui.core.sdk.dumps import open_dump
from agentic_rl_tui.widgets.bars import Heading


def rollout(step: int, sample: int, number: int) -> dict[str, Any]:
    reward = 1.0 if sample == 0 else number / 2
    talk = [
        {"role": "user", "content": f"question {sample}"},
        {"role": "assistant", "content": f"answer {number} of step {step}"},
    ]
    row = {"step": step, "phase": "train", "sample": sample, "rollout": number, "reward": reward, "advantage": 0.0}
    return row | {"messages": talk}


@pytest.fixture
def root(workspace: Path) -> Path:
    rows = [rollout(step, sample, number) for step in (1, 2) for sample in (0, 1) for number in (0, 1, 2)]
    lines = [*map(json.dumps, rows), "{broken \x1b[31m[bold]"]
    (workspace / "data" / "rollouts.jsonl").write_text("\n".join(lines) + "\n")
    return workspace


@pytest.fixture
def opened(scenes: Any, settle: Any) -> Any:
    class Here(Opened):
        place = "workspace"

        @property
        def dump(self) -> DumpScreen:
            assert isinstance(self.app.screen, DumpScreen)
            return self.app.screen

        async def choose(self, name: str) -> None:
            assert self.app.screen.table.move_to(str(self.root / name))
            await self.wait()

    return partial(Here, scenes, settle)


async def test_a_file_of_the_workspace_is_walked_and_left(opened: Any, root: Path) -> None:
    async with opened(root, size=(80, 24)) as it:
        await it.choose("data/rollouts.jsonl")
        await it.press("t")
        screen, pane = it.dump, it.dump.trajectories
        heading = screen.query_one(Heading)
        assert heading.title == "rollouts.jsonl"
        assert "12 rollouts" in heading.facts[0][0]
        assert "1 line holds no rollout" in heading.chips[0].text
        assert "rollouts.jsonl:13" in it.app.problems.items[0].detail
        assert [(row.step, row.rollouts) for row in pane.steps.items] == [(2, 6), (1, 6)]
        await it.press("j", "enter")
        assert [row.facts.spread.value for row in pane.samples.items] == ["all_max", "spread"]
        await it.press("f")
        assert [row.sample for row in pane.samples.rows()] == [0]
        await it.press("escape", "j", "enter")
        assert (pane.level, pane.place.step, pane.place.sample) == ("group", 1, 1)
        await it.press("full_stop")
        assert (pane.place.step, pane.place.sample) == (2, 1)
        await it.press("right", "enter")
        assert pane.level == "talk"
        assert "answer 1 of step 2" in "\n".join(pane.talk.source.lines(0, 20))
        for _ in range(3):
            await it.press("escape")
        assert pane.level == "steps"
        await it.press("escape")
        assert isinstance(it.app.screen, WorkspaceScreen)


async def test_what_is_saved_opens_again(opened: Any, root: Path) -> None:
    async with opened(root) as it:
        await it.choose("data/rollouts.jsonl")
        await it.press("t")
        await it.press("enter")
        await it.press("s")
        await it.press("enter")
    with open_dump(root / "rollouts.rollouts.jsonl") as dump:
        assert dump.page(step=2, sample=0)["rollouts"] == [rollout(2, 0, n) for n in range(3)]


async def test_from_everywhere_by_choice_or_by_a_path(opened: Any, root: Path) -> None:
    async with opened(root) as it:
        await it.press("4")
        assert isinstance(it.app.screen, JobsScreen)
        await it.press("alt+t")
        dialog = it.app.screen
        assert isinstance(dialog, Choose)
        assert [item.label for item in dialog.table.items] == ["data/rollouts.jsonl", "the path that is typed"]
        await it.press(*"rollouts", "enter")
        assert len(it.dump.trajectories.steps.items) == 2
        await it.press("escape")
        await it.press("alt+t")
        await it.press(*"./data/train.jsonl", "enter")
        assert isinstance(it.app.screen, WorkspaceScreen)
        assert "holds no rollouts" in it.app.problems.items[-1].message


async def test_other_files_say_that_they_hold_none(opened: Any, root: Path) -> None:
    async with opened(root) as it:
        await it.choose("data/train.jsonl")
        await it.press("t")
        assert isinstance(it.app.screen, WorkspaceScreen)


async def test_a_file_that_grew_is_read_again(opened: Any, root: Path) -> None:
    async with opened(root) as it:
        await it.choose("data/rollouts.jsonl")
        await it.press("t")
        with (root / "data" / "rollouts.jsonl").open("a") as file:
            file.write(json.dumps(rollout(3, 0, 0)) + "\n")
        await it.press("ctrl+r")
        assert [row.step for row in it.dump.trajectories.steps.items] == [3, 2, 1]


async def test_a_folder_of_steps_is_walked_from_the_workspace_and_offered_as_one(opened: Any, root: Path) -> None:
    folder = root / "rollout_data"
    folder.mkdir()
    for step in (1, 2, 3):
        rows = [{"input": "q", "output": f"{step} {n}", "score": n / 2, "gts": "1", "step": step} for n in range(3)]
        (folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with opened(root, size=(80, 24)) as it:
        await it.choose("data")
        await it.press("t")
        assert isinstance(it.app.screen, WorkspaceScreen)
        await it.choose("rollout_data")
        await it.press("t")
        assert "9 rollouts · 3 files" in it.dump.query_one(Heading).facts[0][0]
        pane = it.dump.trajectories
        assert [row.step for row in pane.steps.items] == [3, 2, 1]
        await it.press("enter", "enter")
        assert (pane.level, pane.place.step, pane.group.columns[2].key) == ("group", 3, "2")
        await it.press("comma")
        assert pane.place.step == 2
        await it.press("escape", "escape", "escape", "alt+t")
        assert isinstance(it.app.screen, Choose)
        assert [item.label for item in it.app.screen.table.items][1:] == ["rollout_data/", "the path that is typed"]
