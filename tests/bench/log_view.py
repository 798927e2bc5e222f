"""A large log: first line, the whole of it, its end, a search, a filter, and the memory that takes.

``python tests/bench/log_view.py [--lines 1000000] [--rounds 5]``. First line is a ratio to an empty app in a process of
its own; search is a ratio to a plain search of the same bytes. Exits 1 above the limits.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST_LINE_LIMIT = 1.3
END_LIMIT_MS = 10.0
SEARCH_LIMIT = 1.2
MEMORY_LIMIT_MB = 80.0
NEEDLE = "NEEDLE-7f3a"


def write_log(path: Path, lines: int) -> None:
    dice = random.Random(7)
    texts = [
        "2026-12-01 21:00:00,123 - INFO - {'step': 3, 'critic/rewards/mean': 0.41, 'response_length/mean': 231.5}",
        "2026-12-01 21:00:00,124 - \x1b[33mWARNING\x1b[0m - 奖励函数调用成功 score=0.4",
        "2026-12-01 21:00:00,125 - INFO - rollout [bold]not markup[/bold] " + "x" * 60,
        "",
    ]
    block = [texts[dice.randrange(4)] for _ in range(10_000)]
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, lines, len(block)):
            part = block[: min(len(block), lines - start)]
            if start + len(part) > lines - 1000 >= start:
                part = [*part]
                part[lines - 1000 - start] = f"2026-12-01 21:00:00,126 - ERROR - {NEEDLE}"
            file.write("\n".join(part) + "\n")


def child(path: str) -> None:
    started = time.perf_counter()
    from textual.app import App, ComposeResult

    from agentic_rl_tui.widgets.lines import FileLines
    from agentic_rl_tui.widgets.lines_sieve import LevelSieve, Sifted
    from agentic_rl_tui.widgets.logview import LogView, compile_search

    result: dict[str, float] = {}

    class Bench(App[None]):
        def compose(self) -> ComposeResult:
            yield LogView()

        def on_mount(self) -> None:
            self.query_one(LogView).focus()
            self.call_after_refresh(self.first)

        def first(self) -> None:
            view = self.query_one(LogView)
            if path:
                self.lines = FileLines(Path(path))
                view.source = self.lines
            self.call_after_refresh(self.rest)

        def rest(self) -> None:
            result["first_ms"] = (time.perf_counter() - started) * 1000
            result["memory_before"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if path:
                self.measure()
            self.exit()

        def measure(self) -> None:
            view = self.query_one(LogView)
            before = time.perf_counter()
            self.lines.index()
            view.grew()
            result["ready_ms"] = (time.perf_counter() - before) * 1000
            before = time.perf_counter()
            view.action_last()
            view.render_line(view.size.height - 1)
            result["end_ms"] = (time.perf_counter() - before) * 1000
            pattern = compile_search(NEEDLE)
            before = time.perf_counter()
            found = self.lines.find(pattern, 0, backwards=False, stop=lambda: False)
            result["search_ms"] = (time.perf_counter() - before) * 1000
            assert found is not None
            before = time.perf_counter()
            with open(path, "rb") as file:
                while (data := file.read(4 << 20)) and NEEDLE.encode() not in data:
                    pass
            result["raw_ms"] = (time.perf_counter() - before) * 1000
            before = time.perf_counter()
            sifted = Sifted(self.lines, [LevelSieve("error")])
            sifted.extend(lambda: False)
            result["filter_ms"] = (time.perf_counter() - before) * 1000
            assert len(sifted) == 1
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            result["memory_mb"] = after - result["memory_before"]

    Bench().run(headless=True, size=(120, 40))
    print(json.dumps(result))


def measure(path: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--child", path], capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        write_log(path, options.lines)
        megabytes = path.stat().st_size / 1e6
        pairs = [(measure(""), measure(str(path))) for _ in range(options.rounds)]
    first = statistics.median(full["first_ms"] / empty["first_ms"] for empty, full in pairs)
    middle = {name: statistics.median(full[name] for _, full in pairs) for name in pairs[0][1]}
    search = statistics.median(full["search_ms"] / full["raw_ms"] for _, full in pairs)
    print(f"{options.lines:,} lines, {megabytes:.0f} MB")
    print(f"first line {first:.2f} x an empty app; whole log after {middle['ready_ms']:.0f} ms more")
    print(f"end {middle['end_ms']:.1f} ms; search {middle['search_ms']:.0f} ms, {search:.2f} x a raw search")
    filtering = statistics.median(full["filter_ms"] / full["raw_ms"] for _, full in pairs)
    print(f"filter by level {middle['filter_ms']:.0f} ms behind the screen, {filtering:.1f} x a raw search")
    print(f"memory beyond the app {middle['memory_mb']:.0f} MB")
    within = (
        first <= FIRST_LINE_LIMIT
        and middle["end_ms"] <= END_LIMIT_MS
        and search <= SEARCH_LIMIT
        and middle["memory_mb"] <= MEMORY_LIMIT_MB
    )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
