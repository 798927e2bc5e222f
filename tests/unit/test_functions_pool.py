"""Ordinary use of a pool: kinds, order, load, context, names, interpreters."""

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallResult, CallStatus
from agentic_rl_tui.core.functions.pool import FunctionPool, OutputLine, WorkerSpec
from agentic_rl_tui.core.models.errors import FunctionFailed
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

HEAD = """
import asyncio, os, sys, threading, time
from dashscope.finetune.reinforcement import *

def scored(score, **metrics):
    return RewardOutput(reward=Reward(reward_score=score, reward_metrics=metrics or None))
"""
REWARD: dict[str, Any] = {"agent_output": {"messages": [{"role": "assistant", "content": "x"}]}}
ROLLOUT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "hi"}],
    "model_resource": {"model_name": "m", "base_url": "http://127.0.0.1/v1", "api_key": "k"},
}

Opener = Callable[..., contextlib.AbstractAsyncContextManager[FunctionPool]]


@pytest.fixture
def lines() -> list[OutputLine]:
    return []


@pytest.fixture
def opened(tmp_path: Path, lines: list[OutputLine]) -> Opener:
    @asynccontextmanager
    async def open_pool(
        code: str, *, path: str = "func.py", kind: FunctionKind = FunctionKind.REWARD, size: int = 1, **limits: Any
    ) -> AsyncIterator[FunctionPool]:
        file = tmp_path / "package" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + textwrap.dedent(code))
        spec = WorkerSpec(tmp_path / "package", kind, ClassPath.parse(f"{path}:P"), **limits)
        pool = FunctionPool(spec, size=size, on_output=lines.append)
        try:
            await pool.start()
            yield pool
        finally:
            await pool.stop()

    return open_pool


def score(result: Any) -> float:
    assert result.is_ok, result
    return float(result.output["reward"]["reward_score"])


async def test_a_rollout_sees_its_model_and_answers_in_full(opened: Opener) -> None:
    async with opened(
        """
        class P(AbstractRolloutProcessor):
            async def process(self, input_data):
                key = input_data.model_resource.api_key.get_secret_value()
                messages = [*input_data.messages, {"role": "assistant", "content": key}]
                output = AgentOutput(messages=messages, rollout_metrics={"turns": 1})
                return RolloutOutput(agent_output=output, note="kept")
        """,
        kind=FunctionKind.ROLLOUT,
    ) as pool:
        result = await pool.call(ROLLOUT)
    assert result.output == {
        "agent_output": {
            "messages": [*ROLLOUT["messages"], {"role": "assistant", "content": "k"}],
            "rollout_extra": None,
            "rollout_metrics": {"turns": 1.0},
            "reward_score": None,
        },
        "status": "success",
        "error": None,
        "error_code": None,
        "note": "kept",
    }


async def test_a_failed_status_is_an_answer(opened: Opener) -> None:
    async with opened(
        """
        class P(AbstractRolloutProcessor):
            def process(self, input_data):
                return RolloutOutput(status=TaskStatus.FAILED, error="no model", error_code=429)
        """,
        kind=FunctionKind.ROLLOUT,
    ) as pool:
        result = await pool.call(ROLLOUT)
    assert result.status is CallStatus.FAILED
    assert result.output is not None
    assert (result.output["error"], result.output["error_code"]) == ("no model", "429")


async def test_a_group_has_one_reward_for_each_output(opened: Opener) -> None:
    async with opened(
        """
        class P(AbstractGroupRewardProcessor):
            def process(self, input_data):
                count = input_data.ground_truth
                return GroupRewardOutput(reward=GroupReward(rewards=[Reward(reward_score=i) for i in range(count)]))
        """,
        kind=FunctionKind.GROUP_REWARD,
    ) as pool:
        group = {"agent_outputs": [{}, {}, {}]}
        result = await pool.call({**group, "ground_truth": 3})
        assert result.output == {
            "reward": {"rewards": [{"reward_score": float(i), "reward_metrics": None} for i in range(3)]},
            "status": "success",
            "error": None,
        }
        for count in (2, 4):
            wrong = await pool.call({**group, "ground_truth": count})
            assert wrong.status is CallStatus.INVALID_OUTPUT
            assert wrong.error is not None
            assert f"{count} rewards for 3 agent outputs" in wrong.error.message


async def test_the_parts_of_a_reward_come_with_the_result(opened: Opener, lines: list[OutputLine]) -> None:
    async with opened("""
        @reward_func("p")
        class P(AbstractRewardProcessor):
            @sub_reward_func(sub_weight=0.5)
            def good(self, input_data):
                print("in a part")
                return scored(2.0, digits=3)
            @sub_reward_func(sub_weight=2)
            async def bad(self, input_data):
                raise LookupError("no answer")
            @sub_reward_func()
            def zero(self, input_data):
                return scored(0.0)
        """) as pool:
        result = await pool.call(REWARD)
    assert score(result) == 1.0
    assert [(sub.name, sub.weight, sub.score, sub.status) for sub in result.sub_results] == [
        ("bad", 2.0, 0.0, "failed"),
        ("good", 0.5, 2.0, "success"),
        ("zero", 1.0, 0.0, "success"),
    ]
    bad, good, zero = result.sub_results
    assert good.metrics == {"digits": 3.0}
    assert good.error is None
    assert zero.error is None
    assert bad.error is not None
    assert (bad.error.type, bad.error.message) == ("LookupError", "no answer")
    assert 'raise LookupError("no answer")' in bad.error.traceback
    assert "decorators.py" not in bad.error.traceback
    assert "decorators.py" in bad.error.full_traceback
    assert result.printed == "in a part\nERROR Error in sub-reward function bad: no answer\n"
    assert {(line.stream, line.text) for line in lines} >= {
        ("stdout", "in a part"),
        ("log", "ERROR - Error in sub-reward function bad: no answer"),
    }


async def test_a_total_that_is_no_number_names_its_part(opened: Opener) -> None:
    async with opened("""
        @reward_func("p")
        class P(AbstractRewardProcessor):
            @sub_reward_func()
            def odd(self, input_data):
                return scored(float("inf"))
        """) as pool:
        result = await pool.call(REWARD)
    assert result.status is CallStatus.INVALID_OUTPUT
    assert result.error is not None
    assert "reward.reward_score: inf" in result.error.message
    assert "sub-reward 'odd' scored inf" in result.error.message


async def test_an_exception_comes_with_the_users_frames_and_its_cause(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                try:
                    self.inner()
                except ValueError as error:
                    raise RuntimeError("outer") from error
            def inner(self):
                import json
                json.loads("{")
        """) as pool:
        result = await pool.call(REWARD)
    assert result.status is CallStatus.RAISED
    assert result.output is None
    error = result.error
    assert error is not None
    assert (error.type, error.message) == ("RuntimeError", "outer")
    assert 'json.loads("{")' in error.traceback
    assert "direct cause" in error.traceback
    assert "json/decoder.py" not in error.traceback
    assert "json/decoder.py" in error.full_traceback


async def test_an_input_that_does_not_fit_is_refused_with_every_problem(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                raise AssertionError("never called")
        """) as pool:
        result = await pool.call({"func_type": "odd", "agent_output": {"messages": "text"}})
        assert result.status is CallStatus.INVALID_INPUT
        assert result.error is not None
        assert "func_type" in result.error.message
        assert "agent_output.messages" in result.error.message
        assert (await pool.call({"x": object()})).status is CallStatus.INVALID_INPUT


@pytest.mark.parametrize("setup_is_async", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_setup_runs_once_and_sync_parts_stay_off_the_loop(
    opened: Opener, setup_is_async: bool, is_async: bool
) -> None:
    async with opened(f"""
        def on_loop():
            try:
                return bool(asyncio.get_running_loop())
            except RuntimeError:
                return False
        class P(AbstractRewardProcessor):
            count = 0
            {"async " if setup_is_async else ""}def setup(self):
                P.count += 1
                self.setup_on_loop = on_loop()
            {"async " if is_async else ""}def process(self, input_data):
                return scored(P.count, setup_on_loop=self.setup_on_loop, on_loop=on_loop())
        """) as pool:
        results = [await pool.call(REWARD) for _ in range(3)]
    assert [score(result) for result in results] == [1.0, 1.0, 1.0]
    assert results[0].output is not None
    assert results[0].output["reward"]["reward_metrics"] == {"setup_on_loop": setup_is_async, "on_loop": is_async}


@pytest.mark.parametrize(
    ("is_async", "size", "concurrency"), [(True, 1, 4), (False, 1, 4), (False, 2, 2), (True, 2, 2)]
)
async def test_as_many_calls_run_at_once_as_there_are_slots(
    opened: Opener, tmp_path: Path, is_async: bool, size: int, concurrency: int
) -> None:
    """Each call leaves a mark and waits for all four, which come only when none waits for another to end."""
    wait = "await asyncio.sleep(0.002)" if is_async else "time.sleep(0.002)"
    async with opened(
        f"""
        class P(AbstractRewardProcessor):
            {"async " if is_async else ""}def process(self, input_data):
                open(f"mark-{{input_data.ground_truth}}", "w").close()
                while sum(name.startswith("mark-") for name in os.listdir()) < 4:
                    {wait}
                return scored(os.getpid())
        """,
        size=size,
        concurrency=concurrency,
    ) as pool:
        assert pool.slots == 4
        results = await asyncio.gather(*[pool.call({**REWARD, "ground_truth": i}) for i in range(4)])
        assert len({score(result) for result in results}) == size


async def test_calls_beyond_the_slots_wait_in_order(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            order = []
            async def process(self, input_data):
                P.order.append(input_data.ground_truth)
                await asyncio.sleep(0)
                return scored(len(P.order), **{str(k): v for k, v in enumerate(P.order)})
        """) as pool:
        calls = [asyncio.create_task(pool.call({**REWARD, "ground_truth": i})) for i in range(20)]
        await asyncio.sleep(0)
        calls[7].cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(results[7], asyncio.CancelledError)
        last: Any = results[-1]
        order = [int(value) for value in last.output["reward"]["reward_metrics"].values()]
        assert order == [i for i in range(20) if i != 7]


async def test_there_are_never_more_calls_at_once_than_slots(opened: Opener) -> None:
    chance = random.Random(7)
    async with opened(
        """
        class P(AbstractRewardProcessor):
            active = most = 0
            async def process(self, input_data):
                P.active += 1
                P.most = max(P.most, P.active)
                try:
                    for _ in range(input_data.ground_truth):
                        await asyncio.sleep(0)
                finally:
                    P.active -= 1
                return scored(P.most)
        """,
        concurrency=3,
    ) as pool:
        calls = [asyncio.create_task(pool.call({**REWARD, "ground_truth": chance.randrange(20)})) for _ in range(300)]
        for call in chance.sample(calls, 100):
            await asyncio.sleep(0)
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        done = [result for result in results if isinstance(result, CallResult)]
        assert len(done) >= 200
        assert {result.status for result in done} == {CallStatus.OK}
        assert max(score(result) for result in done) == 3
        assert score(await pool.call({**REWARD, "ground_truth": 0})) == 3


async def test_a_module_with_any_name_is_the_users_own(opened: Opener, tmp_path: Path) -> None:
    package = tmp_path / "package"
    for name in ("app", "core", "widgets", "agentic"):
        (package / name).mkdir(parents=True)
        (package / name / "mine.py").write_text(f"NAME = {name!r}\n")
    (package / "core" / "functions").mkdir()
    (package / "core" / "functions" / "helper.py").write_text("NAME = 'helper'\n")
    (package / "calls.py").write_text("NAME = 'calls'\n")
    async with opened(
        """
        import app.mine, core.mine, widgets.mine, agentic.mine, calls
        from core.functions import helper
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                print(app.mine.NAME, core.mine.NAME, widgets.mine.NAME, calls.NAME, helper.NAME, os.getcwd(), __name__)
                return scored(1)
        """,
        path="core/functions/reward.py",
    ) as pool:
        result = await pool.call(REWARD)
    assert result.printed == f"app core widgets calls helper {package} core.functions.reward\n"


async def test_the_environment_holds_the_functions_variables_and_no_key(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-of-this-user")
    monkeypatch.setenv("SOMETHING_ELSE", "x")
    async with opened(
        """
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                print(os.environ.get("MINE"), os.environ.get("DASHSCOPE_API_KEY"), os.environ.get("SOMETHING_ELSE"))
                print(sys.stdin.read() == "", "127.0.0.1" in os.environ["NO_PROXY"])
                return scored(1)
        """,
        env={"MINE": "yes"},
    ) as pool:
        result = await pool.call(REWARD)
    assert result.printed == "yes None None\nTrue True\n"


async def test_a_plain_process_may_use_the_loop_of_its_async_setup(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            async def setup(self):
                self.loop = asyncio.get_running_loop()
            async def later(self):
                await asyncio.sleep(0)
                return 0.5
            def process(self, input_data):
                return scored(asyncio.run_coroutine_threadsafe(self.later(), self.loop).result(20))
        """) as pool:
        assert score(await pool.call(REWARD)) == 0.5


async def test_slots_of_one_pool_share_one_import_where_that_is_safe(opened: Opener, lines: list[OutputLine]) -> None:
    code = """
        import random
        {more}
        print("imported")
        class P(AbstractRewardProcessor):
            def setup(self):
                self.number = random.random()
            def process(self, input_data):
                return scored(self.number)
        """
    for more, imports in (("", 1), ("threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", 4)):
        lines.clear()
        async with opened(code.format(more=more), size=3) as pool:
            numbers = {worker.slot: score(await pool.call(REWARD)) for worker in pool._workers}
            assert len(numbers) == 3
        assert [line.text for line in lines].count("imported") == imports


async def test_an_interpreter_without_our_package_serves(opened: Opener, tmp_path: Path) -> None:
    """A bare environment that sees the libraries but not this package stands for a workspace's own."""
    python = _bare_environment(tmp_path)
    site = next((tmp_path / "bare" / "lib").iterdir()) / "site-packages"
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    async with opened(
        """
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                print(sys.prefix, "agentic_rl_tui.app" in sys.modules)
                return scored(0.5)
        """,
        python=python,
        env={"AGENTIC_RL_PROCESSORS": "own"},
    ) as pool:
        result = await pool.call(REWARD)
    assert score(result) == 0.5
    assert result.printed == f"{tmp_path / 'bare'} False\n"


async def test_an_interpreter_without_pydantic_is_told(opened: Opener, tmp_path: Path) -> None:
    with pytest.raises(FunctionFailed, match="it lacks pydantic") as failure:
        async with opened("class P(AbstractRewardProcessor): pass", python=_bare_environment(tmp_path)):
            pass
    assert str(tmp_path / "bare") in failure.value.message


async def test_an_interpreter_that_is_none_is_told(opened: Opener, tmp_path: Path) -> None:
    with pytest.raises(FunctionFailed, match="cannot be started"):
        async with opened("", python=tmp_path / "nothing"):
            pass


async def test_an_unknown_choice_of_processors_is_told(opened: Opener) -> None:
    with pytest.raises(FunctionFailed, match="use own, real or auto"):
        async with opened("", env={"AGENTIC_RL_PROCESSORS": "maybe"}):
            pass


async def test_a_class_of_another_kind_is_told_at_start(opened: Opener) -> None:
    with pytest.raises(FunctionFailed, match="P is a reward processor and cannot serve as rollout"):
        async with opened(
            """
            class P(AbstractRewardProcessor):
                def process(self, input_data): ...
            """,
            kind=FunctionKind.ROLLOUT,
        ):
            pass


async def test_stopping_ends_what_runs_and_what_waits(opened: Opener) -> None:
    async with opened("""
        class P(AbstractRewardProcessor):
            async def process(self, input_data):
                await asyncio.sleep(600)
        """) as pool:
        calls = [asyncio.create_task(pool.call(REWARD)) for _ in range(3)]
        await asyncio.sleep(0)
        await pool.stop()
        results = await asyncio.gather(*calls)
        assert [result.status for result in results] == [CallStatus.CANCELED] * 3
        assert (await pool.call(REWARD)).status is CallStatus.CANCELED
        await pool.stop()


async def test_a_pool_leaves_no_descriptor_behind(opened: Opener) -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with opened("""
        class P(AbstractRewardProcessor):
            def process(self, input_data):
                if input_data.ground_truth:
                    os._exit(1)
                return scored(1)
        """, size=2) as pool:  # fmt: skip
        for truth in (1, None, 1, None):
            await pool.call({**REWARD, "ground_truth": truth})
    assert len(os.listdir("/proc/self/fd")) == before


def _bare_environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    return folder / "bare" / "bin" / "python"
