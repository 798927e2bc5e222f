"""Same seed, same inputs: the same log, whatever finishes first."""

import asyncio
import random
from collections.abc import Callable
from typing import Any


async def one_run(bench: Any, kit: Any, *, slots: int, wobble: int | None = None, seed: int = 7) -> tuple[str, str]:
    """The log's text and hash of a short job; `wobble` seeds how long each rollout is held up."""
    ask = bench.agent(tools=True)
    delays = random.Random(wobble)

    async def rollout(payload: dict[str, Any]) -> dict[str, Any]:
        for _ in range(delays.randrange(6) if wobble is not None else 0):
            await asyncio.sleep(0)
        if payload["request_metadata"]["rollout_id"] == "train-2-3-1":
            raise ValueError("this one always fails")
        return await ask(payload)

    bench.functions.slots = slots
    job = await bench.run(
        bench.request(
            rollout=rollout,
            rewards=[kit.strict, kit.naive],
            rows=kit.arithmetic(16),
            validation=kit.arithmetic(4, seed=2),
            seed=seed,
            n_epochs=2,
        )
    )
    text = "\n".join(line for line in bench.lines(job) if "slots" not in line)
    return text, bench.log_hash(job)


async def test_two_runs_write_the_same_log(make_bench: Callable[..., Any], kit: Any) -> None:
    assert (await one_run(make_bench(), kit, slots=8))[1] == (await one_run(make_bench(), kit, slots=8))[1]


async def test_concurrency_and_order_change_nothing(make_bench: Callable[..., Any], kit: Any) -> None:
    alone = (await one_run(make_bench(), kit, slots=1))[0]
    assert alone == (await one_run(make_bench(), kit, slots=8, wobble=1))[0]
    assert alone == (await one_run(make_bench(), kit, slots=3, wobble=2))[0]


async def test_another_seed_draws_otherwise(make_bench: Callable[..., Any], kit: Any) -> None:
    first = await one_run(make_bench(), kit, slots=8)
    assert first[1] != (await one_run(make_bench(), kit, slots=8, seed=8))[1]


async def test_slots_bound_the_calls_at_once(bench: Any, kit: Any) -> None:
    async def slow(payload: dict[str, Any]) -> dict[str, Any]:
        for _ in range(5):
            await asyncio.sleep(0)
        return kit.done(payload["messages"], payload, reward_score=0.0)

    bench.functions.slots = 100
    await bench.run(bench.request(rollout=slow, rows=kit.arithmetic(64), batch_size=64, n_rollouts=4))
    assert bench.functions.opened[0].most_running == 100
