"""One job, by keys: tabs, the live log, search, charts, trajectories."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.backend import LogChunk, LogNote
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.job_logs import JobLogs
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.widgets.bars import KeyBar, TabBar
from agentic_rl_tui.widgets.logview import LogView
from agentic_rl_tui.widgets.panels import Empty, Note


def log_view(app: Any) -> LogView:
    view = app.screen.query_one("#log-view", LogView)
    assert isinstance(view, LogView)
    return view


class Streaming:
    """Log chunks that a test hands out one by one."""

    def __init__(self, backend: Any) -> None:
        self.queue: asyncio.Queue[LogChunk | LogNote | None] = asyncio.Queue()
        self.offsets: list[int] = []
        backend.follow = self.follow

    async def follow(self, job_id: str, offset: int = 0) -> AsyncIterator[LogChunk | LogNote]:
        self.offsets.append(offset)
        while (item := await self.queue.get()) is not None:
            yield item


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


async def test_the_log_follows_until_scrolled_up_and_g_resumes(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        view = log_view(app)

        async def send(first: int, count: int) -> None:
            lines = tuple(f"line {number}" for number in range(first, first + count))
            await stream.queue.put(LogChunk(first, lines, first + count))
            await settle(pilot)

        await send(0, 100)
        assert view.last_seen == 100
        await pilot.press("k")
        top = view.top
        await send(100, 50)
        assert not view.is_following
        assert view.top == top
        await pilot.press("G")
        await send(150, 50)
        assert view.is_following
        assert view.last_seen == 200


async def test_a_repeat_after_a_reconnect_is_shown_once_and_the_trouble_is_told(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("a", "b", "c"), 3))
        await stream.queue.put(LogNote("reconnecting in 2 s", is_trouble=True))
        await settle(pilot)
        assert any("reconnecting" in text for text, _ in app.screen.query_one(TabBar).note)
        await stream.queue.put(LogChunk(1, ("b", "c", "d"), 4))
        await settle(pilot)
        assert list(app.screen.feed.source.lines(0, 9)) == ["a", "b", "c", "d"]
        assert not any("reconnecting" in text for text, _ in app.screen.query_one(TabBar).note)
        await stream.queue.put(None)
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert stream.offsets == [0, 4]


async def test_search_finds_goes_round_and_escape_clears_it_before_leaving(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        view = log_view(app)
        await pilot.press("g", "slash", *"WARNING", "enter")
        await settle(pilot)
        lines = app.screen.feed.source.lines(0, 10_000)
        wanted = [number for number, line in enumerate(lines) if "WARNING" in line]
        assert view.match_line == wanted[0]
        found = []
        for _ in wanted:
            await pilot.press("n")
            await settle(pilot)
            found.append(view.match_line)
        assert found == [*wanted[1:], wanted[0]]
        await pilot.press("N")
        await settle(pilot)
        assert view.match_line == wanted[-1]
        await pilot.press("escape")
        assert view.pattern is None
        assert isinstance(app.screen, JobScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, JobsScreen)


async def test_next_error_and_go_to_line(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "l")
        await settle(pilot)
        view = log_view(app)
        await pilot.press("g", "e")
        await settle(pilot)
        assert "ERROR" in app.screen.feed.source.lines(view.match_line, view.match_line + 1)[0]
        await pilot.press("ctrl+g", "2", "enter")
        await settle(pilot)
        assert view.top == 0
        await pilot.press("ctrl+g", "x", "enter")
        await settle(pilot)
        assert any("no line number" in note.message for note in app._notifications)


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


def charts_of(app: Any) -> dict[str, Any]:
    return {chart.heading: chart for chart in app.screen.query("Chart")}


async def to_metrics(pilot: Any, settle: Any, *keys: str) -> Any:
    await settle(pilot)
    for key in ("enter", "]", "]"):
        await pilot.press(key)
        await settle(pilot)
    await settle(pilot)
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    return pilot.app.screen.query_one("#metrics")


async def test_charts_are_read_from_the_log(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await to_metrics(pilot, settle)
        charts = charts_of(app)
        reward = charts["Reward"]
        assert [line.label for line in reward.lines] == ["training", "validation", "greatest", "least"]
        assert len(reward.lines[0].values) == 28
        assert reward.lines[1].steps == (16,)
        wanted = {"Groups without spread", "Spread of rewards", "Each reward", "Response length", "Seconds a rollout"}
        assert wanted | {"Failures"} <= charts.keys()


async def test_the_cursor_tells_the_values_of_a_step_and_escape_drops_it(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await to_metrics(pilot, settle, "left", "left", "left")
        assert pane.cursor == 26
        reward = charts_of(app)["Reward"]
        shown = reward.render().plain.splitlines()[0]
        assert f"{reward.lines[0].values[25]:.4g}" in shown
        assert "@16" in shown
        facts = "\n".join(
            "".join(text for text, _ in line) for line in app.screen.query_one("#metrics-step", Note).lines
        )
        assert "step 26" in facts
        assert "of 8 groups without spread" in facts
        assert "all max" in facts
        assert "rollout FAILED" in facts or "rollouts FAILED" in facts
        await pilot.press("shift+left", "shift+left", "shift+left")
        await settle(pilot)
        assert pane.cursor == 1
        await pilot.press("escape")
        await settle(pilot)
        assert pane.cursor is None
        assert isinstance(app.screen, JobScreen)


async def test_curves_are_smoothed_and_drawn_on_a_log_scale(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await to_metrics(pilot, settle, "m")
        line = charts_of(app)["Reward"].lines[0]
        assert len(line.raw) == len(line.values) == 28
        assert line.values != line.raw
        await pilot.press("m", "m", "m")
        await settle(pilot)
        assert charts_of(app)["Reward"].lines[0].raw == ()
        await pilot.press("L")
        await settle(pilot)
        assert charts_of(app)["Response length"].draws_log
        assert not charts_of(app)["Failures"].draws_log
        assert "log" in charts_of(app)["Response length"].render().plain


async def test_the_curves_of_other_jobs_lie_over_these_and_are_saved_together(
    scenes: Any, settle: Any, tmp_path: Path
) -> None:
    backend = scenes.sample_backend()
    ids = list(backend.store)
    for job_id in ids[2:5]:
        backend.logs[job_id] = scenes.sample_log(12)
    app = scenes.app(backend, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "space", "space", "g")
        pane = await to_metrics(pilot, settle, "o", "enter")
        assert list(pane.others) == ["calc-agent-11d0", "calc-agent-77aa"]
        lines = charts_of(app)["Reward · training"].lines
        legend = "".join(text for text, _ in app.screen.query_one("#metrics-step", Note).lines[0])
        assert legend.split() == ["━", "calc-agent-3f2a", "━", "calc-agent-11d0", "━", "calc-agent-77aa"]
        assert [len(line.values) for line in lines] == [28, 12, 12]
        await pilot.press("o", *"routing", "enter")
        await settle(pilot)
        assert len(pane.books) == 4
        await pilot.press("s", "enter")
        await settle(pilot)
        header, *rows = (tmp_path / "calc-agent-3f2a.csv").read_text().splitlines()
        assert header.startswith('"job","step","actor/entropy"')
        assert len(rows) == 28 + 3 * 12
        assert rows[-1].startswith("routing-tools-0c4e,12,")
        await pilot.press("O")
        await settle(pilot)
        assert "Reward" in charts_of(app)


async def test_enter_leads_from_a_step_to_its_groups_without_spread(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await to_metrics(pilot, settle, "enter")
        pane = app.screen.query_one("#trajectories")
        assert (app.screen.tab, pane.level, pane.place.step) == ("trajectories", "samples", 28)
        assert pane.filter_text == "flat"
        assert [row.sample for row in pane.samples.rows()] == [0, 93, 186]
        assert {row.facts.cause for row in pane.samples.rows()} == {"too_easy"}
        # Once more, with the tab already made and nothing left to wait for.
        await pilot.press("left_square_bracket")
        await settle(pilot)
        assert app.screen.tab == "metrics"
        await pilot.press("enter")
        await settle(pilot)
        assert (app.screen.tab, pane.level) == ("trajectories", "samples")
        assert not app.problems.items


async def test_hostile_names_and_endless_lines_neither_act_nor_freeze(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    job_id = next(iter(backend.store))
    name = "trace/reward_metrics/\x1b]0;owned\x07[bold]x\u202e\u200b/reward_score/avg"
    lines = [repr({"step": step, name: 0.5, f"{name}/b": 1, "critic/rewards/mean": 0.1 * step}) for step in range(9)]
    backend.logs[job_id] = [*lines, "x" * 5_000_000, "\x1b[2J" * 200_000]
    backend.logs[job_id] += [f"{{'step': 9, 'a/{number}': 1.0}}" for number in range(9_000)]
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await to_metrics(pilot, settle, "right", "m")
        assert len(pane.book.series) <= 5_000
        for chart in charts_of(app).values():
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", chart.render().plain)
        await pilot.press("l")
        await settle(pilot)
        await pilot.press("g", "w", "G", "k", "k", "d", "v", "v", "v", "v")
        await settle(pilot)
        view = log_view(app)
        assert all(view.render_line(y).cell_length <= 80 for y in range(view.size.height))


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


async def test_a_kept_log_is_read_without_the_platform_and_goes_on_where_it_ended(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    for turn in range(2):
        app = scenes.app(backend, keeps_logs=True)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            await pilot.press("l")
            await settle(pilot)
            if turn == 0:
                lines = ("one", "{'step': 1, 'critic/rewards/mean': 0.5}", "ERROR three")
                await stream.queue.put(LogChunk(0, lines, 3))
            await settle(pilot)
            assert app.screen.feed.source.lines(0, 1)[0] == "one"
            assert app.screen.feed.book.series["critic/rewards/mean"].values == [0.5]
            assert app.screen.feed.trouble == [(3, "ERROR three")]
            assert log_view(app).last_seen == 3
    assert stream.offsets == [0, 3]


async def test_a_shorter_log_under_the_same_id_starts_anew(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    stream = Streaming(backend)
    app = scenes.app(backend, keeps_logs=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("a", "b", "c"), 3))
        await settle(pilot)
        await stream.queue.put(LogChunk(1, ("y",), 2))
        await settle(pilot)
        await stream.queue.put(LogChunk(0, ("x", "y"), 2))
        await settle(pilot)
        assert list(app.screen.feed.source.lines(0, 9)) == ["x", "y"]
        assert stream.offsets == [0, 0]


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
