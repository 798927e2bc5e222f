"""Trying, sweeping, registering functions by keys."""

import contextlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opened import Opened
from textual.worker import WorkerCancelled

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.app.screens.choose import Choose
from agentic_rl_tui.app.screens.confirm import Confirm
from agentic_rl_tui.app.screens.functions import FunctionsScreen
from agentic_rl_tui.app.screens.functions_register import Register
from agentic_rl_tui.app.screens.functions_trace import TriedTrace
from agentic_rl_tui.core.functions.harness_report import ModelCall
from agentic_rl_tui.core.models.errors import DeploymentError
from agentic_rl_tui.core.sdk.jsonplaces import line_of
from agentic_rl_tui.core.tracing.model import Completeness, Counted, Span
from agentic_rl_tui.widgets.panels import Note


def told(screen: Any, selector: str = "#try-result-text") -> str:
    return "\n".join("".join(part for part, _ in line) for line in screen.query_one(selector, Note).lines)


@pytest.fixture
def opened(scenes: Any, settle: Any) -> Any:
    class Here(Opened):
        place = "functions"

        async def choose(self, name: str) -> None:
            screen = self.screen
            screen.table.move_to(next(row.key for row in screen.table.items if row.info.class_name == name))
            await self.wait()

        @property
        def screen(self) -> FunctionsScreen:
            assert isinstance(self.app.screen, FunctionsScreen)
            return self.app.screen

    return partial(Here, scenes, settle)


async def test_a_reward_runs_here_on_its_resource_file(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AnswerReward")
        assert json.loads(it.screen.input.text)["func_type"] == "reward"
        await it.press("t")
        shown = told(it.screen)
        assert "answered" in shown
        assert "score" in shown
        assert it.screen.report is not None
        assert it.screen.report.score is not None
        assert it.screen.report.score > 0
        await it.press("t")
        await it.press("H")
        assert isinstance(it.app.screen, Choose)
        await it.press("escape")
        assert it.screen.table.has_focus


async def test_typed_input_is_checked_at_its_place(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AnswerReward")
        editor = it.screen.input
        editor.text = editor.text.replace('"messages": [', '"messages": 3, "more": [')
        await it.wait()
        assert editor.marks
        await it.press("t")
        assert "messages" in told(it.screen)
        assert it.screen.report is not None
        assert it.screen.report.status.value == "invalid_input"
        editor.text = "{"
        await it.wait()
        assert editor.marks


async def test_keys_and_values_are_offered_while_the_input_is_typed(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AnswerReward")
        editor = it.screen.input
        editor.load("{\n  \n}", ".json")
        editor.focus()
        editor.move_cursor((1, 2))
        await it.wait()
        await it.press('"', "a")
        assert it.screen.popup.is_open
        await it.press("tab", "{")
        assert editor.document.get_line(1) == '  "agent_output": {'
        await it.press("ctrl+@")
        assert it.screen.popup.is_open
        await it.press("escape")
        assert not it.screen.popup.is_open
        assert editor.has_focus
        await it.press("escape")
        assert it.screen.table.has_focus


async def test_model_calls_and_the_trace_of_a_run_are_told(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AnswerReward")
        await it.press("w")
        assert isinstance(it.app.screen, FunctionsScreen)
        await it.press("t")
        report = it.screen.report
        assert report is not None
        span = Span("5" * 32, "a" * 16, None, "chat practice", "LLM", 1, 9_000_001)
        full = replace(
            report,
            model_calls=(ModelCall("practice", 95, 21, 0.001), ModelCall("practice", 136, 1, 0.002, "refused")),
            spans=(span,),
            completeness=Completeness(Counted(1, 2)),
        )
        it.screen.post_message(FunctionsScreen.Ran(full, "row 0"))
        await it.wait()
        shown = told(it.screen)
        assert "2 calls, 231 tokens in, 22 out" in shown
        assert "refused" in shown
        assert "LLM 1/2" in shown
        await it.press("w")
        assert isinstance(it.app.screen, TriedTrace)
        assert [row.span.name for row in it.app.screen.table.items] == ["chat practice"]
        await it.press("escape")
        assert isinstance(it.app.screen, FunctionsScreen)


async def test_a_row_of_the_data_becomes_an_input_and_many_rows_a_sweep(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AgreementReward")
        await it.press("i", *"train")
        await it.press("enter")
        await it.press("backspace", "7", "enter")
        payload = json.loads(it.screen.input.text)
        assert payload["request_metadata"]["sample_id"] == "row-7"
        assert len(payload["agent_outputs"]) == 4
        await it.press("S")
        await it.press("backspace", "backspace", "6", "enter")
        shown = told(it.screen)
        assert "6 rows" in shown
        assert "0 by judgement" in shown
        assert "0 by exception" in shown


async def test_a_raising_function_shows_the_users_line(opened: Any, template: Path) -> None:
    (template / "functions" / "reward" / "bad.py").write_text(
        "from dashscope.finetune.reinforcement import AbstractRewardProcessor\n\n\n"
        "class BadReward(AbstractRewardProcessor):\n    def process(self, input):\n        return 1 / 0\n"
    )
    async with opened(template) as it:
        await it.choose("BadReward")
        await it.press("t")
        assert "ZeroDivisionError" in told(it.screen)
        assert "line 6" in told(it.screen)


async def test_a_run_is_stopped_with_escape(opened: Any, template: Path) -> None:
    (template / "functions" / "reward" / "slow.py").write_text(
        "import time\nfrom dashscope.finetune.reinforcement import AbstractRewardProcessor\n\n\n"
        "class SlowReward(AbstractRewardProcessor):\n    def process(self, input):\n"
        "        print('begun', flush=True)\n        time.sleep(600)\n"
    )
    async with opened(template) as it:
        await it.choose("SlowReward")
        await it.pilot.press("t")
        assert it.screen.is_trying
        await it.pilot.press("escape")
        with contextlib.suppress(WorkerCancelled):
            await it.wait()
        assert not it.screen.is_trying
        assert "canceled" in told(it.screen)


async def test_a_rollout_without_a_model_says_what_to_do(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("CalcAgent")
        await it.press("i", *"train")
        await it.press("enter")
        await it.press("enter")
        assert "agentic-rl.toml" in told(it.screen)


async def test_registering_shows_steps_and_goes_on_after_a_failure(opened: Any, template: Path) -> None:
    async with opened(template) as it:
        await it.choose("AnswerReward")
        it.backend.news = [StepNews("layer:1", "build the layer", "finished", seconds=2.0)]
        it.backend.broken = DeploymentError("the layer failed")
        await it.press("R")
        assert isinstance(it.app.screen, Register)
        await it.press("enter")
        shown = told(it.app.screen, "#deed-text")
        assert "build the layer" in shown
        assert "the layer failed" in shown
        it.backend.broken = None
        await it.press("enter")
        row = it.screen.row
        assert row is not None
        assert row.deployment is not None
        assert row.is_same is False
        await it.press("T")
        assert "inst-1" in told(it.screen)
        await it.press("D")
        assert isinstance(it.app.screen, Confirm)
        await it.press("enter")
        assert ("remove_instance", "inst-1") not in it.backend.calls
        await it.press("D")
        await it.press("y")
        assert ("remove_instance", "inst-1") in it.backend.calls


async def test_the_package_tab_lists_what_is_sent(opened: Any, template: Path) -> None:
    async with opened(template, (80, 24)) as it:
        await it.press("]", "]")
        shown = told(it.screen, "#functions-package-text")
        assert "functions/reward/answer.py" in shown
        assert "requirements.txt" in shown
        for width, height in ((60, 20), (200, 60), (80, 24)):
            await it.pilot.resize_terminal(width, height)
        assert it.screen.table.has_focus


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [("$.a", 1, 2), ("$.b[1].c", 4, 12), ("$.missing", 0, 0), ("$", 0, 0)],
)
def test_a_json_path_is_found_in_its_text(path: str, line: int, column: int) -> None:
    text = '{\n  "a": 1,\n  "b": [\n    2,\n    {"x": 0, "c": "é"}\n  ]\n}'
    found = line_of(text, path)
    assert (found[0], found[1]) == (line, column if path != "$.b[1].c" else text.split("\n")[4].index('"c"'))
