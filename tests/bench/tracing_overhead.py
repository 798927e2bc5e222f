"""What tracing adds to a model call of 10 ms: ``python tests/bench/tracing_overhead.py``.

Untraced, traced, and traced with the traces kept on disk take turns in one run. The fastest tenth counts: whatever else
the machine does only ever adds time.
"""

import asyncio
import tempfile
from pathlib import Path
from statistics import median

from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath
from agentic_rl_tui.core.platform.tasks import Tasks
from agentic_rl_tui.core.platform.traces import TraceKeeper

CODE = """
import time
from dashscope.finetune.reinforcement import AbstractRolloutProcessor, AgentOutput, RolloutOutput
from dashscope.finetune.reinforcement.component.observability import observe_processor, trace_client, observe_tool

class Completions:
    def create(self, **asked):
        time.sleep(0.01)
        return {"id": "1", "model": "m", "choices": [{"message": {"role": "assistant", "content": "x" * 400}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 9}}

class R(AbstractRolloutProcessor):
    def setup(self):
        self.client = Completions()
        trace_client(self.client)

    @observe_processor
    def process(self, input):
        took = []
        for _ in range(20):
            began = time.perf_counter()
            self.client.create(model="m", messages=input.messages)
            took.append(time.perf_counter() - began)
        metrics = {str(place): seconds for place, seconds in enumerate(took)}
        return RolloutOutput(agent_output=AgentOutput(messages=input.messages, rollout_metrics=metrics))
"""
PAYLOAD = {
    "func_type": "rollout",
    "messages": [{"role": "user", "content": "a question of ordinary length " * 20}],
    "model_resource": {"model_name": "m", "base_url": "http://x", "api_key": "k"},
}
CALLS, ROUNDS = 4, 12
VARIANTS = {"off": "false", "spans": "true", "spans and store": "true"}


async def measure() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agent.py").write_text(CODE)
        tasks = Tasks()
        keeper = TraceKeeper(Path(folder) / "traces", tasks, max_age_s=86_400, max_bytes=1 << 30)
        keeper.start()
        pools = {
            name: FunctionPool(
                WorkerSpec(Path(folder), FunctionKind.ROLLOUT, ClassPath("agent", "R"), env={"ENABLE_TRAJECTORY": wish})
            )
            for name, wish in VARIANTS.items()
        }
        took: dict[str, list[float]] = {name: [] for name in pools}
        for pool in pools.values():
            await pool.start()
            await pool.call(PAYLOAD)
        for _ in range(ROUNDS):
            for name, pool in pools.items():
                for _ in range(CALLS):
                    result = await pool.call(PAYLOAD)
                    assert result.output is not None
                    took[name] += result.output["agent_output"]["rollout_metrics"].values()
                    if name == "spans and store":
                        keeper.take(PAYLOAD, result, function="R", kind="rollout", env={})
        for pool in pools.values():
            await pool.stop()
        await keeper.stop()
        await tasks.stop()
        kept = keeper.reader.count()
        assert kept == CALLS * ROUNDS, f"{kept} runs were kept"
    fast = {name: sorted(times)[len(times) // 10] * 1e3 for name, times in took.items()}
    usual = {name: median(times) * 1e3 for name, times in took.items()}
    for name in VARIANTS:
        more = [100 * (found[name] - found["off"]) / found["off"] for found in (fast, usual)]
        print(f"{name:<16} {fast[name]:.3f} ms {more[0]:+.2f} %   in the median {usual[name]:.3f} ms {more[1]:+.2f} %")


if __name__ == "__main__":
    asyncio.run(measure())
