"""Users' functions that fail: counted apart, told readably, never a score of 0."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl_tui.core.functions.calls import CallError, CallResult, CallStatus, SubResult
from agentic_rl_tui.core.models.job_request import FunctionEntry
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import EngineOptions, TrajectoryReader, read_report
from agentic_rl_tui.core.platform.engine.trajectories import TrajectoryWriter


def number_of(payload: dict[str, Any]) -> int:
    return int(payload["request_metadata"]["rollout_id"].rsplit("-", 1)[1])


async def test_failed_rollouts_are_no_zeros(bench: Any, kit: Any) -> None:
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        if number_of(payload) == 0:
            raise KeyError("tools")
        return await ask(payload)

    job = await bench.run(bench.request(rollout=rollout, rewards=[lambda _: kit.scored(1.0)], rows=kit.arithmetic(8)))
    assert job.status is JobStatus.SUCCEEDED
    assert bench.metrics(job) == [1.0]
    assert bench.metrics(job, "trajectory/failed_rollouts") == [8]
    assert bench.metrics(job, "trajectory/scored") == [24]
    text = bench.text(job)
    assert "rollout 'agent' raised: KeyError: 'tools' (8 times, first at sample " in text
    assert 'File "functions/agent.py", line 7, in process' in text
    # Every failing rollout was tried twice.
    assert bench.functions.opened[0].calls == 8 * 3 + 8 * 2
    report = read_report(bench.artefacts / job.job_id)
    assert report is not None
    assert report["failures"] == [{"function": "rollout 'agent'", "kind": "raised", "type": "KeyError", "count": 8}]
    assert report["functions"][0]["failures"] == {"raised": 16}
    assert report["functions"][0]["retries"] == 8
    reader = TrajectoryReader(bench.artefacts / job.job_id)
    sample = reader.samples(1)[0]
    assert (sample["failed_rollouts"], sample["rewards"][0]) == (1, None)
    failed = reader.group(1, sample["sample"])[0]
    assert failed["failure"]["type"] == "KeyError"
    assert failed["attempt"] == 2


async def test_a_second_attempt_may_succeed(bench: Any, kit: Any) -> None:
    ask = bench.agent()
    attempts: list[str] = []

    async def flaky(payload: dict[str, Any]) -> dict[str, Any]:
        attempts.append(payload["request_metadata"]["attempt_id"])
        if attempts[-1] == "1":
            return {"agent_output": None, "status": "failed", "error": "rate limited", "error_code": "429"}
        return await ask(payload)

    job = await bench.run(bench.request(rollout=flaky, rewards=[kit.strict], rows=kit.arithmetic(8)))
    assert bench.metrics(job, "trajectory/failed_rollouts") == [0]
    assert bench.metrics(job, "trajectory/retried_rollouts") == [32]
    assert attempts.count("2") == 32


async def test_a_failed_reward_leaves_the_rollout_without_a_score(bench: Any, kit: Any) -> None:
    def judge(payload: dict[str, Any]) -> dict[str, Any]:
        if number_of(payload) == 1:
            return {"reward": {"reward_score": 0.0}, "status": "failed", "error": "judge is down"}
        return kit.scored(1.0)

    job = await bench.run(
        bench.request(rollout=bench.agent(), rewards=[judge, lambda _: kit.scored(1.0)], rows=kit.arithmetic(8))
    )
    assert bench.metrics(job) == [1.0]
    assert bench.metrics(job, "trajectory/failed_rewards") == [8]
    assert bench.metrics(job, "trajectory/scored") == [24]
    assert bench.metrics(job, "trajectory/zero_by_judgement") == [0]
    assert "reward 'score-1' answered: status=failed: judge is down (8 times" in bench.text(job)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None, [1.0]])
async def test_what_is_no_score_is_a_failure(bench: Any, kit: Any, value: object) -> None:
    def odd(payload: dict[str, Any]) -> dict[str, Any]:
        return kit.scored(value if number_of(payload) == 0 else 1.0)

    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[odd], rows=kit.arithmetic(8)))
    assert bench.metrics(job, "trajectory/failed_rewards") == [8]
    assert "expected a finite number" in bench.text(job)


async def test_sub_rewards_that_raise_are_zeros_by_exception(bench: Any, kit: Any) -> None:
    def answer(payload: dict[str, Any]) -> CallResult:
        if number_of(payload) == 2:
            broken = SubResult("fact", 1.0, 0.0, "failed", error=CallError("IndexError", "list index out of range"))
            return CallResult(CallStatus.OK, kit.scored(0.0), sub_results=(broken,))
        judged = SubResult("fact", 1.0, 0.0, "success")
        return CallResult(CallStatus.OK, kit.scored(0.0), sub_results=(judged,))

    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[answer], rows=kit.arithmetic(8)))
    assert bench.metrics(job, "trajectory/zero_by_exception") == [8]
    assert bench.metrics(job, "trajectory/zero_by_judgement") == [24]
    assert bench.metrics(job, "trajectory/failed_rewards") == [0]
    assert "sub-reward 'fact' of reward 'score-1' raised inside a sub-reward" in bench.text(job)
    assert "IndexError: list index out of range" in bench.text(job)


async def test_a_group_reward_of_the_wrong_length_is_a_failure(bench: Any, kit: Any) -> None:
    job = await bench.run(
        bench.request(
            rollout=bench.agent(),
            group_rewards=[lambda _: {"reward": {"rewards": [{"reward_score": 1.0}]}}],
            rows=kit.arithmetic(8),
        )
    )
    assert job.status is JobStatus.FAILED
    assert job.code == "RewardFailed"
    assert "it gave 1 rewards for 4 rollouts" in bench.text(job)


async def test_a_step_without_one_good_rollout_ends_the_job(bench: Any, kit: Any) -> None:
    def broken(payload: dict[str, Any]) -> dict[str, Any]:
        raise ImportError("No module named 'sympy'")

    job = await bench.run(bench.request(rollout=broken, rewards=[kit.strict], rows=kit.arithmetic(16)))
    assert job.status is JobStatus.FAILED
    assert job.code == "RolloutFailed"
    assert job.message == (
        "all 32 rollouts of step 1 failed; most often: rollout 'agent' raised: ImportError: No module named 'sympy'"
    )
    assert f"job failed: {job.message}" in bench.text(job)
    report = read_report(bench.artefacts / job.job_id)
    assert report is not None
    assert report["is_partial"] is True
    assert report["steps_done"] == 1
    assert all(function.closed for function in bench.functions.opened)


async def test_the_first_validation_finds_a_broken_rollout_too(bench: Any, kit: Any) -> None:
    def broken(payload: dict[str, Any]) -> dict[str, Any]:
        raise ImportError("No module named 'sympy'")

    job = await bench.run(
        bench.request(
            rollout=broken, rewards=[kit.strict], rows=kit.arithmetic(16), validation=kit.arithmetic(2, seed=3)
        )
    )
    assert job.status is JobStatus.FAILED
    assert "all 2 rollouts of the validation at step 0 failed" in (job.message or "")


async def test_losing_most_rollouts_three_steps_in_a_row_ends_the_job(bench: Any, kit: Any) -> None:
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        if number_of(payload) > 0:
            raise TimeoutError("the shop's server does not answer")
        return await ask(payload)

    job = await bench.run(bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(64)))
    assert job.status is JobStatus.FAILED
    assert job.code == "TooManyFailures"
    assert "in 3 steps in a row" in (job.message or "")
    assert len(bench.metrics(job)) == 3


async def test_identical_failures_are_told_once(bench: Any, kit: Any) -> None:
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        if number_of(payload) == 0:
            raise ValueError(f"row {payload['request_metadata']['sample_id']} at 0x7f{number_of(payload)}aa")
        return await ask(payload)

    job = await bench.run(bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(16)))
    text = bench.text(job)
    assert text.count("ValueError: row") == 3  # one traceback, one sentence a step
    assert "8 times in earlier steps, traceback there" in text


async def test_a_timeout_is_told_as_one(bench: Any, kit: Any) -> None:
    late = CallResult(CallStatus.TIMEOUT, None, CallError("TimeoutError", "no answer within 5 s"))
    ask = bench.agent()

    async def rollout(payload: dict[str, Any]) -> Any:
        return late if number_of(payload) == 0 else await ask(payload)

    job = await bench.run(bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(8)))
    assert bench.metrics(job, "trajectory/timeout_rollouts") == [8]
    assert "rollout 'agent' ran past its timeout: TimeoutError: no answer within 5 s" in bench.text(job)


async def test_a_function_that_cannot_start_fails_the_job_readably(bench: Any, kit: Any) -> None:
    request = bench.request(rollout=bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(8))
    bench.functions.broken.add("rw-1")
    job = await bench.run(request)
    assert (job.status, job.code) == (JobStatus.FAILED, "FunctionFailed")
    assert job.message == "score-1: setup raised KeyError"
    assert "    KeyError: 'x'" in bench.lines(job)
    assert all(function.closed for function in bench.functions.opened)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hyper": {"learning_rate": "fast"}}, "hyper_parameters.learning_rate: 'fast' is no number"),
        ({"hyper": {"batch_size": 65}}, "fewer than batch_size 65"),
        ({"rows": ["{"]}, "train.jsonl line 1 is no JSON"),
        ({"rows": [{"messages": []}]}, "train.jsonl line 1 has no `messages`"),
        ({"rows": [{"messages": [{"content": "x"}]}]}, "a message without a role"),
        ({"rows": ["[1]"]}, "no JSON object"),
        ({"rows": ['{"a": ' + "[" * 300 + "]" * 300 + "}"]}, "train.jsonl line 1 is nested more than 100 levels deep"),
        ({"rows": [""]}, "has no rows"),
        ({"weights": [0.0]}, "weights of all rewards are 0"),
        ({"weights": [float("nan")]}, "the weight of reward 'score-1' is nan"),
        ({"model": "practice-qwen-ft-202601010000-dead"}, "is not on this platform"),
        ({"model": ""}, "names no model"),
    ],
)
async def test_what_cannot_run_says_so(bench: Any, kit: Any, change: dict[str, Any], words: str) -> None:
    settings = {key: value for key, value in change.items() if key != "hyper"} | change.get("hyper", {})
    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[kit.strict], **settings))
    assert job.status is JobStatus.FAILED
    assert words in (job.message or "")
    assert words in bench.text(job)
    assert read_report(bench.artefacts / job.job_id) is not None


async def test_requests_that_lack_something(bench: Any, kit: Any) -> None:
    request = bench.request(rollout=bench.agent(), rewards=[kit.strict])
    for change, words in (
        ({"rollout": None}, "no rollout function"),
        ({"training_datasets": []}, "no training data"),
        ({"training_type": "sft"}, "training type 'sft' cannot run here"),
        ({"training_type": "pg_opd"}, "needs a teacher_model"),
    ):
        job = await bench.run(request.model_copy(update=change))
        assert job.status is JobStatus.FAILED
        assert words in (job.message or ""), words


async def test_no_key_reaches_the_jobs_message(bench: Any, kit: Any) -> None:
    def leaky(payload: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError(f"cannot use {payload['model_resource']['api_key']}")

    job = await bench.run(bench.request(rollout=leaky, rewards=[kit.strict], rows=kit.arithmetic(8)))
    assert job.status is JobStatus.FAILED
    assert "cannot use" in (job.message or "")
    assert "sk-rollout-" not in (job.message or "")


async def test_a_job_can_be_told_to_fail(make_bench: Callable[..., Any], kit: Any) -> None:
    bench = make_bench(EngineOptions(fail_at_step=3))
    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(64)))
    assert (job.status, job.code) == (JobStatus.FAILED, "InjectedFault")
    assert len(bench.metrics(job)) == 2


async def test_a_long_step_says_what_it_waits_for(make_bench: Callable[..., Any], kit: Any) -> None:
    bench = make_bench(EngineOptions(heartbeat_s=0.02))
    ask, append, told = bench.agent(), bench.log.append, asyncio.Event()

    async def watched(job_id: str, lines: Any) -> None:
        await append(job_id, lines)
        if "running now" in lines[0]:
            told.set()

    async def rollout(payload: dict[str, Any]) -> Any:
        async with asyncio.timeout(5):
            await told.wait()
        return await ask(payload)

    bench.log.append = watched

    job = await bench.run(bench.request(rollout=rollout, rewards=[kit.strict], rows=kit.arithmetic(8)))
    assert "step 1: 0 of 32 train rollouts done; running now: rollout 'agent' 8 calls" in bench.text(job)


async def test_every_call_has_a_limit(bench: Any, kit: Any) -> None:
    request = bench.request(rollout=bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(8))
    assert request.rollout is not None
    unlimited = request.model_copy(
        update={
            "rollout": request.rollout.model_copy(update={"timeout": None}),
            "rewards": [entry.model_copy(update={"timeout": None}) for entry in request.rewards],
        }
    )
    job = await bench.run(unlimited)
    assert "started rollout 'agent': 8 slots, timeout 600 s" in bench.text(job)
    assert "started reward 'score-1': 8 slots, timeout 120 s, weight 1" in bench.text(job)


async def test_functions_of_one_name_are_told_apart(bench: Any, kit: Any) -> None:
    request = bench.request(
        rollout=bench.agent(), rewards=[lambda _: kit.scored(1.0), lambda _: kit.scored(0.0)], rows=kit.arithmetic(8)
    )
    twins = [entry.model_copy(update={"name": "score"}) for entry in request.rewards]
    job = await bench.run(request.model_copy(update={"rewards": twins}))
    assert bench.metrics(job, "trace/reward_metrics/score/reward_score/avg") == [1.0]
    assert bench.metrics(job, "trace/reward_metrics/score-2/reward_score/avg") == [0.0]


async def test_a_function_in_the_wrong_place_is_named(bench: Any, kit: Any) -> None:
    request = bench.request(rollout=bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(8))
    swapped = request.model_copy(update={"rollout": request.rewards[0].model_copy(update={"rollout_id": "rw-1"})})
    job = await bench.run(swapped)
    assert "reward 'score-1' stands in the job's rollout field" in (job.message or "")
    nameless = request.model_copy(update={"rewards": [FunctionEntry(name="x")]})
    assert "has no id" in ((await bench.run(nameless)).message or "")


async def test_a_full_disk_ends_the_job(bench: Any, kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TrajectoryWriter, "write", full)
    job = await bench.run(bench.request(rollout=bench.agent(), rewards=[kit.strict], rows=kit.arithmetic(8)))
    assert (job.status, job.code) == (JobStatus.FAILED, "StorageError")
    assert "No space left on device" in (job.message or "")
