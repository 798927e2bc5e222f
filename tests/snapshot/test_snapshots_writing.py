"""How the writing side looks: empty, loaded, wrong, in Chinese, in other colours, on small and large screens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

SMALL = [pytest.param((80, 24), id="80x24")]
LARGE = [pytest.param((120, 40), id="120x40")]
HUGE = [pytest.param((200, 60), id="200x60")]
PLACES = ["workspace", "functions", "jobfile"]

CHINESE_JOB = """\
# 算术智能体：用计算器回答应用题 🧮
name: 算术智能体-第一批
model:
  name: qwen3.5-9b
functions:
  - type: rollout
    name: 计算智能体
    fcmodel: {classpath: functions.计算.计算智能体}
  - type: reward
    name: 答案是否正确
    weight: 一
    fcmodel: {classpath: functions.计算.答案奖励}
datasets:
  - {type: training, file_name: ./data/训练数据.jsonl}
training:
  type: reinforcement
  hyper_parameters: {批大小: 32}
"""
CHINESE_CODE = '''\
"""智能体与奖励。"""

from dashscope.finetune.reinforcement import AbstractRewardProcessor, AbstractRolloutProcessor


class 计算智能体(AbstractRolloutProcessor):
    """逐步推理，必要时调用计算器（ｆｕｌｌ ｗｉｄｔｈ）。"""

    async def process(self, input):
        return None


class 答案奖励(AbstractRewardProcessor):
    def process(self, input):
        return 1.0  # 暂时总是满分 ✅
'''


@pytest.fixture
def opened(scenes: Any) -> Callable[..., Any]:
    def open_at(root: Path, place: str, backend: Any = None, **facts: Any) -> Any:
        name = f"~/{root.name}"
        return scenes.app(backend or scenes.FakeBackend(), root, start_place=place, workspace_shown=name, **facts)

    return open_at


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    root = tmp_path / "算术智能体"
    (root / "functions").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "functions" / "计算.py").write_text(CHINESE_CODE)
    (root / "data" / "训练数据.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "小明有３个苹果🍎，又买了五个，一共几个？"}], '
        '"rollout_extra": {"solution": "8"}}\n' * 3
    )
    (root / "requirements.txt").write_text("openai>=2.8\n")
    (root / "rl-job.yaml").write_text(CHINESE_JOB)
    return root


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("place", PLACES)
def test_empty(look: Any, opened: Any, tmp_path: Path, place: str, size: tuple[int, int]) -> None:
    root = tmp_path / "nothing"
    root.mkdir()
    assert look(opened(root, place), size)


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("place", PLACES)
def test_loaded(look: Any, opened: Any, template: Path, place: str, size: tuple[int, int]) -> None:
    assert look(opened(template, place), size, *(["j", "j"] if place == "workspace" else []))


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("place", PLACES)
def test_in_chinese(look: Any, opened: Any, chinese: Path, place: str, size: tuple[int, int]) -> None:
    assert look(opened(chinese, place), size, *(["j"] if place == "workspace" else []))


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("place", PLACES)
def test_light(look: Any, opened: Any, template: Path, place: str, size: tuple[int, int]) -> None:
    assert look(opened(template, place, values={"tui.theme": "light"}), size)


@pytest.mark.parametrize("size", SMALL)
def test_without_colours(
    look: Any, opened: Any, chinese: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert look(opened(chinese, "jobfile"), size)


@pytest.mark.parametrize("size", SMALL)
def test_with_16_colours(look: Any, opened: Any, chinese: Path, size: tuple[int, int]) -> None:
    assert look(opened(chinese, "jobfile", values={"tui.theme": "ansi"}), size)


@pytest.mark.parametrize("size", SMALL)
def test_the_key_list_of_a_typed_key(look: Any, opened: Any, template: Path, size: tuple[int, int]) -> None:
    assert look(opened(template, "jobfile"), size, "down", "down", "enter", "t", "e", "ctrl+@")


@pytest.mark.parametrize("size", SMALL)
def test_a_change_before_it_is_made(look: Any, opened: Any, chinese: Path, size: tuple[int, int]) -> None:
    assert look(opened(chinese, "jobfile"), size, "f8")


@pytest.mark.parametrize("size", LARGE)
def test_a_submission_that_failed(look: Any, opened: Any, scenes: Any, template: Path, size: tuple[int, int]) -> None:
    backend = scenes.FakeBackend()
    backend.broken = PackageError("the package is 300 MB", advice="Leave out data/.")
    assert look(opened(template, "jobfile", backend), size, "f5", "enter")


@pytest.mark.parametrize("size", SMALL)
def test_the_templates(look: Any, opened: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    root = tmp_path / "nothing"
    root.mkdir()
    assert look(opened(root, "workspace"), size, "N")


@pytest.mark.parametrize("size", SMALL)
def test_a_row_of_a_data_set(look: Any, opened: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    root = tmp_path / "router"
    write_workspace(TEMPLATES["tool-router"], root)
    assert look(opened(root, "workspace"), size, "j", "j", "enter", "right")
