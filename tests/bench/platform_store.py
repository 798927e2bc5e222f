"""Times of the platform's store: pages of a long log, pages of many jobs, appends, status moves.

    python tests/bench/platform_store.py [--lines 10000000] [--jobs 100000] [--dir DIR]

Prints one line a measure: median and 95th percentile in milliseconds, or a rate.
"""

import argparse
import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.jobs import Jobs
from agentic_rl_tui.core.platform.store.lines import LineFile
from agentic_rl_tui.core.platform.store.logs import JobLogs

ROUNDS = 300
REQUEST = {
    "model": "qwen3.5-9b",
    "training_datasets": [{"type": "training", "file_id": "0" * 36}],
    "rollout": {"rollout_id": "ro-" + "0" * 36, "name": "rollout", "concurrency": 30, "capacity": 30},
    "rewards": [{"reward_id": "rw-" + "0" * 36, "name": f"reward-{number}", "weight": 1.0} for number in range(3)],
    "hyper_parameters": {f"parameter_{number}": number for number in range(20)},
    "job_name": "bench",
}


def show(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    median, tail = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name:<48} median {median * 1e3:8.3f} ms   p95 {tail * 1e3:8.3f} ms")


async def timed(work: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> list[float]:
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        found.append(time.perf_counter() - began)
    return found


async def bench_log(root: Path, count: int) -> None:
    bell = Bell()
    folder = root / "logs"
    folder.mkdir()
    file = LineFile(folder / "ft-1.log")
    line = "2026-12-01 21:00:00,123 - INFO - step {} critic/rewards/mean 0.4123 and what else a line may tell"
    began = time.perf_counter()
    for first in range(0, count, 10_000):
        file.append([line.format(number).encode() for number in range(first, min(first + 10_000, count))])
    spent = time.perf_counter() - began
    print(f"{'log: written in batches of 10,000':<48} {count / spent:,.0f} lines/s, {file.size / 1e6:,.0f} MB")
    file.close()
    began = time.perf_counter()
    LineFile(folder / "ft-1.log").close()
    print(f"{'log: opened':<48} {(time.perf_counter() - began) * 1e3:8.3f} ms")
    (folder / "ft-1.log.idx").unlink()
    began = time.perf_counter()
    LineFile(folder / "ft-1.log").close()
    print(f"{'log: opened without its index':<48} {(time.perf_counter() - began) * 1e3:8.0f} ms")
    logs = JobLogs(folder, bell)
    chance = random.Random(1)

    async def page(lines: int) -> None:
        found, total = await logs.read("ft-1", chance.randrange(count - lines), lines)
        assert (len(found), total) == (lines, count)

    show("log: page of 1,000 lines anywhere", await timed(lambda: page(1000)))
    show("log: page of 40 lines anywhere", await timed(lambda: page(40)))
    one = [line]
    began = time.perf_counter()
    for _ in range(20_000):
        await logs.append("ft-1", one)
    print(f"{'log: appended one by one':<48} {20_000 / (time.perf_counter() - began):,.0f} lines/s")
    logs.close()


async def bench_jobs(root: Path, count: int) -> None:
    database = Database(root / "platform.db")
    jobs = Jobs(database, Bell())
    made = []
    began = time.perf_counter()
    for number in range(count):
        # An id has four digits of chance a minute: a real clock would never see this many in one.
        jobs._clock = lambda number=number: 1_700_000_000.0 + number * 30  # type: ignore[misc]
        made.append((await jobs.create(REQUEST, training_type="reinforcement")).job_id)
    print(f"{'jobs: created one by one':<48} {count / (time.perf_counter() - began):,.0f} /s")
    began = time.perf_counter()
    jobs.page(count // 50, 50)
    print(f"{'jobs: first look at the last page':<48} {(time.perf_counter() - began) * 1e3:8.3f} ms")
    chance = random.Random(2)

    async def page(page_no: int, size: int) -> None:
        found, total = jobs.page(page_no, size)
        assert (len(found), total) == (size, count)

    show("jobs: newest 50", await timed(lambda: page(1, 50)))
    show("jobs: 50 in the middle", await timed(lambda: page(count // 100, 50)))
    show("jobs: oldest 50", await timed(lambda: page(count // 50, 50)))
    show("jobs: 50 anywhere", await timed(lambda: page(chance.randrange(1, count // 50), 50)))

    async def one() -> None:
        assert jobs.stored(chance.choice(made)) is not None

    show("jobs: one by id", await timed(one))

    async def named() -> None:
        jobs.page(1, 10, name="nobody")

    show("jobs: by a name nobody has", await timed(named))

    async def move() -> None:
        assert await jobs.move(made.pop(), JobStatus.CANCELED)

    show("jobs: status move", await timed(move))
    database.close()


async def run(root: Path, lines: int, jobs: int) -> None:
    await bench_log(root, lines)
    await bench_jobs(root, jobs)
    print(f"{'peak memory':<48} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--dir", type=Path, help="where to work (default: a temporary directory)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
        asyncio.run(run(Path(folder), arguments.lines, arguments.jobs))


if __name__ == "__main__":
    main()
