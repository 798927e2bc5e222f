"""Speed and memory of the data set check, beside a plain JSON reader and the official client's own validator.

    python tests/bench/datasets_check.py [--megabytes 300] [--rounds 5] [--file FILE]

Every candidate is a whole process; the rounds are interleaved, so that a busy machine hurts all alike. Ratios are the
median of the rounds' ratios. ``rows/s a core`` is the rate inside one process without its start.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / ".cache/peers/dashscope-2.0.2/bin/python"
WORDS = [
    *("reward", "policy", "rollout", "step", "answer", "compute", "tool", "search", "result", "the", "model", "value"),
    *("because", "therefore", "42", "3.14", '"quoted"', "back\\slash", "奖励", "轨迹", "推理", "答案", "函数", "模型"),
]

OURS = """
import sys
from agentic_rl_tui.core.datasets import check_file
report = check_file(sys.argv[1], workers=int(sys.argv[2]))
assert report.errors == 0, report.problems[:3]
print(report.rows, report.seconds)
"""
PLAIN = """
import json, sys
rows = 0
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        messages = json.loads(line)["messages"]
        assert type(messages) is list and messages
        for message in messages:
            assert message["role"] in ("system", "user", "assistant", "tool") and type(message["content"]) is str
        rows += 1
print(rows, 0)
"""
PARSE = """
import gc, sys, time
import orjson
gc.disable()
rows, start = 0, time.perf_counter()
with open(sys.argv[1], "rb", 1 << 20) as file:
    for line in file:
        orjson.loads(line)
        rows += 1
print(rows, time.perf_counter() - start)
"""
OFFICIAL = """
import sys
from dashscope.common.utils import is_validate_fine_tune_file
assert is_validate_fine_tune_file(sys.argv[1])
print(0, 0)
"""


@dataclass
class Candidate:
    name: str
    command: list[str]
    seconds: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    largest_mb: float = 0.0
    total_mb: float = 0.0
    rows: int = 0


def generate(path: Path, megabytes: int) -> None:
    """Chat rows of 0.8 to 6 KB, partly Chinese, a quarter of them with all other characters escaped."""
    source = random.Random(5)

    def text(low: int, high: int) -> str:
        return " ".join(source.choices(WORDS, k=source.randint(low, high)))

    pool = []
    for number in range(4000):
        messages = [{"role": "system", "content": text(20, 40)}]
        for _ in range(source.randint(1, 4)):
            messages.append({"role": "user", "content": text(20, 80)})
            messages.append({"role": "assistant", "content": text(30, 120)})
        extra = {"difficulty": source.randint(1, 9), "src": "gsm8k"}
        row = {"messages": messages, "ground_truth": str(source.random()), "extra": extra}
        pool.append(json.dumps(row, ensure_ascii=number % 4 == 0).encode()[:-1])
    size = number = 0
    with path.open("wb", buffering=1 << 22) as file:
        while size < megabytes * 1_000_000:
            size += file.write(pool[number * 7919 % 4000] + b', "id": %d}\n' % number)
            number += 1


def run(candidate: Candidate) -> None:
    start = time.perf_counter()
    process = subprocess.Popen(candidate.command, stdout=subprocess.PIPE)
    watcher = threading.Thread(target=watch, args=(process, candidate))
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{candidate.name} failed")
    candidate.seconds.append(time.perf_counter() - start)
    rows, inside = output.split()
    candidate.rows = int(rows) or candidate.rows
    candidate.inside.append(float(inside))


def watch(process: "subprocess.Popen[bytes]", candidate: Candidate) -> None:
    """Sample the memory of a process and its children; Linux only."""
    while process.poll() is None:
        sizes = [memory(pid) for pid in family(process.pid)]
        candidate.largest_mb = max([candidate.largest_mb, *(rss for rss, _ in sizes)])
        candidate.total_mb = max(candidate.total_mb, sum(pss for _, pss in sizes))
        time.sleep(0.03)


def family(pid: int) -> list[int]:
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except OSError:
        pass
    return found


def memory(pid: int) -> tuple[float, float]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
    return sizes.get("Rss", 0.0), sizes.get("Pss", 0.0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=300)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--file", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "rows.jsonl"
        if given.file is None:
            generate(path, given.megabytes)
        candidates = [
            Candidate("ours, 1 process", [sys.executable, "-c", OURS, str(path), "1"]),
            Candidate("ours, 2 processes", [sys.executable, "-c", OURS, str(path), "2"]),
            Candidate("json + checks", [sys.executable, "-c", PLAIN, str(path)]),
            Candidate("orjson, no checks", [sys.executable, "-c", PARSE, str(path)]),
        ]
        if PEER.exists():
            candidates.append(Candidate("dashscope 2.0.2", [str(PEER), "-c", OFFICIAL, str(path)]))
        path.read_bytes()[:0]
        for _ in range(given.rounds):
            for candidate in candidates:
                run(candidate)
        report(candidates, path.stat().st_size / 1e6)


def report(candidates: list[Candidate], megabytes: float) -> None:
    rows = max(candidate.rows for candidate in candidates)
    print(f"{megabytes:,.0f} MB, {rows:,} rows")
    print(f"{'':20} {'ms':>7} {'rows/s':>9} {'MB/s':>6} {'rows/s a core':>14} {'largest MB':>11} {'all MB':>7}")
    for candidate in candidates:
        seconds = statistics.median(candidate.seconds)
        inside = statistics.median(candidate.inside)
        core = f"{rows / inside:,.0f}" if inside and "2" not in candidate.name else ""
        print(
            f"{candidate.name:20} {seconds * 1000:7,.0f} {rows / seconds:9,.0f} {megabytes / seconds:6,.0f} {core:>14}"
            f" {candidate.largest_mb:11.1f} {candidate.total_mb:7.1f}"
        )
    for ours in candidates[:2]:
        for peer in candidates[2:]:
            pairs = zip(peer.seconds, ours.seconds, strict=True)
            print(f"{ours.name} is {statistics.median(theirs / mine for theirs, mine in pairs):.2f}x {peer.name}")


if __name__ == "__main__":
    main()
