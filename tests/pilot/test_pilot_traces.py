"""Traces by keys: the list, one run, its payloads, files, and the tab of a job."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentic_rl_tui.app.present.traces import counted
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.traces import TracesScreen
from agentic_rl_tui.app.screens.traces_list import TraceList
from agentic_rl_tui.app.screens.traces_run import TraceScreen
from agentic_rl_tui.core.tracing.model import Counted, Run, Span
from agentic_rl_tui.widgets import ansi
from agentic_rl_tui.widgets.bars import HeaderBar, Heading, TabBar
from agentic_rl_tui.widgets.panels import Empty, Note


def text_of(spans: Any) -> str:
    return "".join(text for text, _ in spans)


def test_counts_are_never_cut() -> None:
    assert [counted(Counted(*pair), 7) for pair in ((0, 0), (4, 4), (0, 2), (2499, 2500), (2500, 2500))] == [
        [("–", "$faint")],
        [("4/4", "$muted")],
        [("0/2", "$warn")],
        [("-1", "$warn")],
        [("2500", "$muted")],
    ]


async def open_traces(app: Any, pilot: Any, settle: Any) -> TraceList:
    await settle(pilot)
    await pilot.press("5")
    await settle(pilot)
    assert isinstance(app.screen, TracesScreen)
    return app.screen.query_one(TraceList)


async def test_runs_with_what_is_missing_and_filters(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(160, 40)) as pilot:
        runs = await open_traces(app, pilot, settle)
        heading = app.screen.query_one(Heading)
        assert text_of(heading.facts) == "4 runs  1 not fully traced"
        assert app.focused is runs.table
        await pilot.press("u")
        await settle(pilot)
        assert [run.completeness.text for run in runs.table.items] == [
            "LLM 2/2, tools 0/1: trace_tool() was never called"
        ]
        await pilot.press("escape")
        await settle(pilot)
        assert len(runs.table.items) == 4
        await pilot.press("e")
        await settle(pilot)
        assert [run.status for run in runs.table.items] == ["timeout"]
        await pilot.press("escape", "slash", *"Answer", "enter")
        await settle(pilot)
        assert [run.function for run in runs.table.items] == ["AnswerReward"]
        assert [chip.text for chip in heading.chips] == ["/ Answer"]


async def test_a_run_by_time_with_payloads(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=(140, 44)) as pilot:
        await open_traces(app, pilot, settle)
        await pilot.press("enter")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, TraceScreen)
        names = [row.span.name for row in screen.table.items]
        assert names == [
            "invoke_agentic_rl",
            "invoke_rollout CalcRollout",
            "chat practice",
            "execute_tool calculator",
            "chat practice",
        ]
        assert [row.depth for row in screen.table.items] == [0, 1, 2, 2, 2]
        facts = [text_of(line) for line in screen.query_one("#trace-facts", Note).lines]
        assert facts[1] == "● LLM 2/2, tools 1/1"
        await pilot.press("j", "j")
        await settle(pilot)
        lines = [ansi.text_of(line) for line in screen.payload.source.lines(0, 100)]
        assert "▌ user" in lines
        assert "  How many pens are in 7 boxes of 12?" in lines
        assert '  → calculator {"expression": "12 * 7"}' in lines
        await pilot.press("m")
        await settle(pilot)
        assert '    "role": "user",' in screen.payload.source.lines(0, 100)
        await pilot.press("left", "left")
        await settle(pilot)
        assert len(screen.table.items) == 2
        await pilot.press("right", "slash", *"tool_call", "enter")
        await settle(pilot)
        assert [row.span.name for row in screen.table.rows()] == ["chat practice", "chat practice"]
        await pilot.press("enter")
        assert app.focused is screen.payload
        await pilot.press("escape", "escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, TracesScreen)


async def test_the_tab_of_a_job_shows_its_runs_only(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("[")
        await settle(pilot)
        assert app.screen.query_one(TabBar).active == "traces"
        runs = app.screen.query_one(TraceList)
        assert [run.kind for run in runs.table.items] == ["rollout"] * 3
        assert text_of(app.screen.query_one(TabBar).note) == "3 runs  1 not fully traced"
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, TraceScreen)
        assert app.screen.query_one(HeaderBar).active == "jobs"


async def test_the_trace_of_a_rollout_among_the_trajectories(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for key in ("enter", "left_square_bracket", "left_square_bracket", "T"):
            await pilot.press(key)
            await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        for key in ("enter", "j", "enter", "right", "right", "T"):
            await pilot.press(key)
            await settle(pilot)
        assert isinstance(app.screen, TraceScreen)
        assert app.screen._run is not None
        assert app.screen._run.rollout_id == "train-28-31-2"
        assert app.screen.query_one(HeaderBar).active == "jobs"
        # Back among the trajectories; the first rollout of the group left no trace.
        for key in ("escape", "left", "left", "enter", "T"):
            await pilot.press(key)
            await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        assert app.screen.query_one("#trajectories").level == "talk"


async def test_two_runs_of_one_trace_open_each_its_own(scenes: Any, settle: Any) -> None:
    """Both came from one caller, whose span is the parent of their outermost and is not there."""
    backend = scenes.sample_backend()
    trace_id = "d" * 32
    joined = []
    for _run, spans in backend.kept_traces[:2]:
        moved = tuple(replace(span, trace_id=trace_id, parent_id=span.parent_id or "e" * 16) for span in spans)
        joined.append((Run.over(moved, function=f"F{len(joined)}", kind="rollout"), moved))
    backend.kept_traces = joined
    app = scenes.app(backend)
    async with app.run_test(size=(140, 44)) as pilot:
        runs = await open_traces(app, pilot, settle)
        seen = []
        for _ in range(2):
            await pilot.press("enter")
            await settle(pilot)
            screen = app.screen
            assert isinstance(screen, TraceScreen)
            await pilot.press("left", "left")
            assert screen.table.items[0].depth == screen.table.cursor == 0
            seen.append({row.span.span_id for row in screen.table.items})
            assert screen._run is not None
            assert screen._run.run_id in seen[-1]
            await pilot.press("escape", "j")
            await settle(pilot)
        assert len(runs.table.items) == 2
        assert not seen[0] & seen[1]


async def test_export_and_import(scenes: Any, settle: Any, tmp_path: Path) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend, workspace=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        runs = await open_traces(app, pilot, settle)
        await pilot.press("space", "space", "s", "enter")
        await settle(pilot)
        target = tmp_path / "traces.json"
        spans = json.loads(target.read_text())["resourceSpans"]
        assert len(spans) == 2
        backend.kept_traces = []
        await pilot.press("I", *str(target), "enter")
        await settle(pilot)
        assert [run.spans for run in runs.table.items] == [5, 4]
        await pilot.press("s", "enter")
        await settle(pilot)
        assert "cannot be written" in app.problems.items[-1].message or "exists" in app.problems.items[-1].message


async def test_nothing_to_show_says_why(scenes: Any, settle: Any) -> None:
    backend = scenes.FakeBackend()
    app = scenes.app(backend)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await open_traces(app, pilot, settle)
        assert runs.query_one(Empty).title == "No traces yet"
        await pilot.press("s")
        await settle(pilot)

        async def not_ours(query: dict[str, Any]) -> None:
            return None

        backend.traces = not_ours
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert runs.query_one(Empty).title == "The service keeps these traces"


def many(count: int, payload: str) -> tuple[Run, tuple[Span, ...]]:
    spans = [
        Span(
            "ab" * 16,
            f"{number:016x}",
            None if number == 0 else f"{(number - 1) // 8:016x}",
            f"chat m{number}",
            "CLIENT",
            number * 1000,
            (count + number) * 1000,
            {"gen_ai.span.kind": "LLM", "gen_ai.output.messages": payload if number == 1 else "[]"},
        )
        for number in range(count)
    ]
    return Run.over(spans, function="Many", kind="rollout"), tuple(spans)


async def test_five_thousand_spans_and_two_megabytes(scenes: Any, settle: Any) -> None:
    backend = scenes.FakeBackend()
    text = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "数x" * 1_000_000}]}])
    backend.kept_traces = [many(5_000, text)]
    app = scenes.app(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_traces(app, pilot, settle)
        began = time.perf_counter()
        await pilot.press("enter")
        await settle(pilot)
        opened_s = time.perf_counter() - began
        screen = app.screen
        assert isinstance(screen, TraceScreen)
        assert screen.table.row_count == 5_000
        await pilot.press("j")
        await settle(pilot)
        assert len(screen.payload.source) > 1_000
        await pilot.press("enter", "pagedown", "pagedown", "G")
        await settle(pilot)
        assert screen.payload.last_seen == screen.payload.line_count
        print(f"5,000 spans opened in {opened_s:.3f} s")
