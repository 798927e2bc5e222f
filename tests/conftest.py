"""Shared by every test: no key, no proxy, English, state and config below tmp_path; and the app on a fake platform.

What the fixtures of the app import is imported in them: most tests need no Textual.
"""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentic_rl_tui.core.i18n import set_language

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Inputs that lie beside a checkout; absent from a user's clone."""

Settle = Callable[[Any], Awaitable[None]]


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # LOG_LEVEL sets the level of a logger that the whole process shares.
    logging.getLogger("agentic_rl_tui.client").setLevel(logging.NOTSET)
    for name in ("DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL", "LOG_LEVEL", "AGENTIC_RL_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("AGENTIC_RL_LANGUAGE", "en")
    set_language("en")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AGENTIC_RL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("AGENTIC_RL_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared inputs are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def scenes() -> ModuleType:
    """The platform and the apps of the pictures."""
    import scenes

    return scenes


@pytest.fixture(scope="session")
def settle() -> Settle:
    from settling import settle

    return settle


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
    from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

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
