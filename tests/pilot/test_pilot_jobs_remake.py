"""From one job to another, by keys: clone, go on, the file it came from, comparison; notes and pins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.widgets import TextArea

from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.difference import Difference
from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.app.screens.job_note import NoteDialog
from agentic_rl_tui.app.screens.jobfile import JobFileScreen
from agentic_rl_tui.app.screens.jobs import JobsScreen
from agentic_rl_tui.core.models.errors import Unreachable
from agentic_rl_tui.core.sdk.clone import Start
from agentic_rl_tui.core.sdk.origins import Code, Data, Origin
from agentic_rl_tui.widgets.diff import DiffView
from agentic_rl_tui.widgets.panels import Note

SIZE = (120, 40)


def names(screen: Any) -> list[str]:
    return [row.name for row in screen.table.rows()]


def told(app: Any) -> list[str]:
    return [note.message for note in app._notifications]


def origin(job_id: str, job_file: Path | str = "", **facts: Any) -> Origin:
    given = {"values": {"name": "calc", "model": {"name": "m"}}, **facts}
    return Origin(job_id, "/w", str(job_file), "", **given)


async def test_a_job_becomes_a_new_job_file_that_opens(scenes: Any, settle: Any, workspace: Path) -> None:
    backend = scenes.sample_backend()
    backend.cloned = workspace / "rl-job.yaml"
    app = scenes.app(backend, workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("C")
        await settle(pilot)
        assert backend.calls == [("clone", next(iter(backend.store)))]
        assert isinstance(app.screen, JobFileScreen)
        assert app.screen.path == workspace / "rl-job.yaml"
        assert any("rl-job.yaml" in text for text in told(app))


async def test_going_on_offers_the_checkpoints_with_the_best_first(scenes: Any, settle: Any, workspace: Path) -> None:
    backend = scenes.sample_backend()
    backend.cloned = workspace / "rl-job.yaml"
    done = list(backend.store)[2]
    backend.starts[done] = (Start("m@step-48", 48, 0.91, is_best=True), Start("m", is_output=True))
    app = scenes.app(backend, workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("R")
        await settle(pilot)
        assert any("no checkpoint" in text for text in told(app))
        await pilot.press("j", "j", "R")
        await settle(pilot)
        assert isinstance(app.screen, Choose)
        assert app.screen.table.current.label == "step 48"
        await pilot.press("enter")
        await settle(pilot)
        assert backend.calls == [("clone", f"{done} m@step-48")]


async def test_the_file_a_job_came_from_opens_or_says_why_not(scenes: Any, settle: Any, workspace: Path) -> None:
    backend = scenes.sample_backend()
    _first, second, third = list(backend.store)[:3]
    backend.origins = {
        second: origin(second, workspace / "gone.yaml"),
        third: origin(third, workspace / "rl-job.yaml"),
    }
    app = scenes.app(backend, workspace)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("F")
        await settle(pilot)
        assert "not submitted from a file of this machine" in told(app)[-1]
        await pilot.press("j", "F")
        await settle(pilot)
        assert "is gone" in told(app)[-1]
        await pilot.press("j", "F")
        await settle(pilot)
        assert isinstance(app.screen, JobFileScreen)
        assert any("was changed since" in text for text in told(app))


async def test_two_marked_jobs_are_compared_the_older_one_first(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    new, _queued, old = list(backend.store)[:3]
    backend.store[new] = backend.store[new].model_copy(update={"model": "qwen3.5-32b"})
    backend.origins = {
        old: origin(old, values=values("a"), functions=(Code("reward", "answer", "f.A", "aaaa"),)),
        new: origin(
            new,
            values=values("b\x1b[31m"),
            functions=(Code("reward", "answer", "f.A", "bbbb"),),
            datasets=(Data("training", "数据.jsonl", "file-1", "cccc", 9, 3),),
        ),
    }
    app = scenes.app(backend)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("space", "j", "space", "equals_sign")
        await settle(pilot)
        assert backend.calls == [("compare", f"{old} {new}")]
        assert isinstance(app.screen, Difference)
        lines = app.screen.query_one(DiffView).lines
        shown = [f"{line.tag}{line.text}" for line in lines]
        assert "-model.name: a" in shown
        assert any(text.startswith("+model.name: b") for text in shown)
        assert not any("\x1b" in text for text in shown)
        assert any(text.startswith("-reward answer") for text in shown)
        assert any("数据.jsonl" in text for text in shown)
        await pilot.press("escape")
        assert isinstance(app.screen, JobsScreen)


def values(model: str) -> dict[str, Any]:
    return {"name": "x", "model": {"name": model}, "training": {"hyper_parameters": {"batch_size": 8}}}


async def test_a_job_on_its_own_screen_is_compared_with_one_that_is_chosen(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        await pilot.press("equals_sign")
        await settle(pilot)
        assert isinstance(app.screen, Choose)
        assert len(app.screen.table.items) == 7
        await pilot.press(*"routing", "enter")
        await settle(pilot)
        assert isinstance(app.screen, Difference)
        reasons = "\n".join(text for line in app.screen.query_one("#diff-reasons", Note).lines for text, _ in line)
        assert "Not submitted from this machine" in reasons


async def test_what_fails_is_told_and_nothing_opens(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        backend.broken = Unreachable("no route [/red]")
        for key in ("C", "R", "equals_sign"):
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, JobsScreen)
        assert [item.title for item in app.problems.items] == [
            "Could not clone calc-agent-3f2a",
            "Could not read the checkpoints of calc-agent-3f2a",
            "Could not read the jobs",
        ]


async def test_read_only_writes_no_job_file(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    app = scenes.app(backend, is_read_only=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("C", "R")
        await settle(pilot)
        assert backend.calls == []
        assert sum("read-only" in text for text in told(app)) == 2


async def test_a_note_is_written_shown_found_and_there_at_the_next_start(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend(), keeps_notes=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "a")
        await settle(pilot)
        assert isinstance(app.screen, NoteDialog)
        app.screen.query_one(TextArea).insert("学习率太高\nsecond")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert app.screen.table.current.note == "学习率太高 · second"
        await pilot.press("slash", *"note:second", "enter")
        await settle(pilot)
        assert names(app.screen) == ["calc-agent-11d0"]
        await pilot.press("enter")
        await settle(pilot)
        lines = ["".join(text for text, _ in line) for line in app.screen.query_one("#job-note", Note).lines]
        assert lines == ["✎ 学习率太高", "  second"]
    app = scenes.app(scenes.sample_backend(), keeps_notes=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert [row.note for row in app.screen.table.items if row.note] == ["学习率太高 · second"]
        await pilot.press("j", "j", "a")
        await settle(pilot)
        await pilot.press("ctrl+a", "delete", "escape")
        await settle(pilot)
        assert app.notes.all()
        await pilot.press("D", "tab", "enter")
        await settle(pilot)
        assert [note.gone_at > 0 for note in app.notes.all().values()] == [True]


async def test_pinned_jobs_stay_on_top_in_every_order(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j", "P")
        await settle(pilot)
        screen = app.screen
        assert names(screen)[0] == "calc-agent-77aa"
        assert screen.table.current.name == "calc-agent-77aa"
        await pilot.press("o", "o", "O")
        assert names(screen)[0] == "calc-agent-77aa"
        await pilot.press("slash", *"pinned", "enter")
        await settle(pilot)
        assert names(screen) == ["calc-agent-77aa"]
        await pilot.press("P")
        await settle(pilot)
        assert names(screen) == []


async def test_a_pinned_job_of_a_page_that_is_not_read_is_fetched(scenes: Any, settle: Any) -> None:
    jobs = [scenes.job(number, f"job-{number:03}", "SUCCEEDED", number * 60) for number in range(250)]
    app = scenes.app(scenes.FakeBackend(jobs))
    app.notes.pin([jobs[240].job_id, "ft-gone"], is_pinned=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert names(app.screen)[:2] == ["job-240", "job-000"]
        assert "ft-gone" not in app.notes.all()
        assert len(app.screen.table.items) == 101


def test_a_mark_of_note_and_pin_leaves_room_for_the_name(scenes: Any) -> None:
    from agentic_rl_tui.app.present.jobs import JOB_COLUMNS, job_row
    from agentic_rl_tui.widgets.cells import width_of

    row = replace(job_row(scenes.sample_jobs()[5], now=scenes.NOW, zone=scenes.ZONE), note="x", is_pinned=True)
    column = next(column for column in JOB_COLUMNS if column.key == "name")
    cell = column.cell(row, 16)
    assert width_of(cell) <= 16  # type: ignore[arg-type]
