"""What a slow line is spared, copying that claims nothing, and the view without frames."""

from typing import Any

import pytest
from textual import events

from agentic_rl_tui.app import telling
from agentic_rl_tui.app.plainview import show_plain
from agentic_rl_tui.app.poll import Pulse, delay_s
from agentic_rl_tui.app.screens.jobs_peek import JobPeek
from agentic_rl_tui.app.shell import Options

SIZE = (120, 40)


def told(app: Any) -> list[str]:
    return [note.message for note in app._notifications]


def reward_cell(app: Any) -> str:
    table = app.screen.table
    column = next(column for column in table.columns if column.key == "reward")
    return "".join(text for text, _ in column.cell(table.items[0], 30))


async def test_a_slow_line_is_spared_curves_peek_and_ticks_and_back(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        curve = reward_cell(app)
        await pilot.press("alt+l")
        await settle(pilot)
        assert app.is_slow
        assert app.animation_level == "none"
        assert reward_cell(app).split() == curve.split()[-1:]
        assert app.screen.query_one(JobPeek).row is None
        await pilot.press("alt+l")
        await settle(pilot)
        assert reward_cell(app) == curve
        assert app.screen.query_one(JobPeek).row is not None


def test_a_slow_line_is_asked_about_less_but_an_outage_is_not_stretched() -> None:
    usual, slow = Pulse(is_local=True, is_live=True), Pulse(is_local=True, is_live=True, is_slow_line=True)
    assert delay_s(slow) == 5 * delay_s(usual)
    broken = Pulse(is_local=True, is_live=True, failures=2)
    assert delay_s(broken) == delay_s(Pulse(is_local=True, is_live=True, failures=2, is_slow_line=True))
    assert delay_s(Pulse(is_local=False, is_live=True, is_slow_line=True, retry_after_s=90.0)) == 90.0


async def test_a_start_for_a_slow_line_moves_nothing(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    app.options = Options(clock=app.clock, is_polling=False, zone=scenes.ZONE, is_slow=True)
    app.is_slow = True
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert len(reward_cell(app).split()) == 1
        await pilot.press("slash")
        assert app.focused.cursor_blink is False


async def test_a_terminal_that_answers_late_over_ssh_brings_the_offer(
    scenes: Any, settle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "a 1 b 2")
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app._asked_at = 10.0
        app.now_s = lambda: 10.05
        app.post_message(events.CursorPosition(1, 1))
        await settle(pilot)
        assert not any("slow line" in text for text in told(app))
        app.now_s = lambda: 12.0
        app.post_message(events.CursorPosition(1, 1))
        await settle(pilot)
        assert any("alt+l" in text for text in told(app))
        assert not app.is_slow


async def test_copying_claims_nothing_and_v_shows_what_was_copied(
    scenes: Any, settle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(telling, "show_plain", lambda _app, text: not shown.append(text))
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("y", "V")
        job_id = app.screen.table.current.job_id
        assert any("if nothing arrives, V" in text for text in told(app))
        await pilot.press("V")
        assert shown[0] == job_id
        assert shown[1].count("\n") == 7
        assert "数学推理-长思维链-b7d2" in shown[1]
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("V", "l")
        await settle(pilot)
        await pilot.press("V")
        assert "calc-agent-3f2a" in shown[2]
        assert "job calc-agent-3f2a starts: RL, practice policy" in shown[3]


async def test_a_terminal_that_cannot_be_handed_over_is_told(scenes: Any, settle: Any) -> None:
    app = scenes.app(scenes.sample_backend())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert show_plain(app, "text") is False
        await pilot.press("V")
        assert any("cannot be handed" in text for text in told(app))


async def test_on_a_slow_line_ages_of_what_is_over_are_true_when_shown_first_and_rest_then(
    scenes: Any, settle: Any
) -> None:
    app = scenes.app(scenes.FakeBackend([scenes.job(1, "young", "SUCCEEDED", 240)]))
    now = [scenes.NOW]
    app.clock = lambda: now[0]
    app.is_slow = True

    def age() -> str:
        column = next(column for column in app.screen.table.columns if column.key == "age")
        return "".join(text for text, _ in column.cell(app.screen.table.items[0], 9)).strip()

    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        ages = [age()]
        for seconds in (30, 1800):
            now[0] += seconds
            await pilot.press("ctrl+r")
            await settle(pilot)
            ages.append(age())
        assert ages[0] == ages[1] == "4m"
        assert ages[2] != "4m"
