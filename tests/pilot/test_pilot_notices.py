"""Stalls and ends, as they are seen and told."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from agentic_rl_tui.app.screens.job import JobScreen
from agentic_rl_tui.core.models.errors import Unreachable
from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.paths import config_dir
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.panels import Note

SIZE = (120, 40)


def told(app: Any) -> list[str]:
    return [f"{note.title}: {note.message}" for note in app._notifications]


async def test_a_job_that_tells_nothing_new_is_marked_told_once_and_recovers(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    first = next(iter(backend.store))
    app = scenes.app(backend)
    now = [scenes.NOW]
    app.clock = lambda: now[0]
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for _ in range(2):
            now[0] += 3600
            await pilot.press("ctrl+r")
            await settle(pilot)
            app.screen._tick()
        await settle(pilot)
        row = app.screen.table.items[0]
        assert row.look.label == "◒ stalled"
        assert row.stalled_s == 7200
        assert [text for text in told(app) if "stalled" in text] == ["calc-agent-3f2a: ◒ stalled: nothing new for 1h"]
        facts = "".join(text for text, _ in app.screen.query_one("#jobs-heading", Heading).facts)
        assert "1 stalled" in facts
        await pilot.press("slash", *"status:stalled", "enter")
        await settle(pilot)
        assert app.screen.table.row_count == 1
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        lines = ["".join(text for text, _ in line) for line in app.screen.query_one("#job-timeline", Note).lines]
        assert any("nothing new for 2h00m" in line and "last at train" in line for line in lines)
        backend.store[first] = backend.store[first].model_copy(update={"progress": JobProgress(step=29)})
        await pilot.press("escape", "ctrl+r")
        await settle(pilot)
        assert app.screen.table.items[0].look.label == "● running"


async def test_ends_and_stalls_are_told_wherever_one_is_in_the_program(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    running, queued = list(backend.store)[:2]
    app = scenes.app(backend)
    now = [scenes.NOW]
    app.clock = lambda: now[0]
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot)
        for _ in range(2):
            now[0] += 3600
            app.watch_on()
            await settle(pilot)
        assert told(app) == ["calc-agent-3f2a: ◒ stalled: nothing new for 1h"]
        backend.store[running] = backend.store[running].model_copy(update={"status": "FAILED"})
        backend.broken = Unreachable("down")
        app.watch_on()
        await settle(pilot)
        assert len(told(app)) == 1
        assert app.health_shown.word == "unreachable"
        backend.broken = None
        del backend.store[queued]
        for _ in range(2):
            app.watch_on()
            await settle(pilot)
        assert told(app)[1:] == ["calc-agent-3f2a: ✗ failed"]
        assert app.going_on == {}
        await pilot.press("4")
        await settle(pilot)
        assert len(told(app)) == 2
        backend.broken = Unreachable("nobody asks twice")
        app.watch_on()
        assert not [worker for worker in app.workers if worker.group == "app.watching" and not worker.is_finished]


async def test_an_end_reaches_the_command_and_a_failing_one_is_told_once(
    scenes: Any, settle: Any, tmp_path: Path
) -> None:
    target = tmp_path / "got"
    command = [sys.executable, "-c", f"import sys; open({str(target)!r}, 'a').write(sys.stdin.read())"]
    backend = scenes.sample_backend()
    app = scenes.app(backend, values={"notify.command": command, "notify.webhook": "ftp://wrong"})
    app.settings.origins["notify.command"] = str(config_dir() / "config.toml")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        first, second = list(backend.store)[:2]
        for job_id in (first, second):
            backend.store[job_id] = backend.store[job_id].model_copy(update={"status": "SUCCEEDED"})
            await pilot.press("ctrl+r")
            await settle(pilot)
        got = [json.loads(line) for line in target.read_text().splitlines()]
        assert [item["event"] for item in got] == ["succeeded", "succeeded"]
        assert [item["job_id"] for item in got] == [first, second]
        assert app.problems.items == []
        app.settings.origins["notify.webhook"] = str(config_dir() / "config.toml")
        for job in list(backend.store.values())[2:4]:
            app.tell_end(job)
            await settle(pilot)
        assert [item.title for item in app.problems.items] == ["Could not send the notice"]


async def test_what_ended_while_the_app_was_closed_is_told_once_wherever_one_starts(scenes: Any, settle: Any) -> None:
    backend = scenes.sample_backend()
    running, queued = list(backend.store)[:2]

    async def visit(place: str) -> list[str]:
        app = scenes.app(backend, keeps_jobs=True, start_place=place)
        async with app.run_test(size=SIZE) as pilot:
            await settle(pilot)
            await pilot.press("4")
            await settle(pilot)
            return told(app)

    def ends(job_id: str, status: str) -> None:
        backend.store[job_id] = backend.store[job_id].model_copy(update={"status": status})

    assert await visit("jobs") == []
    ends(running, "SUCCEEDED")
    assert await visit("jobs") == ["calc-agent-3f2a: ✔ succeeded while the app was closed"]
    assert await visit("jobs") == []
    ends(queued, "FAILED")
    assert await visit("functions") == ["calc-opd-9bc1: ✗ failed while the app was closed"]
    assert await visit("functions") == []


async def test_many_missed_ends_are_one_sentence_and_another_profile_tells_its_own(scenes: Any, settle: Any) -> None:
    many = scenes.FakeBackend([scenes.job(number, f"job-{number}", "RUNNING", 60) for number in range(5)])
    app = scenes.app(many, keeps_jobs=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
    for job_id, job in list(many.store.items()):
        many.store[job_id] = job.model_copy(update={"status": "CANCELED"})
    app = scenes.app(many, keeps_jobs=True)
    far = dataclasses.replace(app.settings.profile, name="far", base_url="https://far.example/api/v1")
    app.settings = dataclasses.replace(app.settings, profiles={"far": far}, profile_name="far")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert told(app) == []
    app = scenes.app(many, keeps_jobs=True)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert [note.message for note in app._notifications] == ["5 jobs ended while the app was closed"]
