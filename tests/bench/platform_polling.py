"""Many clients that poll a platform with many jobs and a long log: answers a second, latency, memory over time.

    python tests/bench/platform_polling.py [--clients 200] [--jobs 100000] [--lines 1000000] [--seconds 30]

Every client keeps a connection of its own to the platform's socket and asks in turn for a job, a page of its log
somewhere and a page of the list somewhere, as fast as it is answered. Memory is the resident size of the platform's
process; it is flat when the last third is about the first.
"""

import argparse
import asyncio
import random
import selectors
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.platform.store.database import Database
from agentic_rl_tui.core.platform.store.lines import LineFile

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from platform_process import PlatformProcess

LINE = "2026-12-01 21:00:00,123 - INFO - step {} critic/rewards/mean 0.4123 and what else a line may tell"
FT = "/api/v1/fine-tunes"


async def fill(root: Path, jobs: int, lines: int) -> None:
    root.mkdir()
    database = Database(root / "platform.db")

    def many(connection: sqlite3.Connection) -> None:
        connection.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)"
            " insert into jobs (job_id, name, status, model, base_model, training_type, created_at)"
            " select 'ft-' || i, 'name-' || i, 'SUCCEEDED', 'm', 'm', 'reinforcement', i from n",
            (jobs,),
        )
        connection.execute('insert into job_bodies (seq, request) select seq, \'{"model": "m"}\' from jobs')

    await database.write(many)
    database.close()
    folder = root / "logs" / "jobs"
    folder.mkdir(parents=True)
    file = LineFile(folder / "ft-1.log")
    for first in range(0, lines, 10_000):
        file.append([LINE.format(number).encode() for number in range(first, min(first + 10_000, lines))])
    file.close()


def request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def poll(place: Path, pid: int, arguments: argparse.Namespace) -> None:
    chance = random.Random(3)
    asks = (
        lambda: f"{FT}/ft-1",
        lambda: f"{FT}/ft-1/logs?offset={chance.randrange(max(1, arguments.lines - 100))}&line=100",
        lambda: f"{FT}?page_no={chance.randrange(1, arguments.jobs // 20)}&page_size=20",
    )
    chooser = selectors.DefaultSelector()
    begun: dict[socket.socket, tuple[int, float]] = {}
    latencies: list[list[float]] = [[] for _ in asks]
    memory: list[float] = []

    def send(sock: socket.socket, kind: int) -> None:
        begun[sock] = (kind, time.perf_counter())
        sock.sendall(request(asks[kind]()))

    for number in range(arguments.clients):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(place))
        chooser.register(sock, selectors.EVENT_READ)
        send(sock, number % len(asks))
    end = (started := time.perf_counter()) + arguments.seconds
    while (now := time.perf_counter()) < end:
        if len(memory) < now - started:
            memory.append(resident(pid))
        for key, _ in chooser.select(1):
            sock = key.fileobj  # type: ignore[assignment]
            read_answer(sock)
            kind, at = begun[sock]
            latencies[kind].append(time.perf_counter() - at)
            send(sock, (kind + 1) % len(asks))
    took = time.perf_counter() - started
    for name, found in zip(("a job", "100 lines of its log", "a page of the list"), latencies, strict=True):
        found.sort()
        middle, tail = found[len(found) // 2] * 1e3, found[int(len(found) * 0.99)] * 1e3
        print(f"{name:<24} {len(found) / took:8,.0f} /s   median {middle:7.1f} ms   p99 {tail:7.1f} ms")
    third = max(1, len(memory) // 3)
    first, last = max(memory[:third]), max(memory[-third:])
    print(f"memory: {first:,.1f} MB in the first third, {last:,.1f} MB in the last ({last / first:.2f}x)")


def read_answer(sock: Any) -> None:
    data = sock.recv(1 << 18)
    while (at := data.find(b"\r\n\r\n")) < 0:
        data += sock.recv(1 << 18)
    assert data.startswith(b"HTTP/1.1 200"), data[:300]
    length = int(data[:at].lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    while len(data) < at + 4 + length:
        data += sock.recv(1 << 18)


def resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "p"
        asyncio.run(fill(root, arguments.jobs, arguments.lines))
        platform = PlatformProcess(root)
        try:
            asyncio.run(platform.ready())
            poll(platform.paths.socket, platform.process.pid, arguments)
        finally:
            platform.end_now(signal.SIGTERM)


if __name__ == "__main__":
    main()
