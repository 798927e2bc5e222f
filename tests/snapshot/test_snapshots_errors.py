"""How the writing side looks when things are wrong: files with errors, code that raises, steps that fail."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.backend import StepNews
from agentic_rl_tui.core.functions import harness
from agentic_rl_tui.core.models.errors import DeploymentError

SIZES = {name: pytest.param(size, id=name) for name, size in
         {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}.items()}  # fmt: skip

RAISING = '''\
"""A reward that expects a field which the rows do not have."""

from dashscope.finetune.reinforcement import AbstractRewardProcessor


def expected(extra):
    return extra["solution"]["value"]


class AnswerReward(AbstractRewardProcessor):
    def process(self, input):
        return 1.0 if input.ground_truth == expected({"answer": "42"}) else 0.0
'''
MANY_WRONG = """\
name: calc agent!
model:
  name: qwen3.5-9b
functions:
  - type: rewrad
    name: answer
    weight: heavy
    fcmodel:
      classpath: functions.answer.NoSuchReward
datasets:
  - type: training
    file_name: ./data/missing.jsonl
training:
  type: reinforcement
  hyper_parameters:
    batch_size: -8
    learning_rate: [1e-6
"""


@pytest.fixture
def opened(scenes: Any) -> Callable[..., Any]:
    def open_at(root: Path, place: str, backend: Any = None) -> Any:
        name = f"~/{root.name}"
        return scenes.app(backend or scenes.FakeBackend(), root, start_place=place, workspace_shown=name)

    return open_at


@pytest.mark.parametrize("size", [SIZES["80x24"], SIZES["120x40"]])
def test_errors_in_the_tree_and_the_checks(look: Any, opened: Any, workspace: Path, size: tuple[int, int]) -> None:
    (workspace / "functions" / "broken.py").write_text("class Half(AbstractRewardProcessor:\n    pass\n")
    (workspace / "data" / "train.jsonl").write_text('{"messages": []}\n{"messages": [\n')
    assert look(opened(workspace, "workspace"), size, "c", "j")


@pytest.mark.parametrize("size", [SIZES["80x24"], SIZES["200x60"]])
def test_a_function_that_raised(
    look: Any, opened: Any, workspace: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "functions" / "answer.py").write_text(RAISING)
    run = harness.try_function

    async def timed(*given: Any, **facts: Any) -> Any:
        report = await run(*given, **facts)
        return replace(report, latency_s=0.0123, start_s=0.5)

    monkeypatch.setattr(harness, "try_function", timed)
    assert look(opened(workspace, "functions"), size, "t")


@pytest.mark.parametrize("size", [SIZES["80x24"]])
@pytest.mark.parametrize("has_syntax_error", [True, False], ids=["syntax", "values"])
def test_a_job_file_with_several_problems(
    look: Any, opened: Any, workspace: Path, size: tuple[int, int], has_syntax_error: bool
) -> None:
    text = MANY_WRONG if has_syntax_error else MANY_WRONG.replace("[1e-6", "fast")
    (workspace / "rl-job.yaml").write_text(text)
    assert look(opened(workspace, "jobfile"), size)


@pytest.mark.parametrize("size", [SIZES["120x40"]])
def test_a_registration_that_failed_at_a_step(
    look: Any, opened: Any, scenes: Any, template: Path, size: tuple[int, int]
) -> None:
    backend = scenes.FakeBackend()
    backend.news = [
        StepNews("package", "pack the workspace", "finished", seconds=0.4, detail="9 files, 21 kB"),
        StepNews("upload", "send the package", "finished", seconds=1.2),
        StepNews("layer:1", "build the layer", "failed", seconds=41.0),
    ]
    backend.broken = DeploymentError(
        "the layer could not be built: no version of openai==9.9 was found",
        advice="Correct requirements.txt, then go on from there.",
        code="LayerBuildFailed",
    )
    assert look(opened(template, "functions", backend), size, "R", "enter")
