"""The charts of a job, by keys."""

import re
from pathlib import Path
from typing import Any

from streaming import log_view

from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.widgets.panels import Note


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
