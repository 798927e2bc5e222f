"""Opening a large dump of rollouts and walking in it, beside reading and parsing the file alone.

python tests/bench/dumps_open.py [--megabytes 2000] [--kilobytes 4] [--file FILE] [--keep FILE]
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from agentic_rl_tui.core.sdk.dumps import Dump, open_dump

ROLLOUTS = 8
SAMPLES = 64


def generate(path: Path, megabytes: int, kilobytes: int) -> None:
    """Groups of eight rollouts with tool calls, 64 groups a step, in the order in which a trainer writes them."""
    source = random.Random(3)
    words = ["reward", "policy", "rollout", "奖励", "the", "answer", "42", "推理", '"quoted"', "line\nbreak"]
    texts = [" ".join(source.choices(words, k=max(8, kilobytes * 30))) for _ in range(200)]
    call = {"id": "c1", "type": "function", "function": {"name": "calc", "arguments": '{"expression": "6*7"}'}}
    size = number = 0
    with path.open("w", encoding="utf-8", buffering=1 << 22) as file:
        while size < megabytes * 1_000_000:
            group, rollout = divmod(number, ROLLOUTS)
            step, sample = divmod(group, SAMPLES)
            reward = source.choice([0.0, 0.25, 1.0])
            talk = [
                {"role": "user", "content": f"Question {sample}: what is {sample} times 7?"},
                {"role": "assistant", "content": source.choice(texts), "tool_calls": [call]},
                {"role": "tool", "content": "42", "tool_call_id": "c1"},
                {"role": "assistant", "content": source.choice(texts)},
            ]
            row: dict[str, Any] = {"step": step + 1, "phase": "train", "sample": sample, "rollout": rollout}
            row |= {"reward": reward, "advantage": reward - 0.4, "ground_truth": 42, "messages": talk}
            line = json.dumps(row, ensure_ascii=False) + "\n"
            size += len(line.encode())
            number += 1
            file.write(line)


def timed(name: str, action: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = action()
    took = time.perf_counter() - start
    print(f"{name:34} {took * 1000:9,.1f} ms")
    return result


def read_all(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(len(block) for block in iter(lambda: file.read(1 << 20), b""))


def parse_all(path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(orjson.loads(line)) for line in file)


def resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def walk(dump: Dump) -> None:
    source = random.Random(1)
    steps = dump.page()["steps"]
    for _ in range(100):
        step = source.choice(steps)["step"]
        sample = source.choice(dump.page(step=step)["samples"])["sample"]
        dump.page(step=step, sample=sample)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=2000)
    options.add_argument("--kilobytes", type=int, default=4, help="of a rollout, about")
    options.add_argument("--file", type=Path)
    options.add_argument("--keep", type=Path, help="only write the file there")
    given = options.parse_args()
    if given.keep is not None:
        generate(given.keep, given.megabytes, given.kilobytes)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "rollouts.jsonl"
        if given.file is None:
            generate(path, given.megabytes, given.kilobytes)
        print(f"{timed('read the file (limit)', lambda: read_all(path)) / 1e6:,.0f} MB")
        before = resident_mb()
        with timed("open_dump", lambda: open_dump(path)) as dump:
            after, peak = resident_mb(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{len(dump):,} rollouts; {after - before:,.1f} MB kept, {peak - before:,.1f} MB at most")
            timed("100 groups, read whole", lambda: walk(dump))
        timed("parse every line (limit)", lambda: parse_all(path))


if __name__ == "__main__":
    main()
