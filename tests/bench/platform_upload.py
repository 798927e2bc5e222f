"""Memory and speed of a large upload, and of many clients polling, measured on a platform's process.

python tests/bench/platform_upload.py [--megabytes 2048] [--clients 200]
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from agentic_rl_tui.core.paths import PlatformPaths

BOUNDARY = "bench-boundary"
CHUNK = (b'{"messages": [{"role": "user", "content": "' + b"x" * 900 + b'"}]}\n') * 1000


def memory_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise ValueError(field)


def cpu_s(pid: int) -> float:
    """Processor seconds that a process has used; they tell more than the clock on a machine that others use too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def form(megabytes: int) -> AsyncIterator[bytes]:
    yield (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="big.jsonl"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    sent = 0
    while sent < megabytes << 20:
        yield CHUNK
        sent += len(CHUNK)
    yield f"\r\n--{BOUNDARY}--\r\n".encode()


async def upload(client: httpx.AsyncClient, pid: int, megabytes: int) -> None:
    before = memory_mb(pid, "VmRSS")
    began, used = time.perf_counter(), cpu_s(pid)
    answer = await client.post(
        "/api/v1/files",
        content=form(megabytes),
        headers={"content-type": f"multipart/form-data; boundary={BOUNDARY}"},
    )
    spent = time.perf_counter() - began
    data = answer.json()["data"]
    assert len(data["uploaded_files"]) == 1, data
    print(f"upload of {megabytes} MB: {megabytes / spent:,.0f} MB/s, {cpu_s(pid) - used:.1f} s of processor time")
    print(f"memory: {before:.0f} MB before, {memory_mb(pid, 'VmHWM'):.0f} MB at the peak")


async def poll(client: httpx.AsyncClient, pid: int, clients: int, rounds: int = 20) -> None:
    before = memory_mb(pid, "VmRSS")

    async def one() -> None:
        for _ in range(rounds):
            assert (await client.get("/api/v1/fine-tunes?page_size=50")).status_code == 200

    began, used = time.perf_counter(), cpu_s(pid)
    await asyncio.gather(*(one() for _ in range(clients)))
    rate = clients * rounds / (time.perf_counter() - began)
    each = (cpu_s(pid) - used) / (clients * rounds)
    print(f"{clients} clients polling: {rate:,.0f} requests/s, {each * 1e3:.2f} ms of processor time each")
    print(f"memory: {before:.0f} MB before, {memory_mb(pid, 'VmRSS'):.0f} MB after")


async def run(root: Path, megabytes: int, clients: int) -> None:
    paths = PlatformPaths(root)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentic_rl_tui.core.platform", "--root", str(root)
    )
    transport = httpx.AsyncHTTPTransport(uds=str(paths.socket), limits=httpx.Limits(max_connections=clients))
    async with httpx.AsyncClient(transport=transport, base_url="http://platform.local", timeout=600) as client:
        while process.returncode is None:
            try:
                await client.get("/api/v1/fine-tunes")
                break
            except httpx.TransportError:
                await asyncio.sleep(0.05)
        await upload(client, process.pid, megabytes)
        await poll(client, process.pid, clients)
    process.send_signal(signal.SIGTERM)
    await process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--clients", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "platform", arguments.megabytes, arguments.clients))


if __name__ == "__main__":
    main()
