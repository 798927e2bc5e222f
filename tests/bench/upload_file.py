"""Upload of one large file to a loopback sink: ours against curl and the service's own client.

    python tests/bench/upload_file.py [--size-mb 500] [--rounds 5]

Prints MB/s of the call, wall time of the whole process and peak resident memory, with ratios to curl. The official
client takes part where AGENTIC_RL_TEST_DASHSCOPE names an interpreter that has it; it needs the file in memory.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ANSWER = json.dumps({"request_id": "r", "data": {"uploaded_files": [{"file_id": "f-1", "name": "x.jsonl"}]}}).encode()
OFFICIAL = """
import asyncio, sys
from dashscope.finetune.reinforcement.common.model import FileSpec
from dashscope.finetune.reinforcement.common.utils import to_bailian_data
asyncio.run(to_bailian_data([FileSpec(path=sys.argv[1])]))
"""


def sink() -> int:
    """A thread a connection that drains bodies as fast as the kernel gives them; the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listener,), daemon=True).start()
    return int(listener.getsockname()[1])


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        threading.Thread(target=_drain, args=(connection,), daemon=True).start()


def _drain(connection: socket.socket) -> None:
    buffer = bytearray(1 << 20)
    with connection:
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            top, _, body = head.partition(b"\r\n\r\n")
            if b"100-continue" in top.lower():
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-l")
            )
            left = length - len(body)
            while left > 0 and (got := connection.recv_into(buffer, min(left, len(buffer)))):
                left -= got
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (len(ANSWER), ANSWER)
            )


async def _ours(path: str, base_url: str) -> None:
    from agentic_rl_tui.core import AgenticRL

    async with AgenticRL("sk-bench-key", base_url=base_url) as client:
        started = time.perf_counter()
        await client.files.upload(path)
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"call_mb_s": round(os.path.getsize(path) / 1e6 / seconds), "rss_mb": peak}))


def _run(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    figures = {"wall_s": time.perf_counter() - started, "rss_mb": usage.ru_maxrss / 1024}
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    last = output.strip().splitlines()[-1:] or [b"{}"]
    if last[0].startswith(b'{"call_mb_s"'):
        figures["call_mb_s"] = json.loads(last[0])["call_mb_s"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size-mb", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("FILE", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        asyncio.run(_ours(*options.one))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        row = json.dumps({"messages": [{"role": "user", "content": "What is 6 x 7? " * 180}]}).encode() + b"\n"
        with file.open("wb") as stream:
            block = row * max(1, (1 << 20) // len(row))
            for _ in range(options.size_mb * 1_000_000 // len(block)):
                stream.write(block)
        url = f"http://127.0.0.1:{sink()}/api/v1"
        environment = {
            **os.environ,
            "HOME": folder,
            "AGENTIC_RL_STATE_DIR": folder,
            "DASHSCOPE_API_KEY": "sk-bench-key",
            "DASHSCOPE_HTTP_BASE_URL": url,
            "DATASETS_FILE_SIZE_WARNING": "100000000000",
            "NO_PROXY": "127.0.0.1",
        }
        commands = {"ours": [sys.executable, __file__, "--one", str(file), url]}
        if (curl := shutil.which("curl")) is not None:
            form = ["-F", f"files=@{file}", "-F", "purpose=fine-tune"]
            commands = {"curl": [curl, "-s", "-o", os.devnull, *form, f"{url}/files"], **commands}
        if official := os.environ.get("AGENTIC_RL_TEST_DASHSCOPE"):
            commands["dashscope"] = [official, "-c", OFFICIAL, str(file)]
        results: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                results[name].append(_run(command, environment))
    _report(results, options.size_mb)


def _report(results: dict[str, list[dict[str, float]]], size_mb: int) -> None:
    print(f"{size_mb} MB, {len(results['ours'])} interleaved rounds, medians")
    for name, rounds in results.items():
        wall = statistics.median(item["wall_s"] for item in rounds)
        rss = max(item["rss_mb"] for item in rounds)
        line = f"{name:10} {wall * 1000:8.0f} ms whole process  {rss:7.1f} MB peak"
        if "call_mb_s" in rounds[0]:
            line += f"  {statistics.median(item['call_mb_s'] for item in rounds):6.0f} MB/s in the call"
        if "curl" in results and name != "curl":
            ratio = statistics.median(a["wall_s"] / b["wall_s"] for a, b in zip(rounds, results["curl"], strict=True))
            line += f"  {ratio:5.2f} x curl"
        print(line)


if __name__ == "__main__":
    main()
