"""What the engine itself costs: time per rollout with functions that cost nothing, and how long its loop is blocked.

Run it as ``python tests/bench/engine_overhead.py [rollouts per step]``. The functions are plain calls in the same
process and ask the model without HTTP, so all that is measured is sampling, answering, scoring, learning, logging and
writing trajectories.
"""

import asyncio
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from agentic_rl_tui.core.platform.engine import EngineOptions, TrajectoryReader
from agentic_rl_tui.core.platform.server import calm_the_collector

SUPPORT = Path(__file__).resolve().parents[1] / "unit" / "engine" / "conftest.py"


def support() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engine_support", SUPPORT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class LoopWatch:
    """Measures the longest time in which the event loop did not come round.

    worst_cpu_s counts only what the loop's own thread worked meanwhile: it is the same on a busy machine.
    """

    worst_s = 0.0
    worst_cpu_s = 0.0

    async def run(self) -> None:
        while True:
            began, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            self.worst_s = max(self.worst_s, time.perf_counter() - began - 0.001)
            self.worst_cpu_s = max(self.worst_cpu_s, time.thread_time() - cpu)


async def measure(prompts: int) -> None:
    kit: Any = support()
    with tempfile.TemporaryDirectory() as folder:
        bench = kit.Bench(Path(folder), EngineOptions())
        request = bench.request(
            rollout=bench.agent(tools=True),
            rewards=[kit.strict],
            rows=kit.arithmetic(4 * prompts),
            batch_size=prompts,
            n_rollouts=8,
        )
        watch = LoopWatch()
        task = asyncio.create_task(watch.run())
        began = time.perf_counter()
        job = await bench.run(request)
        seconds = time.perf_counter() - began
        task.cancel()
        rollouts = 4 * prompts * 8
        print(f"{job.status}: {rollouts} rollouts in {seconds:.2f} s = {seconds / rollouts * 1e3:.3f} ms each")
        own = f"{watch.worst_cpu_s * 1e3:.1f} ms of it its own work"
        print(f"longest block of the event loop: {watch.worst_s * 1e3:.1f} ms; at most {own}")
        reader = TrajectoryReader(bench.artefacts / job.job_id)
        began = time.perf_counter()
        sample = reader.samples(3)[0]["sample"]
        group = reader.group(3, sample)
        print(f"a group of {len(group)} found and read in {(time.perf_counter() - began) * 1e3:.2f} ms")


if __name__ == "__main__":
    calm_the_collector()
    asyncio.run(measure(int(sys.argv[1]) // 8 if len(sys.argv) > 1 else 64))
