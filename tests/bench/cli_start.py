"""Whole-process start of the command line, as ratios to ``python -c pass`` and to the official command line.

``python tests/bench/cli_start.py [--rounds 11] [--environment DIR]``. The package is installed as a wheel into an
environment of its own, since an editable install costs every start a few imports more; an environment that is named
is used as it is. Commands run in turns; the figures that count are medians of the ratios of each round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
OFFICIAL = CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2" / "bin" / "python"
JOB = {"job_id": "ft-1", "job_name": "calc", "status": "RUNNING", "model": "qwen3.5-9b", "creator": 1}


@dataclass(frozen=True)
class Command:
    """limit: the highest ratio to the base that is wanted; None where nothing is asked of it."""

    name: str
    line: tuple[str, ...]
    limit: float | None = None


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        output = {"jobs": [JOB], "total": 1} if self.path.partition("?")[0].endswith("/fine-tunes") else JOB
        body = json.dumps({"request_id": "r", "output": output}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def installed(environment: Path) -> Path:
    """The environment with the package in it."""
    if not (environment / "bin" / "agentic-rl-tui").exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        # The scripts that pip wrote before version 25 import re, which is half of the time that --help may take.
        subprocess.run([*pip, "--upgrade", "pip>=25.2"], check=True)
        subprocess.run([*pip, CHECKOUT], check=True)
    return environment


def commands(environment: Path) -> list[Command]:
    python, ours = str(environment / "bin" / "python"), str(environment / "bin" / "agentic-rl-tui")
    found = [
        Command("python -c pass", (python, "-c", "pass")),
        Command("--help", (ours, "--help"), 1.5),
        Command("--version", (ours, "--version"), 1.5),
        *(Command(f"{verb} --help", (ours, verb, "--help"), 2.5) for verb in ("list", "run", "functions", "doctor")),
        Command("get ft-1", (ours, "get", "ft-1"), 4.5),
        Command("list", (ours, "list"), 4.5),
        Command("list -o json", (ours, "list", "-o", "json"), 4.5),
    ]
    if OFFICIAL.exists():
        found.append(Command("dashscope rl --help", (str(OFFICIAL), "-m", "dashscope.cli", "rl", "--help")))
        found.append(Command("dashscope rl get ft-1", (str(OFFICIAL), "-m", "dashscope.cli", "rl", "get", "ft-1")))
    return found


def run(command: Command, environment: dict[str, str]) -> float:
    """Milliseconds of one run. Raises where it fails."""
    started = time.perf_counter()
    subprocess.run(command.line, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--environment", type=Path, help="a virtual environment that has the package")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as scratch:
        chosen = commands(installed(options.environment or Path(scratch) / "venv"))
        environment = {
            **os.environ,
            "HOME": scratch,
            "DASHSCOPE_API_KEY": "sk-0123456789abcdef",
            "DASHSCOPE_HTTP_BASE_URL": f"http://127.0.0.1:{server.server_port}/api/v1",
        }
        for command in chosen:
            run(command, environment)
        rounds = [{command.name: run(command, environment) for command in chosen} for _ in range(options.rounds)]
    server.shutdown()
    base = chosen[0].name
    missed = 0
    print(f"{'command':<24}{'ms':>8}{'x base':>9}{'wanted':>9}")
    for command in chosen:
        ratio = statistics.median(each[command.name] / each[base] for each in rounds)
        wanted = f"<= {command.limit:g}" if command.limit else ""
        print(
            f"{command.name:<24}{statistics.median(each[command.name] for each in rounds):8.1f}{ratio:9.2f}{wanted:>9}"
        )
        missed += command.limit is not None and ratio > command.limit
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
