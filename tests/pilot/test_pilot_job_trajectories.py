"""The trajectories of a job, by keys: steps, samples, groups, conversations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.bars import KeyBar, TabBar
from agentic_rl_tui.widgets.logview import LogView


async def to_trajectories(pilot: Any, settle: Any, *keys: str) -> Any:
    """The trajectories of the running job, then the keys, each given time."""
    await settle(pilot)
    for key in ("enter", "left_square_bracket", "left_square_bracket", *keys):
        await pilot.press(key)
        await settle(pilot)
    return pilot.app.screen.query_one("#trajectories")


def text_of(view: LogView) -> str:
    return "\n".join(view.source.lines(0, 10_000))


async def test_trajectories_go_four_levels_deep_and_back(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter", "right", "enter")
        assert (pane.level, pane.talking) == ("talk", "1")
        assert "calculator" in text_of(pane.talk)
        assert "expected" in text_of(pane.talk)
        labels = []
        for _ in range(4):
            labels.append(app.screen.query_one(KeyBar).hints[-1].label)
            await pilot.press("escape")
            await settle(pilot)
        assert labels == ["back to the group", "back to the samples", "back to the steps", "back to jobs"]
        assert isinstance(app.screen, JobsScreen)


async def test_new_steps_show_while_the_steps_are_looked_at(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    job_id = next(iter(backend.store))
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await to_trajectories(pilot, settle)
        assert pane.steps.items[0].step == 28
        backend.trajectory_pages[job_id]["steps"].append(
            {"step": 29, "phase": "train", "rollouts": 64, "failed_rollouts": 2, "failed_rewards": 3}
        )
        job = backend.store[job_id]
        progress = job.progress.model_copy(update={"step": 29})
        backend.store[job_id] = job.model_copy(update={"progress": progress})
        await pilot.press("ctrl+r")
        await settle(pilot)
        newest = pane.steps.items[0]
        assert (newest.step, newest.failed_rollouts, newest.failed_rewards) == (29, 2, 3)


async def test_samples_without_spread_tell_their_prompts_and_causes(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(200, 60)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter")
        rows = {row.sample: row for row in pane.samples.items}
        assert all(row.is_read for row in rows.values())
        assert rows[0].facts.spread == "all_max"
        assert rows[0].facts.cause == "too_easy"
        assert rows[217].facts.failed_rollouts == 1
        assert "candles" in rows[31].facts.prompt
        await pilot.press("f")
        await settle(pilot)
        assert [row.sample for row in pane.samples.rows()] == [0, 93, 186]
        await pilot.press("f")
        await settle(pilot)
        assert [row.sample for row in pane.samples.rows()] == [217]
        await pilot.press("escape", "slash", *"reward:0.6..0.8 candles", "enter")
        await settle(pilot)
        assert [row.sample for row in pane.samples.rows()] == [62, 124, 217]
        assert any("3 of 8 samples" in text for text, _ in app.screen.query_one(TabBar).note)
        await pilot.press("o", "o")
        await settle(pilot)
        assert [row.mean for row in pane.samples.rows()] == sorted(row.mean for row in pane.samples.rows())


@pytest.mark.parametrize(("width", "fits"), [(80, 2), (120, 3), (200, 5)])
async def test_as_many_rollouts_side_by_side_as_fit_and_the_rest_by_pages(
    scenes: Any, settle: Any, width: int, fits: int
) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(width, 24)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter")
        group = pane.group
        assert group.fitting == fits
        assert group.at_line == group.prefix == 2
        assert "2 turns that all share" in group.render_line(3).text
        await pilot.press(*["right"] * 7)
        await settle(pilot)
        assert group.current == "7"
        assert group.first == 8 - fits
        assert "rollout 7" in group.render_line(0).text
        seen = []
        for _ in range(6):
            seen.append(group.at_line)
            await pilot.press("n")
        assert seen[: len(group.differences)] == list(group.differences)
        await pilot.press("z", "u")
        await settle(pilot)
        assert any("Salma sorts" in group.render_line(y).text for y in range(24))


async def test_the_same_sample_a_step_earlier_and_later(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter")
        await pilot.press("comma")
        await settle(pilot)
        assert (pane.place.step, pane.place.sample, pane.level) == (20, 31, "group")
        await pilot.press("right", "enter", "full_stop")
        await settle(pilot)
        assert (pane.place.step, pane.place.sample, pane.level, pane.talking) == (28, 31, "talk", "1")
        await pilot.press("full_stop")
        await settle(pilot)
        assert any("no other step" in note.message for note in app._notifications)
        await pilot.press("escape", "escape", "comma")
        await settle(pilot)
        assert (pane.place.step, pane.level) == (27, "samples")


async def test_a_conversation_is_searched_like_a_log(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter", "enter")
        await pilot.press("slash", *"90", "enter")
        await settle(pilot)
        # Never a colour sequence, which the conversation has of its own.
        assert "About 90" in pane.talk.source.lines(pane.talk.match_line, pane.talk.match_line + 1)[0]
        await pilot.press("escape", "slash", *"candles", "enter")
        await settle(pilot)
        assert "candles" in pane.talk.source.lines(pane.talk.match_line, pane.talk.match_line + 1)[0]
        assert app.screen.query_one(KeyBar).hints[-1].label == "clear search"
        await pilot.press("escape")
        assert pane.talk.pattern is None
        assert pane.level == "talk"


async def test_marked_rollouts_and_samples_are_saved_as_json_lines(scenes: Any, settle: Any, tmp_path: Path) -> None:
    app = scenes.app(scenes.sample_backend(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter", "space", "right", "right", "space")
        await pilot.press("s", "enter")
        await settle(pilot)
        saved = tmp_path / "calc-agent-3f2a.rollouts.jsonl"
        assert [json.loads(line)["rollout"] for line in saved.read_text().splitlines()] == [0, 2]
        await pilot.press("escape", "escape", "g", "space", "space")
        await pilot.press("s", "end", *["backspace"] * 6, *"2.jsonl", "enter")
        await settle(pilot)
        assert pane.level == "samples"
        assert list(app.problems.items) == []
        lines = (tmp_path / "calc-agent-3f2a.rollouts2.jsonl").read_text().splitlines()
        assert len(lines) == 16


HOSTILE = "\x1b]0;owned\x07\x1b[2J[bold]x[/bold]\u202edrow\u200bw\u2066 \r\n\x9b31m\t|"


async def test_nothing_in_a_rollout_acts_or_freezes(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    job_id = next(iter(backend.store))
    bad = scenes.sample_rollout(0, 1.0)
    bad["messages"] += [{"role": HOSTILE, "content": HOSTILE * 3}, {"role": "tool", "content": "长" * 2_000_000}]
    bad["messages"] += [{"role": "assistant", "tool_calls": [{"function": {"name": HOSTILE, "arguments": HOSTILE}}]}]
    bad["scores"][0]["name"] = HOSTILE
    page = {"step": 28, "sample": 31, "rollouts": [bad, scenes.sample_rollout(1, 0.2)]}
    backend.trajectory_pages[f"{job_id}/28/31"] = page
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await to_trajectories(pilot, settle, "enter", "j", "enter", "z")
        shown = [pane.group.render_line(y) for y in range(pane.group.size.height)]
        await pilot.press("G")
        shown += [pane.group.render_line(y) for y in range(pane.group.size.height)]
        await pilot.press("enter")
        await settle(pilot)
        for _ in range(3):
            shown += [pane.talk.render_line(y) for y in range(pane.talk.size.height)]
            await pilot.press("pagedown")
        assert any("[bold]x[/bold]" in strip.text for strip in shown)
        for strip in shown:
            assert not re.search("[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", strip.text)
            assert strip.cell_length <= 80
