"""FuncManager: how a processor is named, loaded, set up and called."""

import asyncio
import contextvars
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agentic_rl_tui.core.functions.processors import (
    AbstractRewardProcessor,
    FuncManager,
    FunctionType,
    Reward,
    RewardInput,
    RewardOutput,
)
from agentic_rl_tui.core.functions.processors.demo import (
    DemoGroupRewardProcessor,
    DemoRewardProcessor,
    DemoRolloutProcessor,
)
from agentic_rl_tui.core.functions.processors.parsers import RewardRequestParser

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


class Sync(AbstractRewardProcessor):
    seen = ""

    def setup(self) -> None:
        self.seen += "setup "

    def process(self, input_data: RewardInput) -> RewardOutput:  # type: ignore[override]
        assert threading.current_thread() is not threading.main_thread()
        self.seen += variable.get()
        return RewardOutput(reward=Reward(reward_score=1))


async def test_a_raw_request_goes_all_the_way() -> None:
    processor = Sync()
    manager = FuncManager("reward", processor)
    assert manager.func_type is FunctionType.REWARD
    assert isinstance(manager.parser, RewardRequestParser)
    assert manager.processor is processor
    variable.set("context")
    await manager.setups()
    result = await manager.execute({"agent_output": {}})
    assert result.reward.reward_score == 1
    assert processor.seen == "setup context"
    with pytest.raises(ValidationError):
        manager.parses({})
    processor.shutdown()


async def test_async_methods_stay_on_the_loop() -> None:
    class Async(AbstractRewardProcessor):
        async def setup(self) -> None:
            self.loop = asyncio.get_running_loop()

        async def process(self, input_data: RewardInput) -> Any:  # type: ignore[override]
            return self.loop is asyncio.get_running_loop()

    processor = Async()
    manager = FuncManager(FunctionType.REWARD, processor)
    await manager.setups()
    assert await manager.processes(manager.parses({"agent_output": {}})) is True
    processor.shutdown()


def test_what_is_no_processor_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be None"):
        FuncManager("reward", None)
    wrong: Any = object()
    with pytest.raises(TypeError, match="must inherit AbstractProcessor"):
        FuncManager("reward", wrong)


@pytest.mark.parametrize(
    ("path", "error", "text"),
    [
        ("Name", ImportError, r"Invalid class path 'Name'. Expected 'module.submodule.ClassName'"),
        ("no_such_module_x.C", ImportError, r"Module import failed: 'no_such_module_x' - No module named"),
        ("loadable_module.Missing", ImportError, r"Class 'Missing' not found in 'loadable_module'"),
        (
            "loadable_module.Broken",
            TypeError,
            r"Instantiation failed for 'loadable_module.Broken': .*missing 1 required",
        ),
        ("loadable_module.Other", TypeError, r"Class 'loadable_module.Other' must inherit AbstractProcessor"),
        ("syntax_module.C", SyntaxError, r"syntax"),
    ],
)
def test_loading_names_the_step_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, error: type[Exception], text: str
) -> None:
    (tmp_path / "loadable_module.py").write_text(
        "from agentic_rl_tui.core.functions.processors.demo import DemoRewardProcessor\n"
        "class Broken(DemoRewardProcessor):\n    def __init__(self, needed): ...\n"
        "class Other: ...\n"
    )
    (tmp_path / "syntax_module.py").write_text("class C(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(error, match=text):
            FuncManager.create_from_env("reward", path)
    finally:
        sys.modules.pop("loadable_module", None)


AGENT = {"messages": [{"role": "user", "content": "6 x 7"}, {"role": "assistant", "content": "It is 42"}]}


@pytest.mark.parametrize(
    ("truth", "agent", "score"),
    [(42, AGENT, 1.0), ("43", AGENT, 0.5), (None, AGENT, 0.0), ("42", {"messages": []}, 0.0), ("42", {}, 0.0)],
)
async def test_demo_rewards(truth: Any, agent: dict[str, Any], score: float) -> None:
    one = FuncManager("reward", DemoRewardProcessor())
    assert (await one.execute({"agent_output": agent, "ground_truth": truth})).reward.reward_score == score
    group = FuncManager("group_reward", DemoGroupRewardProcessor())
    result = await group.execute({"agent_outputs": [agent, {}], "ground_truth": truth})
    assert [reward.reward_score for reward in result.reward.rewards] == [score, 0.0]


async def test_the_demo_rollout_echoes() -> None:
    manager = FuncManager("rollout", DemoRolloutProcessor())
    resource = {"model_name": "m", "base_url": "b", "api_key": "k"}
    result = await manager.execute({**AGENT, "model_resource": resource, "rollout_extra": {"a": 1}})
    assert result.agent_output.messages[-1] == {
        "role": "assistant",
        "content": "[DemoRolloutProcessor Echo] 6 x 7",
    }
    assert (result.agent_output.rollout_extra, result.agent_output.rollout_metrics) == ({"a": 1}, {})
