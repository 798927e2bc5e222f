"""The fake platform and the way to wait for an app, shared by the tests that press keys."""

import contextlib
import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

SCENES = Path(__file__).resolve().parents[2] / "screenshots" / "scenes.py"

Settle = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(scope="session")
def scenes() -> ModuleType:
    name = "arl_scenes"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, SCENES)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def settle() -> Settle:
    async def wait(pilot: Pilot[Any]) -> None:
        """Until every worker has ended, except those that follow a log for as long as the job runs."""
        for _ in range(50):
            await pilot.pause()
            busy = [worker for worker in pilot.app.workers if not worker.is_finished and worker.group != "job.follow"]
            if not busy:
                break
            # A newer request cancels an older one of its group: that is an end like any other.
            with contextlib.suppress(WorkerCancelled):
                await pilot.app.workers.wait_for_complete(busy)
        await pilot.pause()

    return wait


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small workspace with a job file, functions and data."""
    root = tmp_path / "calc"
    (root / "functions").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "functions" / "answer.py").write_text(
        "from dashscope.finetune.reinforcement import AbstractRewardProcessor\n\n\n"
        "class AnswerReward(AbstractRewardProcessor):\n    def process(self, input):\n        return 1.0\n"
    )
    (root / "data" / "train.jsonl").write_text('{"messages": []}\n' * 3)
    (root / "rl-job.yaml").write_text(JOB_FILE)
    return root


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The workspace that a newcomer gets."""
    root = tmp_path / "calc-agent"
    write_workspace(TEMPLATES["calc-agent"], root)
    return root


JOB_FILE = """\
# 计算 agent
name: calc
model:
  name: qwen3.5-9b
functions:
  - type: reward
    name: answer
    weight: 1.0
    fcmodel:
      classpath: functions.answer.AnswerReward
datasets:
  - type: training
    file_name: ./data/train.jsonl
training:
  type: pg
  hyper_parameters:
    batch_size: 8
"""
