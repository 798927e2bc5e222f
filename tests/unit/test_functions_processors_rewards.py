"""How a decorated reward runs its parts and what it makes of them, case by case."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentic_rl_tui.core.functions.processors import (
    AbstractRewardProcessor,
    AbstractRolloutProcessor,
    Reward,
    RewardInput,
    RewardOutput,
    RewardProcessorMeta,
    TaskStatus,
    aggregate_func,
    logger,
    reward_func,
    sub_reward_func,
)
from agentic_rl_tui.core.functions.processors.record import SubOutcome, outcomes

INPUT = RewardInput.model_validate({"agent_output": {}})


def scored(score: float, **metrics: float) -> RewardOutput:
    return RewardOutput(reward=Reward(reward_score=score, reward_metrics=metrics or None))


async def answer(processor: Any) -> Any:
    try:
        return await processor.process(INPUT)
    finally:
        processor.shutdown()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    monkeypatch.setattr(logger, "handlers", [caplog.handler])
    with caplog.at_level(logging.INFO, logger=logger.name):
        yield caplog


@reward_func("weighted")
class Weighted(AbstractRewardProcessor):
    @sub_reward_func(sub_weight=0.5)
    def b_second(self, input_data: RewardInput) -> RewardOutput:
        return scored(2.0, n=1.0)

    @sub_reward_func("first", -1.5)
    async def a_first(self, input_data: RewardInput) -> RewardOutput:
        return scored(1.0, n=2.0, m=3.0)

    @sub_reward_func()
    def c_plain(self, input_data: RewardInput) -> RewardOutput:
        return scored(4.0)


async def test_the_total_is_a_weighted_sum_without_normalisation() -> None:
    result = await answer(Weighted())
    assert result == RewardOutput(reward=Reward(reward_score=0.5 * 2 - 1.5 * 1 + 4))
    assert result.status is TaskStatus.SUCCESS
    assert result.reward.reward_metrics is None


async def test_helpers_see_the_parts_in_alphabetical_order_of_methods() -> None:
    processor = Weighted()
    assert list(processor.get_weights().items()) == [("first", -1.5), ("b_second", 0.5), ("c_plain", 1.0)]
    parts = {"first": scored(1.0, n=2.0), "c_plain": scored(3.0)}
    assert processor.get_scores(parts) == {"first": 1.0, "c_plain": 3.0}
    assert processor.get_total(parts) == 1.5
    assert processor.get_reward_metrics(parts) == {"first.n": 2.0}
    with pytest.raises(ValueError, match=r"'x' is not registered. Available: \['first', 'b_second', 'c_plain'\]"):
        processor.get_total({"x": scored(1.0)})
    processor.shutdown()
    processor.shutdown()
    assert processor.executor is None


async def test_sync_parts_run_in_parallel_and_async_parts_run_with_them() -> None:
    barrier = threading.Barrier(2)
    meeting = asyncio.Barrier(2)

    @reward_func("p")
    class Parallel(AbstractRewardProcessor):
        @sub_reward_func()
        def sync_1(self, input_data: RewardInput) -> RewardOutput:
            barrier.wait(10)
            return scored(1)

        @sub_reward_func()
        def sync_2(self, input_data: RewardInput) -> RewardOutput:
            barrier.wait(10)
            return scored(1)

        @sub_reward_func()
        async def async_1(self, input_data: RewardInput) -> RewardOutput:
            await meeting.wait()
            return scored(1)

        @sub_reward_func()
        async def async_2(self, input_data: RewardInput) -> RewardOutput:
            await meeting.wait()
            return scored(1)

    async with asyncio.timeout(10):
        assert (await answer(Parallel())).reward.reward_score == 4


async def test_sync_parts_see_a_copy_of_the_callers_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    @reward_func("p")
    class Context(AbstractRewardProcessor):
        @sub_reward_func()
        def a(self, input_data: RewardInput) -> RewardOutput:
            seen.append(variable.get())
            variable.set("changed")
            return scored(0)

    variable.set("set")
    await answer(Context())
    assert seen == ["set"]
    assert variable.get() == "set"


async def test_a_part_that_raises_counts_as_a_failed_zero_and_the_others_go_on(heard: pytest.LogCaptureFixture) -> None:
    received: dict[str, RewardOutput] = {}

    @reward_func("p")
    class Raising(AbstractRewardProcessor):
        @sub_reward_func(sub_weight=10)
        def bad(self, input_data: RewardInput) -> RewardOutput:
            raise ValueError("no digits")

        @sub_reward_func(sub_weight=10)
        async def bad_too(self, input_data: RewardInput) -> RewardOutput:
            raise KeyError("x")

        @sub_reward_func()
        def good(self, input_data: RewardInput) -> RewardOutput:
            return scored(3)

        @aggregate_func
        def combine(self, sub_rewards: dict[str, RewardOutput]) -> RewardOutput:
            received.update(sub_rewards)
            return scored(self.get_total(sub_rewards))

    assert (await answer(Raising())).reward.reward_score == 3
    assert received["bad"] == RewardOutput(
        reward=Reward(reward_score=0.0, reward_metrics={}), status=TaskStatus.FAILED, error="no digits"
    )
    assert received["bad_too"].error == "'x'"
    assert "Error in sub-reward function bad: no digits" in heard.messages


async def test_all_parts_failing_is_still_a_success_of_zero() -> None:
    @reward_func("p")
    class Hopeless(AbstractRewardProcessor):
        @sub_reward_func()
        def bad(self, input_data: RewardInput) -> RewardOutput:
            raise ValueError

    result = await answer(Hopeless())
    assert (result.reward.reward_score, result.status, result.error) == (0.0, TaskStatus.SUCCESS, None)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_is_no_exception_comes_through(kind: type[BaseException], is_async: bool) -> None:
    class Leaving(AbstractRewardProcessor):
        @sub_reward_func()
        def sync(self, input_data: RewardInput) -> RewardOutput:
            raise kind("out")

    class LeavingAsync(AbstractRewardProcessor):
        @sub_reward_func()
        async def later(self, input_data: RewardInput) -> RewardOutput:
            raise kind("out")

    with pytest.raises(kind, match="out"):
        await answer(reward_func("p")(LeavingAsync if is_async else Leaving)())


async def test_stop_iteration_in_a_part_is_an_error_of_that_part() -> None:
    @reward_func("p")
    class Stopping(AbstractRewardProcessor):
        @sub_reward_func()
        def stop(self, input_data: RewardInput) -> RewardOutput:
            return next(iter(()))

    async with asyncio.timeout(10):
        assert (await answer(Stopping())).reward.reward_score == 0


async def test_a_part_that_returns_something_else_fails_the_default_total() -> None:
    @reward_func("p")
    class Odd(AbstractRewardProcessor):
        @sub_reward_func()
        def odd(self, input_data: RewardInput) -> Any:
            return 1.0

    with pytest.raises(TypeError, match="'odd' returned float, expected RewardOutput"):
        await answer(Odd())


async def test_a_failed_part_still_gives_its_score() -> None:
    @reward_func("p")
    class Failed(AbstractRewardProcessor):
        @sub_reward_func(sub_weight=2)
        def part(self, input_data: RewardInput) -> RewardOutput:
            return RewardOutput(reward=Reward(reward_score=0.25), status=TaskStatus.FAILED, error="half")

    assert (await answer(Failed())).reward.reward_score == 0.5


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_aggregates_answer_is_the_answer(is_async: bool) -> None:
    class Sync(Weighted):
        @aggregate_func
        def combine(self, sub_rewards: dict[str, RewardOutput]) -> Any:
            return sorted(sub_rewards), threading.current_thread() is threading.main_thread()

    class Async(Weighted):
        @aggregate_func
        async def combine(self, sub_rewards: dict[str, RewardOutput]) -> Any:
            return sorted(sub_rewards), threading.current_thread() is threading.main_thread()

    names, on_loop = await answer((Async if is_async else Sync)())
    assert names == ["b_second", "c_plain", "first"]
    assert on_loop is is_async


async def test_an_aggregate_that_raises_fails_the_call() -> None:
    class Broken(Weighted):
        @aggregate_func
        def combine(self, sub_rewards: dict[str, RewardOutput]) -> RewardOutput:
            raise ZeroDivisionError("no parts")

    with pytest.raises(ZeroDivisionError):
        await answer(Broken())


async def test_no_parts_at_all_is_zero() -> None:
    @reward_func("p")
    class Empty(AbstractRewardProcessor):
        pass

    assert (await answer(Empty())) == RewardOutput(reward=Reward(reward_score=0.0))


async def test_two_instances_keep_their_own_parts() -> None:
    @reward_func("p")
    class Stateful(AbstractRewardProcessor):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.value = value

        @sub_reward_func()
        def part(self, input_data: RewardInput) -> RewardOutput:
            return scored(self.value)

    first, second = Stateful(1.0), Stateful(2.0)
    assert first.reward_meta is not second.reward_meta
    assert Stateful.reward_meta.processor_id == first.reward_meta.processor_id == "p"
    assert list(Stateful.reward_meta.sub_functions) == ["part"]
    assert [(await answer(one)).reward.reward_score for one in (first, second)] == [1.0, 2.0]


async def test_a_written_process_is_replaced_with_a_warning(heard: pytest.LogCaptureFixture) -> None:
    @reward_func("p")
    class Written(AbstractRewardProcessor):
        def process(self, input_data: RewardInput) -> RewardOutput:
            return scored(9)

    assert (await answer(Written())).reward.reward_score == 0
    assert any("process is replaced by @reward_func" in line for line in heard.messages)


async def test_a_constructor_without_super_scores_zero_with_a_warning(heard: pytest.LogCaptureFixture) -> None:
    @reward_func("p")
    class Forgetful(AbstractRewardProcessor):
        def __init__(self) -> None:
            self.ready = True

        @sub_reward_func()
        def part(self, input_data: RewardInput) -> RewardOutput:
            return scored(1)

    processor = Forgetful()
    assert (await answer(processor)).reward.reward_score == 0
    await answer(processor)
    assert sum("does not call super().__init__()" in line for line in heard.messages) == 1
    assert processor.get_weights() == {}


async def test_collection_ignores_private_names_and_prefers_the_later_of_two(heard: pytest.LogCaptureFixture) -> None:
    @reward_func("p")
    class Doubled(Weighted):
        @sub_reward_func("first", 100)
        def z_last(self, input_data: RewardInput) -> RewardOutput:
            return scored(1)

        @sub_reward_func()
        def _hidden(self, input_data: RewardInput) -> RewardOutput:
            return scored(1000)

        @property
        def untouched(self) -> str:
            raise AssertionError("collection must not evaluate properties")

    assert Doubled().get_weights() == {"first": 100, "b_second": 0.5, "c_plain": 1.0}
    assert any("_hidden" in line and "ignored" in line for line in heard.messages)
    assert any("two sub-rewards named 'first'" in line for line in heard.messages)


async def test_the_last_of_several_aggregates_wins() -> None:
    class Two(Weighted):
        @aggregate_func
        def a(self, sub_rewards: dict[str, RewardOutput]) -> str:
            return "a"

        @aggregate_func
        def b(self, sub_rewards: dict[str, RewardOutput]) -> str:
            return "b"

    assert await answer(Two()) == "b"


async def test_marked_methods_without_the_class_decorator_serve_the_helpers() -> None:
    class Manual(AbstractRewardProcessor):
        @sub_reward_func(sub_weight=3)
        def part(self, input_data: RewardInput) -> RewardOutput:
            return scored(2)

        def process(self, input_data: RewardInput) -> RewardOutput:  # type: ignore[override]
            return scored(self.get_total({"part": self.part(input_data)}))

    processor = Manual()
    assert processor.reward_meta.processor_id == "default"
    assert processor.process(INPUT).reward.reward_score == 6


async def test_a_given_executor_is_used_and_kept() -> None:
    names: list[str] = []

    class Named(Weighted):
        @sub_reward_func()
        def d(self, input_data: RewardInput) -> RewardOutput:
            names.append(threading.current_thread().name)
            return scored(0)

    with ThreadPoolExecutor(thread_name_prefix="given") as executor:
        processor = Named(executor)
        await answer(processor)
        assert processor.executor is executor
        assert executor.submit(int).result() == 0
    assert names
    assert names[0].startswith("given")


def test_decorators_say_how_they_are_written() -> None:
    wrong: Any = reward_func
    with pytest.raises(TypeError, match="reward_func needs an id"):
        wrong(Weighted)
    wrong = sub_reward_func
    with pytest.raises(TypeError, match="needs parentheses"):
        wrong(lambda self, input_data: None)


def test_marks_that_tools_look_for() -> None:
    part: Any = Weighted.a_first
    assert (part._is_sub_reward_func, part._sub_reward_name, part._sub_weight) == (True, "first", -1.5)
    assert asyncio.iscoroutinefunction(part)
    assert not asyncio.iscoroutinefunction(Weighted.b_second)
    assert isinstance(Weighted.reward_meta, RewardProcessorMeta)
    assert asyncio.iscoroutinefunction(Weighted.process)


async def test_a_host_can_see_the_parts_of_each_call() -> None:
    found: list[SubOutcome] = []

    def call() -> asyncio.Task[Any]:
        outcomes.set(found)
        return asyncio.create_task(answer(Weighted()))

    await contextvars.copy_context().run(call)
    assert {part.name: part.result.reward.reward_score for part in found} == {"first": 1, "b_second": 2, "c_plain": 4}
    assert outcomes.get() is None


async def test_cancelling_the_call_cancels_its_parts() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @reward_func("p")
    class Waiting(AbstractRewardProcessor):
        @sub_reward_func()
        async def wait(self, input_data: RewardInput) -> RewardOutput:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return scored(0)

    task = asyncio.create_task(answer(Waiting()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(10):
        await ended.wait()


def test_abstract_classes_need_a_process() -> None:
    class NoProcess(AbstractRolloutProcessor):
        pass

    with pytest.raises(TypeError, match="process"):
        NoProcess()  # type: ignore[abstract]
