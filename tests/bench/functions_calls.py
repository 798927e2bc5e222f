"""Calls of one reward: our pool against the vendor's function server, on this machine, in turns.

    python tests/bench/functions_calls.py [--python INTERPRETER] [--rounds N] [--seconds S]

INTERPRETER holds the vendor's package (default: .cache/peers/dashscope-2.0.2). Both sides run the demo reward that
ships with it: its source is given to the pool as user code, with its two log lines per call. The input has 8 messages
and about 6 KB. Ratios are medians over rounds; above 1 is better for the pool.
"""

import argparse
import asyncio
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

CHECKOUT = Path(__file__).parents[2]
DEMO = "dashscope.finetune.reinforcement.component.demo.reward_processor_demo"
SERVER = "dashscope.finetune.reinforcement.component.server.server"
TEXT = "The train leaves at nine and arrives at noon, so it takes three hours in all. "
MESSAGES = [{"role": ("user", "assistant")[i % 2], "content": f"{i}: {TEXT * 9}"} for i in range(8)]
INPUT: dict[str, Any] = {
    "func_type": "reward",
    "ground_truth": "42",
    "agent_output": {"messages": MESSAGES, "rollout_metrics": {"turns": 8.0}},
}
BODY = orjson.dumps(INPUT)
QUIET = """
from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardOutput

class Quiet(AbstractRewardProcessor):
    def process(self, input_data):
        score = 0.0
        messages = input_data.agent_output.messages
        if input_data.ground_truth is not None and messages:
            truth = str(input_data.ground_truth)
            found = any(isinstance(m.get("content"), str) and truth in m["content"] for m in messages)
            score = 1.0 if found else 0.5
        metrics = input_data.agent_output.rollout_metrics
        return RewardOutput(reward=Reward(reward_score=score, reward_metrics=metrics))
"""

Call = Callable[[], Awaitable[None]]


class Connection:
    """One kept-alive HTTP connection, as cheap as a client can be."""

    def __init__(self, port: int) -> None:
        self._port = port
        head = f"POST /api/v1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}"
        self._request = head.encode() + b"\r\n\r\n" + BODY

    async def call(self) -> None:
        if not hasattr(self, "_reader"):
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(self._request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        await self._reader.readexactly(length)


async def measure(calls: list[Call], seconds: float) -> dict[str, float]:
    """Run each caller in a loop; calls per second and latencies in ms."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def loop(call: Call) -> None:
        while (begun := time.perf_counter()) < end:
            await call()
            latencies.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*[loop(call) for call in calls])
    took = time.perf_counter() - begun
    latencies.sort()
    return {
        "per_s": len(latencies) / took,
        "p50_ms": latencies[len(latencies) // 2] * 1e3,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1e3,
    }


async def load(make: Callable[[], Call], seconds: float) -> dict[str, float]:
    await measure([make()], 0.3)
    one = await measure([make()], seconds)
    many = await measure([make() for _ in range(16)], seconds)
    return {"per_s": many["per_s"], "p50_ms": one["p50_ms"], "p99_ms": one["p99_ms"], "p99_at_16_ms": many["p99_ms"]}


async def vendor(python: Path, seconds: float) -> dict[str, float]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "FUNC_TYPE": "reward", "PROCESSOR_CLASS": f"{DEMO}.DemoRewardProcessor", "WORKERS_COUNT": "1"}
    env |= {"SERVER_PORT": str(port), "DASHSCOPE_API_KEY": "x"}
    begun = time.perf_counter()
    server = subprocess.Popen(  # noqa: ASYNC220
        [python, "-m", SERVER],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while True:
            try:
                await Connection(port).call()
                break
            except OSError:
                await asyncio.sleep(0.002)
        cold_ms = (time.perf_counter() - begun) * 1e3
        return {**await load(lambda: Connection(port).call, seconds), "cold_ms": cold_ms}
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


async def ours(folder: Path, classpath: str, seconds: float) -> dict[str, float]:
    spec = WorkerSpec(folder, FunctionKind.REWARD, ClassPath.parse(classpath), concurrency=16)
    begun = time.perf_counter()
    async with FunctionPool(spec) as pool:

        async def call() -> None:
            result = await pool.call(INPUT)
            assert result.is_ok, result

        await call()
        cold_ms = (time.perf_counter() - begun) * 1e3
        return {**await load(lambda: call, seconds), "cold_ms": cold_ms}


async def slot_ms(folder: Path, classpath: str) -> float:
    """What a further slot of a running instance takes."""
    spec = WorkerSpec(folder, FunctionKind.REWARD, ClassPath.parse(classpath))
    async with FunctionPool(spec, size=2) as pool:
        times = []
        for _ in range(10):
            begun = time.perf_counter()
            worker = await pool._spawner.start_worker()
            times.append((time.perf_counter() - begun) * 1e3)
            worker.kill("measured")
            await worker.gone
    return statistics.median(times)


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, default=CHECKOUT / ".cache/peers/dashscope-2.0.2/bin/python")
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=2.0)
    chosen = options.parse_args()
    if not chosen.python.exists():
        sys.exit(f"{chosen.python} does not exist; give an interpreter with the vendor's package")
    shown = f"import {DEMO} as demo; print(open(demo.__file__).read())"
    source = subprocess.run([chosen.python, "-c", shown], capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo.py").write_text(source)
        (folder / "quiet.py").write_text(QUIET)
        sides: dict[str, Callable[[], Awaitable[dict[str, float]]]] = {
            "vendor's server": lambda: vendor(chosen.python, chosen.seconds),
            "pool, same source": lambda: ours(folder, "demo.py:DemoRewardProcessor", chosen.seconds),
            "pool, without log lines": lambda: ours(folder, "quiet.py:Quiet", chosen.seconds),
        }
        rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for _ in range(chosen.rounds):
            for side, run in sides.items():
                rounds[side].append(await run())
        report(rounds)
        print(f"\nfurther slot of a running instance: {await slot_ms(folder, 'quiet.py:Quiet'):.1f} ms")


def report(rounds: dict[str, list[dict[str, float]]]) -> None:
    base = next(iter(rounds))
    columns = list(rounds[base][0])
    print(f"input {len(BODY)} bytes; throughput at 16 in flight, p50 and p99 at 1\n")
    print(f"{'':26}" + "".join(f"{column:>14}" for column in columns))
    for side, results in rounds.items():
        print(f"{side:26}" + "".join(f"{statistics.median(r[c] for r in results):14.2f}" for c in columns))
    for side, results in list(rounds.items())[1:]:
        ratios = []
        for column in columns:
            pairs = [(mine[column], theirs[column]) for mine, theirs in zip(results, rounds[base], strict=True)]
            better = [a / b if column == "per_s" else b / a for a, b in pairs]
            ratios.append(f"{statistics.median(better):13.1f}x")
        print(f"{side:26}" + "".join(ratios))


if __name__ == "__main__":
    asyncio.run(main())
