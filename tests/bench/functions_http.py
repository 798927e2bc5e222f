"""Calls of one reward over HTTP: `functions serve` and an instance's trigger URL against the vendor's function server.

    python tests/bench/functions_http.py [--python INTERPRETER] [--rounds N] [--seconds S] [--only WORD]

INTERPRETER holds the vendor's package (default: .cache/peers/dashscope-2.0.2). All three run the demo reward that
ships with it, the local ones once more without its two log lines a call. The input has 8 messages and about 6 KB.
Servers take turns, so that a busy machine hurts all alike; ratios are medians over rounds, above 1 is better for us.
The client is one process with raw sockets and takes its share of the machine like everybody else.
"""

import argparse
import contextlib
import io
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions_calls import CHECKOUT, DEMO, INPUT, QUIET, SERVER

BODY = json.dumps(INPUT).encode()
SERVE = """
import sys
from pathlib import Path
from agentic_rl_tui.core.functions.pool import FunctionPool, WorkerSpec
from agentic_rl_tui.core.functions.server import run, serve
from agentic_rl_tui.core.models.functions import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

async def main():
    spec = WorkerSpec(Path(sys.argv[1]), FunctionKind.REWARD, ClassPath.parse(sys.argv[2]), concurrency=16)
    async with FunctionPool(spec) as pool:
        await serve(pool, port=int(sys.argv[3]))

run(main())
"""


@dataclass
class Target:
    port: int
    prefix: str = ""
    token: str = ""

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        head = f"{method} {self.prefix}{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        if self.token:
            head += f"Authorization: Bearer {self.token}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def load(target: Target, request: bytes, connections: int, seconds: float) -> tuple[float, float, float]:
    """Answers a second, median and 99th percentile of the latency in ms; each connection sends when it was answered."""
    chooser = selectors.DefaultSelector()
    sent: dict[socket.socket, float] = {}
    socks = [socket.create_connection(("127.0.0.1", target.port)) for _ in range(connections)]
    latencies: list[float] = []
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chooser.register(sock, selectors.EVENT_READ)
        sent[sock] = time.perf_counter()
        sock.sendall(request)
    begun = time.perf_counter()
    end = begun + seconds
    while (now := time.perf_counter()) < end:
        for key, _ in chooser.select(1):
            sock: Any = key.fileobj
            read_answer(sock)
            now = time.perf_counter()
            latencies.append(now - sent[sock])
            sent[sock] = now
            sock.sendall(request)
    took = now - begun
    for sock in socks:
        sock.close()
    latencies.sort()
    return len(latencies) / took, latencies[len(latencies) // 2] * 1e3, latencies[int(len(latencies) * 0.99)] * 1e3


def read_answer(sock: socket.socket) -> None:
    data = sock.recv(1 << 16)
    while (at := data.find(b"\r\n\r\n")) < 0:
        data += more(sock)
    assert data.startswith(b"HTTP/1.1 200"), data
    length = int(data[:at].lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    while len(data) < at + 4 + length:
        data += more(sock)


def more(sock: socket.socket) -> bytes:
    data = sock.recv(1 << 16)
    assert data, "the server hung up"
    return data


def measure(target: Target, seconds: float) -> dict[str, float]:
    call = target.request("POST", "/api/v1", BODY)
    load(target, call, 1, 0.3)
    _, p50, p99 = load(target, call, 1, seconds)
    rate, _, p99_at_16 = load(target, call, 16, seconds)
    health, _, _ = load(target, target.request("GET", "/health"), 16, seconds / 2)
    return {"per_s": rate, "p50_ms": p50, "p99_ms": p99, "p99_at_16_ms": p99_at_16, "health_per_s": health}


@contextlib.contextmanager
def process(command: list[Any], env: dict[str, str]) -> Iterator[None]:
    started = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        started.wait()


def until_open(target: Target) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", target.port)) as sock:
                sock.sendall(target.request("POST", "/api/v1", BODY))
                read_answer(sock)
        except OSError:
            time.sleep(0.005)
        else:
            return


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def vendor(python: Path, seconds: float) -> dict[str, float]:
    target = Target(free_port())
    env = {"FUNC_TYPE": "reward", "PROCESSOR_CLASS": f"{DEMO}.DemoRewardProcessor", "WORKERS_COUNT": "1"}
    env |= {"SERVER_PORT": str(target.port), "DASHSCOPE_API_KEY": "x"}
    with process([python, "-m", SERVER], env):
        until_open(target)
        return measure(target, seconds)


def served(folder: Path, classpath: str, seconds: float) -> dict[str, float]:
    target = Target(free_port())
    with process([sys.executable, "-c", SERVE, folder, classpath, str(target.port)], {}):
        until_open(target)
        return measure(target, seconds)


def triggered(folder: Path, file: str, name: str, seconds: float) -> dict[str, float]:
    port = free_port()
    with tempfile.TemporaryDirectory() as root:
        command = [sys.executable, "-m", "agentic_rl_tui.app", "serve", "--root", root, "--port", str(port)]
        with process([*command, "--token", "t"], {}):
            return measure(load_online(port, folder, file, name), seconds)


def load_online(port: int, folder: Path, file: str, name: str) -> Target:
    """Register the function with the platform and start an instance of it."""

    def ask(method: str, path: str, body: bytes) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, method=method)
        request.add_header("Authorization", "Bearer t")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"{}")

    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(file, (folder / file).read_text())
    tunes = "/api/v1/fine-tunes"
    while True:
        try:
            url = ask("POST", f"{tunes}/generate/faas/upload/url", b'{"unique_key": "k"}')["output"]["url"]
            break
        except OSError:
            time.sleep(0.02)
    ask("PUT", url.partition(str(port))[2], memory.getvalue())
    made = {"name": file, "unique_key": "r", "func": name, "code_url": url}
    entity = ask("POST", f"{tunes}/create/reward", json.dumps(made).encode())["output"]["reward_id"]
    size = json.dumps({"concurrency": 16, "capacity": 1}).encode()
    online = ask("POST", f"{tunes}/online/faas/jobId-1/{entity}", size)["output"]
    target = Target(port, f"/functions/{online['instanceId']}", online["trigger_token"])
    until_open(target)
    return target


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, default=CHECKOUT / ".cache/peers/dashscope-2.0.2/bin/python")
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--only", default="", help="run the sides whose name holds this word, and the vendor's")
    chosen = options.parse_args()
    if not chosen.python.exists():
        sys.exit(f"{chosen.python} does not exist; give an interpreter with the vendor's package")
    shown = f"import {DEMO} as demo; print(open(demo.__file__).read())"
    source = subprocess.run([chosen.python, "-c", shown], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo.py").write_text(source)
        (folder / "quiet.py").write_text(QUIET)
        seconds = chosen.seconds
        sides: dict[str, Callable[[], dict[str, float]]] = {
            "vendor's server": lambda: vendor(chosen.python, seconds),
            "functions serve": lambda: served(folder, "demo.py:DemoRewardProcessor", seconds),
            "functions serve, no log": lambda: served(folder, "quiet.py:Quiet", seconds),
            "trigger url": lambda: triggered(folder, "demo.py", "DemoRewardProcessor", seconds),
            "trigger url, no log": lambda: triggered(folder, "quiet.py", "Quiet", seconds),
        }
        rounds: dict[str, list[dict[str, float]]] = {
            side: [] for side in sides if chosen.only in side or side.startswith("vendor")
        }
        for _ in range(chosen.rounds):
            for side in rounds:
                rounds[side].append(sides[side]())
        report(rounds)


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
            better = [a / b if column.endswith("per_s") else b / a for a, b in pairs]
            ratios.append(f"{statistics.median(better):13.1f}x")
        print(f"{side:26}" + "".join(ratios))


if __name__ == "__main__":
    main()
