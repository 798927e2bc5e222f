"""The same user code under the vendor's package and under ours: the answers must be equal, field by field."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

pytestmark = pytest.mark.conformance

CHECKOUT = Path(__file__).parents[2]
API = "dashscope.finetune.reinforcement"

USER_CODE = {
    "plain.py": """
        from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardInput, RewardOutput

        class P(AbstractRewardProcessor):
            def setup(self):
                self.known = {"a": 1}

            def process(self, input_data: RewardInput) -> RewardOutput:
                output = input_data.agent_output
                extra = getattr(input_data, "hint", None)
                return RewardOutput(
                    reward=Reward(reward_score=len(output.messages or []), reward_metrics=output.rollout_metrics),
                    hint=extra, seen=input_data.model_dump(mode="json"), error_code=7,
                )
        """,
    "decorated.py": """
        import asyncio, time
        from dashscope.finetune.reinforcement import (
            AbstractRewardProcessor, Reward, RewardInput, RewardOutput, TaskStatus, reward_func, sub_reward_func
        )

        @reward_func("style")
        class P(AbstractRewardProcessor):
            @sub_reward_func(sub_weight=0.3)
            def length(self, input_data):
                text = (input_data.agent_output.messages or [{}])[-1].get("content") or ""
                return RewardOutput(reward=Reward(reward_score=len(text) / 10, reward_metrics={"chars": len(text)}))

            @sub_reward_func("named", -2.5)
            async def later(self, input_data):
                await asyncio.sleep(0)
                return RewardOutput(reward=Reward(reward_score="0.5"), status=TaskStatus.FAILED, error="half")

            @sub_reward_func()
            def broken(self, input_data):
                raise KeyError("nothing")

            @sub_reward_func(sub_weight=0)
            def unweighted(self, input_data):
                return RewardOutput(reward=Reward(reward_score=1e6))
        """,
    "aggregated.py": """
        from dashscope.finetune.reinforcement import (
            AbstractRewardProcessor, Reward, RewardOutput, aggregate_func, reward_func, sub_reward_func
        )

        class Shared(AbstractRewardProcessor):
            @sub_reward_func(sub_weight=2)
            def inherited(self, input_data):
                return RewardOutput(reward=Reward(reward_score=0.25, reward_metrics={"a": 1}))

        @reward_func("sum")
        class P(Shared):
            @sub_reward_func()
            def zz(self, input_data):
                raise ValueError("no")

            @sub_reward_func("aa", 4)
            async def first(self, input_data):
                return RewardOutput(reward=Reward(reward_score=1, reward_metrics={"a": 2, "b": True}))

            @aggregate_func
            def combine(self, parts):
                return RewardOutput(
                    reward=Reward(reward_score=self.get_total(parts), reward_metrics=self.get_reward_metrics(parts)),
                    order=list(parts), weights=self.get_weights(), scores=self.get_scores(parts),
                    errors=[part.error for part in parts.values()], kinds=[part.status for part in parts.values()],
                )
        """,
    "group.py": """
        from dashscope.finetune.reinforcement import (
            AbstractGroupRewardProcessor, GroupReward, GroupRewardInput, GroupRewardOutput, Reward
        )

        class P(AbstractGroupRewardProcessor):
            async def process(self, input_data: GroupRewardInput) -> GroupRewardOutput:
                sizes = [len(output.messages or []) for output in input_data.agent_outputs]
                return GroupRewardOutput(
                    reward=GroupReward(rewards=[Reward(reward_score=size / (max(sizes) or 1)) for size in sizes]),
                    error_code=3,
                )
        """,
    "rollout.py": """
        import json
        from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutInput, RolloutOutput
        from dashscope.finetune.reinforcement.component.observability import (
            observe_processor, observe_tool, rollout_context, trace_client, trace_tool
        )
        from dashscope.finetune.reinforcement.common.log import logger

        class P(AbstractRolloutProcessor):
            @observe_processor
            async def process(self, input_data: RolloutInput) -> RolloutOutput:
                logger.info("a rollout")
                with rollout_context("r", "s", "a"):
                    seen = json.loads(input_data.model_dump_json())
                return RolloutOutput(agent_output=AgentOutput(
                    messages=[*input_data.messages, {"role": "assistant", "content": "数", "n": None, "deep": [seen]}],
                    rollout_extra=input_data.rollout_extra, rollout_metrics={"turns": "3"}, reward_score=0.1,
                ))
        """,
}

MESSAGES = [
    {"role": "user", "content": "What is 6 x 7?"},
    {"role": "assistant", "content": "42", "tool_calls": None, "more": {"deep": [1, 2.5, "x", False]}},
]
METADATA = {"job_id": "j", "sample_id": "s", "rollout_id": "r", "attempt_id": "a"}
AGENT = {"messages": MESSAGES, "rollout_extra": {"answer": "42"}, "rollout_metrics": {"turns": "2", "ok": True}}
RESOURCE = {"model_name": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "sk-123"}
INPUTS: dict[FunctionKind, list[dict[str, Any]]] = {
    FunctionKind.REWARD: [
        {"agent_output": AGENT, "ground_truth": "42", "request_metadata": METADATA, "hint": [1, {"x": None}]},
        {"agent_output": {}, "func_type": "rollout"},
        {"agent_output": {"messages": [], "rollout_metrics": None, "reward_score": "0.5"}, "ground_truth": 0},
        {"agent_output": {"messages": [{"role": "tool", "content": None}], "unknown": 1}, "ground_truth": ["a"]},
    ],
    FunctionKind.GROUP_REWARD: [
        {"agent_outputs": [AGENT, {}, {"messages": MESSAGES[:1]}], "ground_truth": 42},
        {"agent_outputs": [{}], "request_metadata": METADATA},
    ],
    FunctionKind.ROLLOUT: [
        {
            "messages": MESSAGES,
            "model_resource": RESOURCE,
            "rollout_extra": {"a": [1]},
            "tools": [{"type": "function"}],
        },
        {"messages": [], "model_resource": {**RESOURCE, "extra": 1}, "sampling_params": {"temperature": 0}, "seed": 7},
    ],
}
REFUSED: dict[FunctionKind, list[dict[str, Any]]] = {
    FunctionKind.REWARD: [{}, {"agent_output": {"messages": "x"}}, {"agent_output": {"rollout_metrics": {"a": None}}}],
    FunctionKind.GROUP_REWARD: [{"agent_outputs": {}}, {"agent_outputs": [{}], "request_metadata": {"job_id": "j"}}],
    FunctionKind.ROLLOUT: [{"messages": []}, {"messages": [], "model_resource": RESOURCE, "func_type": "odd"}],
}


@pytest.fixture(scope="session")
def vendor_python() -> Path:
    given = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE")
    python = Path(given) if given else CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no interpreter with the vendor's package at {python}")
    return python


@contextlib.asynccontextmanager
async def both(
    folder: Path, vendor_python: Path, classpath: str, kind: FunctionKind
) -> AsyncIterator[tuple[FunctionPool, FunctionPool]]:
    spec = WorkerSpec(folder, kind, ClassPath.parse(classpath))
    theirs = WorkerSpec(folder, kind, ClassPath.parse(classpath), python=vendor_python)
    async with FunctionPool(spec) as own, FunctionPool(theirs) as real:
        assert (own.processors, real.processors) == ("own", "real")
        yield own, real


def same(own: CallResult, real: CallResult) -> None:
    assert own.output == real.output
    assert own.status is real.status
    parts = [
        [(sub.name, sub.weight, sub.score, sub.status, sub.metrics, sub.error and sub.error.message) for sub in subs]
        for subs in (own.sub_results, real.sub_results)
    ]
    assert parts[0] == parts[1]


KINDS = {"group.py": FunctionKind.GROUP_REWARD, "rollout.py": FunctionKind.ROLLOUT}


@pytest.mark.parametrize("name", USER_CODE)
async def test_user_code(tmp_path: Path, vendor_python: Path, name: str) -> None:
    (tmp_path / name).write_text(textwrap.dedent(USER_CODE[name]))
    kind = KINDS.get(name, FunctionKind.REWARD)
    async with both(tmp_path, vendor_python, f"{name}:P", kind) as (own, real):
        for payload in INPUTS[kind]:
            ours, theirs = await asyncio.gather(own.call(payload), real.call(payload))
            assert ours.output is not None, ours
            same(ours, theirs)
        for payload in REFUSED[kind]:
            ours, theirs = await asyncio.gather(own.call(payload), real.call(payload))
            assert ours.status is theirs.status is CallStatus.INVALID_INPUT
            assert ours.error is not None
            assert theirs.error is not None
            assert ours.error.message == theirs.error.message


DEMOS = {
    "reward_processor_demo.DemoRewardProcessor": FunctionKind.REWARD,
    "rollout_processor_demo.DemoRolloutProcessor": FunctionKind.ROLLOUT,
    "group_reward_processor_demo.DemoGroupRewardProcessor": FunctionKind.GROUP_REWARD,
}


@pytest.mark.parametrize("demo", DEMOS)
async def test_the_vendors_demos(tmp_path: Path, vendor_python: Path, demo: str) -> None:
    """Theirs on theirs, ours on ours, and their source taken for user code on ours."""
    module, _, name = demo.partition(".")
    kind = DEMOS[demo]
    libraries = _run(vendor_python, "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    source = Path(libraries, *API.split("."), "component", "demo", f"{module}.py").read_text()
    (tmp_path / "demo.py").write_text(source)
    adopted = WorkerSpec(tmp_path, kind, ClassPath.parse(f"demo.py:{name}"))
    async with (
        both(tmp_path, vendor_python, f"{API}.component.demo.{demo}", kind) as (own, real),
        FunctionPool(adopted) as copied,
    ):
        for payload in INPUTS[kind]:
            ours, theirs, copy = await asyncio.gather(own.call(payload), real.call(payload), copied.call(payload))
            assert ours.output is not None, ours
            same(ours, theirs)
            same(copy, theirs)


NAMES = """
import importlib, json, sys
from pathlib import Path
names = {}
for module in json.loads(sys.argv[1]):
    loaded = importlib.import_module(module)
    names[module] = sorted(getattr(loaded, "__all__", None) or [])
print(json.dumps(names))
"""


def test_the_same_modules_offer_the_same_names(vendor_python: Path) -> None:
    modules = json.dumps([API, *(f"{API}.component{part}" for part in ("", ".data", ".parser", ".processor", ".demo"))])
    modules = json.dumps([*json.loads(modules), f"{API}.component.observability"])
    install = "from agentic_rl_tui.core.functions.worker import alias\nalias.install()\n"
    assert json.loads(_run(sys.executable, install + NAMES, modules)) == json.loads(_run(vendor_python, NAMES, modules))


def test_every_module_of_ours_is_one_of_theirs(vendor_python: Path) -> None:
    code = (
        "import sys, json, importlib.util as u\n"
        "print(json.dumps([m for m in json.loads(sys.argv[1]) if u.find_spec(m) is None]))"
    )
    listing = "import json\nfrom agentic_rl_tui.core.functions.worker import alias_names as a\n"
    listing += "print(json.dumps([*a.MODULES]))"
    assert json.loads(_run(vendor_python, code, _run(sys.executable, listing))) == []


FIELDS = """
import json, sys
import dashscope.finetune.reinforcement as api
from dashscope.finetune.reinforcement.component.data import *
from pydantic import BaseModel
import enum
told = {}
for name in json.loads(sys.argv[1]):
    model = globals().get(name) or getattr(api, name)
    if isinstance(model, type) and issubclass(model, BaseModel):
        fields = {}
        for field, info in model.model_fields.items():
            default = None if info.is_required() else info.get_default(call_default_factory=True)
            fields[field] = [info.is_required(), "random" if field == "rollout_id" else repr(default)]
        told[name] = [model.model_config.get("extra", "ignore"), fields]
    elif isinstance(model, type) and issubclass(model, enum.Enum):
        told[name] = [[member.name, member.value] for member in model]
    elif isinstance(model, type) and issubclass(model, Exception):
        error = model("m")
        shown = str(error).partition(" (at ")[0]
        facts = {k: v for k, v in vars(error).items() if k != "timestamp"}
        told[name] = [shown, facts, [base.__name__ for base in model.__mro__ if not base.__name__.startswith("_")]]
print(json.dumps(told, default=repr))
"""


def test_models_enums_and_errors_are_alike(vendor_python: Path) -> None:
    listing = (
        "from agentic_rl_tui.core.functions.worker.alias_names import MODULES\nimport json\n"
        f"print(json.dumps(sorted({{*MODULES[{API!r}], *MODULES['{API}.component.data']}})))"
    )
    names = _run(sys.executable, listing)
    install = "from agentic_rl_tui.core.functions.worker import alias\nalias.install()\n"
    own = json.loads(_run(sys.executable, install + FIELDS, names))
    real = json.loads(_run(vendor_python, FIELDS, names))
    assert len(real) == 60
    for name in real:
        assert own[name] == real[name], name


def _run(python: Path | str, code: str, *args: str) -> str:
    env = {**os.environ, "DASHSCOPE_API_KEY": ""}
    done = subprocess.run([str(python), "-c", code, *args], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout
