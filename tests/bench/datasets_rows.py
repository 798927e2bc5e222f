"""Opening, reading and searching a large data set, beside the limits of the machine.

python tests/bench/datasets_rows.py [--megabytes 1000] [--file FILE]
"""

import argparse
import json
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.datasets import RowIndex, open_rows

NEEDLE = "needle-7f3a"


def generate(path: Path, megabytes: int) -> None:
    """Rows of about 2 KB; the needle stands in the last row but a thousand."""
    source = random.Random(3)
    words = ["reward", "policy", "rollout", "奖励", "the", "answer", "42", "推理"]
    pool = [
        json.dumps(
            {"messages": [{"role": "user", "content": " ".join(source.choices(words, k=300))}]}, ensure_ascii=False
        )
        for _ in range(500)
    ]
    size = number = 0
    with path.open("w", encoding="utf-8", buffering=1 << 22) as file:
        while size < megabytes * 1_000_000:
            line = pool[number % 500][:-1] + f', "id": {number}}}\n'
            size += len(line.encode())
            number += 1
            file.write(line)
        for extra in range(1000):
            file.write(json.dumps({"messages": [], "id": extra or NEEDLE}) + "\n")


def timed(name: str, action: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = action()
    print(f"{name:34} {(time.perf_counter() - start) * 1000:9,.1f} ms")
    return result


def read_all(path: Path) -> int:
    size = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            size += len(block)
    return size


def random_rows(index: RowIndex, count: int) -> None:
    source = random.Random(1)
    for _ in range(count):
        index[source.randrange(len(index))]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=1000)
    options.add_argument("--file", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "rows.jsonl"
        if given.file is None:
            generate(path, given.megabytes)
        print(f"{timed('read the file (limit)', lambda: read_all(path)) / 1e6:,.0f} MB")
        timed("wc -l (limit)", lambda: subprocess.run(["wc", "-l", str(path)], check=True, capture_output=True))
        with timed("open_rows", lambda: open_rows(path)) as index:
            print(f"{len(index):,} rows")
            timed("1,000 random rows, parsed", lambda: random_rows(index, 1000))
            timed("search, text", lambda: list(index.search(NEEDLE)))
            timed("search, any case", lambda: list(index.search(NEEDLE.upper(), ignore_case=True)))
            timed("search, expression", lambda: list(index.search(r"needle-\w+", regex=True)))
        print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.1f} MB")


if __name__ == "__main__":
    main()
