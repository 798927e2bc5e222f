"""Following a job's log: how fast a long log is read, and how late a new line arrives.

    python tests/bench/follow_log.py [--lines 500000] [--rate 2000] [--seconds 5]

The log is served by a second process on loopback. Lag is from the moment a line exists to the moment `follow` hands
it out; the floor is one exchange of a bare socket.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import parse_qs, urlsplit

STILL = "x" * 80


class Log:
    """`still` lines at once, then `rate` lines a second for `seconds`; each grown line is the time it was made."""

    def __init__(self, still: int, rate: int, seconds: float) -> None:
        self.still = still
        self.rate = rate
        self.growing = int(rate * seconds)
        self.started: float | None = None

    def grown(self) -> int:
        if self.started is None:
            return 0
        return min(self.growing, int((time.time() - self.started) * self.rate))

    def page(self, offset: int, count: int) -> dict[str, object]:
        total = self.still + self.grown()
        lines = []
        for number in range(offset, min(total, offset + count)):
            made = (self.started or 0) + (number - self.still) / self.rate
            lines.append(STILL if number < self.still else f"{made:.6f}")
        return {"total": total, "logs": lines}

    def job(self) -> dict[str, object]:
        if self.started is None:
            self.started = time.time()
        return {"job_id": "ft-1", "status": "SUCCEEDED" if self.grown() == self.growing else "RUNNING"}


async def _serve(options: argparse.Namespace) -> None:
    log = Log(options.lines, options.rate, options.seconds)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            while (await reader.readline()).strip():
                pass
            url = urlsplit(head.split(b" ")[1].decode())
            query = parse_qs(url.query)
            is_log = url.path.endswith("/logs")
            output = log.page(int(query["offset"][0]), int(query["line"][0])) if is_log else log.job()
            body = json.dumps({"request_id": "r", "output": output}).encode()
            top = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(top.encode() + body)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _follow(port: int, options: argparse.Namespace) -> None:
    from agentic_rl_tui.core import AgenticRL
    from agentic_rl_tui.core.models.jobs import LogPage

    async with AgenticRL("sk-bench-key", base_url=f"http://127.0.0.1:{port}/api/v1") as client:
        await client.logs("ft-1")  # connects
        lags: list[float] = []
        read = 0
        started = time.perf_counter()
        still_s = 0.0
        cpu = 0.0
        async for piece in client.follow("ft-1", interval_s=options.interval):
            now = time.time()
            if not isinstance(piece, LogPage):
                continue
            lags += [now - float(line) for line in piece.lines if line is not STILL and line != STILL]
            read += len(piece.lines)
            if read >= options.lines and not still_s:
                still_s = time.perf_counter() - started
                cpu = time.process_time()
        cpu_share = (time.process_time() - cpu) / options.seconds
    if read != options.lines + int(options.rate * options.seconds):
        raise SystemExit(f"{read} lines were read")
    ordered = sorted(lags)
    print(f"whole log   {options.lines / still_s:12,.0f} lines/s")
    half, most = 1000 * statistics.median(ordered), 1000 * ordered[int(0.9 * len(ordered))]
    how = f"{options.rate} lines/s, poll every {1000 * options.interval:.0f} ms"
    print(f"new lines   p50 {half:.1f} ms, p90 {most:.1f} ms at {how}, {100 * cpu_share:.1f} % CPU")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=500_000)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--interval", type=float, default=0.1, help="seconds between polls (0.1 is the local default)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options))
        return
    command = [sys.executable, __file__, "--serve", "--lines", str(options.lines)]
    command += ["--rate", str(options.rate), "--seconds", str(options.seconds)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server,
    ):
        assert server.stdout is not None
        try:
            asyncio.run(_follow(int(server.stdout.readline()), options))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
