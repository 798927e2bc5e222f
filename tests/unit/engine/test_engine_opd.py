"""Distillation: the practice policy is pulled towards a practice teacher, in all four scenarios."""

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.engine import TrajectoryReader


@pytest.mark.parametrize("has_rollout", [True, False])
@pytest.mark.parametrize("has_reward", [True, False])
async def test_all_four_scenarios(bench: Any, kit: Any, has_rollout: bool, has_reward: bool) -> None:
    request = bench.request(
        rollout=bench.agent() if has_rollout else None,
        rewards=[kit.strict] if has_reward else [],
        rows=kit.arithmetic(64),
        validation=kit.arithmetic(8, seed=2),
        batch_size=16,
        n_rollouts=4,
        n_epochs=3,
        teacher="qwen3.5-397b-a17b",
    )
    job = await bench.run(request)
    assert job.status is JobStatus.SUCCEEDED, job.message
    losses = bench.metrics(job, "actor/distillation/loss")
    assert len(losses) == 12
    assert losses[-1] < 0.6 * losses[0]
    assert bench.metrics(job, "trace/distillation/valid_token_rate")[0] == 1.0
    assert len(bench.metrics(job, "validation/distillation/loss")) == 13
    words = ["OPD: teacher", *(["rollout"] if has_rollout else []), *(["reward"] if has_reward else [])]
    assert f"scenario {' + '.join(words)};" in bench.text(job)
    rewards = bench.metrics(job)
    if has_reward:
        assert rewards[-1] - rewards[0] > 0.3
    else:
        assert rewards == []
        assert job.progress is not None
        assert job.progress.rewards == ()
    group = TrajectoryReader(bench.artefacts / job.job_id).group(
        1, TrajectoryReader(bench.artefacts / job.job_id).samples(1)[0]["sample"]
    )
    assert group[0]["messages"][-1]["role"] == "assistant"
    assert group[0]["calls"]


async def test_the_kl_coefficient_is_not_used_by_opd(make_bench: Callable[..., Any], kit: Any) -> None:
    texts = []
    for coefficient in (0, 5):
        bench = make_bench()
        job = await bench.run(
            bench.request(rollout=None, rows=kit.arithmetic(16), teacher="big", kl_loss_coef=coefficient)
        )
        texts.append(bench.metrics(job, "actor/distillation/loss"))
    assert texts[0] == texts[1]


async def test_the_platforms_own_rollouts_offer_the_rows_tools(bench: Any, kit: Any) -> None:
    rows = [row | {"tools": [kit.calculator]} for row in kit.arithmetic(8)]
    job = await bench.run(bench.request(rollout=None, rows=rows, n_rollouts=16, teacher="big"))
    assert job.status is JobStatus.SUCCEEDED
    reader = TrajectoryReader(bench.artefacts / job.job_id)
    lasts = [record["messages"][-1] for sample in reader.samples(1) for record in reader.group(1, sample["sample"])]
    assert any(message.get("tool_calls") for message in lasts)


async def test_a_failing_reward_does_not_stop_the_teacher(bench: Any, kit: Any) -> None:
    def broken_for_some(payload: dict[str, Any]) -> dict[str, Any]:
        if payload["request_metadata"]["rollout_id"].endswith("-0"):
            raise ValueError("no")
        return kit.scored(1.0)

    job = await bench.run(bench.request(rollout=None, rewards=[broken_for_some], rows=kit.arithmetic(8), teacher="big"))
    assert job.status is JobStatus.SUCCEEDED
    assert bench.metrics(job, "practice/decisions") == [32]
