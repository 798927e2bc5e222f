"""A job from its first line to its last."""

import ast
from typing import Any

from agentic_rl_tui.core.models.status import JobStatus


async def test_a_good_reward_rises(bench: Any, kit: Any) -> None:
    request = bench.request(
        rollout=bench.agent(tools=True),
        rewards=[kit.strict],
        rows=kit.arithmetic(256),
        validation=kit.arithmetic(32, seed=2),
        batch_size=64,
        n_rollouts=8,
    )
    job = await bench.run(request)
    assert job.status is JobStatus.SUCCEEDED
    dicts = [ast.literal_eval(line.split(" - INFO - ", 1)[1]) for line in bench.lines(job) if "- INFO - {'" in line]
    rewards = [values["critic/rewards/mean"] for values in dicts if "critic/rewards/mean" in values]
    assert rewards[-1] - rewards[0] >= 0.3
