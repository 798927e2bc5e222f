"""Table of many rows: first frame against an empty app, and the time of a page down.

``python tests/bench/table_rows.py [--rows 100000] [--rounds 7]``. Each round runs both apps, each in a process of its
own and headless, so the figures are ratios on the same machine at the same moment. Exits 1 above the limits.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

FIRST_FRAME_LIMIT = 1.2
PAGE_LIMIT_MS = 10.0


def child(rows: int) -> None:
    started = time.perf_counter()
    from textual.app import App, ComposeResult

    from agentic_rl_tui.widgets.columns import Column
    from agentic_rl_tui.widgets.table import Table

    columns = [
        Column("id", "ID", lambda row, _: f"ft-202612010000-{row:07}", 26, sort=lambda row: row),
        Column("name", "NAME", lambda row, _: [(f"agentic-rl-{row}", "bold")], 20, 40),
        Column("status", "STATUS", lambda row, _: ("RUNNING", "FAILED", "SUCCEEDED")[row % 3], 11),
        Column("reward", "REWARD", lambda row, _: f"{row % 101 / 100:.2f}", 6, align="right"),
    ]
    result: dict[str, float] = {}

    class Bench(App[None]):
        def compose(self) -> ComposeResult:
            table: Table[int] = Table(columns, str)
            yield table

        def on_mount(self) -> None:
            table = self.query_one(Table)
            table.items = range(rows)
            table.focus()
            self.call_after_refresh(self.measure)

        async def measure(self) -> None:
            result["frame_ms"] = (time.perf_counter() - started) * 1000
            table = self.query_one(Table)
            pages = []
            for _ in range(30 if rows else 0):
                before = time.perf_counter()
                table.action_page(1)
                for line in range(table.size.height):
                    table.render_line(line)
                pages.append((time.perf_counter() - before) * 1000)
            result["page_ms"] = statistics.median(pages) if pages else 0.0
            self.exit()

    Bench().run(headless=True, size=(120, 40))
    print(json.dumps(result))


def measure(rows: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", "--rows", str(rows)], capture_output=True, text=True, check=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.rows)
        return 0
    pairs = [(measure(0), measure(options.rows)) for _ in range(options.rounds)]
    ratio = statistics.median(full["frame_ms"] / empty["frame_ms"] for empty, full in pairs)
    page = statistics.median(full["page_ms"] for _, full in pairs)
    empty_ms = statistics.median(empty["frame_ms"] for empty, _ in pairs)
    full_ms = statistics.median(full["frame_ms"] for _, full in pairs)
    print(f"first frame: empty {empty_ms:.0f} ms, {options.rows:,} rows {full_ms:.0f} ms, ratio {ratio:.2f}")
    print(f"page down: {page:.1f} ms")
    return 0 if ratio <= FIRST_FRAME_LIMIT and page <= PAGE_LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
