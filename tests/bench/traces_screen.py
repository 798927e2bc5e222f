"""Opening a run of many spans in the app: ``python tests/bench/traces_screen.py [--spans 5000] [--rounds 5]``.

A real local platform keeps the runs, the app reads them as for a user. Seconds from the key to all rows and the first
payload on the screen, beside a run of ten spans, in turns; and from a span to the last line of a payload of 2 MB.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

SHORT = 10


def run_of(number: int, count: int) -> tuple[Any, list[Any]]:
    from agentic_rl_tui.core.tracing.model import Run, Span

    large = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "数x" * 1_000_000}]}])
    small = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "The answer is 84. " * 10}]}])
    begin = 1_796_000_000_000_000_000
    spans = [
        Span(
            f"{number:032x}",
            f"{place + 1:016x}",
            None if place == 0 else f"{(place - 1) // 8 + 1:016x}",
            f"chat m{place}",
            "CLIENT",
            begin + place * 1_000_000,
            begin + (count + place) * 1_000_000,
            {"gen_ai.span.kind": "LLM", "gen_ai.output.messages": large if place == 1 else small},
        )
        for place in range(count)
    ]
    return Run.over(spans, function=f"Spans{count}", kind="rollout"), spans


async def opened(pilot: Any, app: Any, count: int) -> float:
    """Seconds from enter on the first run to everything on the screen."""
    from agentic_rl_tui.app.screens.traces_run import TraceScreen

    began = time.perf_counter()
    await pilot.press("enter")
    while not (isinstance(app.screen, TraceScreen) and app.screen.table.row_count == count):
        await pilot.pause()
    return time.perf_counter() - began


async def measure(count: int, rounds: int) -> None:
    from agentic_rl_tui.app.shell import ArlApp, Options
    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.sdk.traces import import_traces
    from agentic_rl_tui.core.settings import load
    from agentic_rl_tui.core.tracing.otlp import encode

    settings = load()
    async with AgenticRL(settings=settings) as client:
        for number, size in ((1, SHORT), (2, count)):
            await import_traces(client.transport, json.dumps(encode([run_of(number, size)])).encode())
    took: dict[int, list[float]] = {SHORT: [], count: []}
    paged: list[float] = []
    app = ArlApp(settings, start_place="traces", options=Options(is_polling=False, is_still=True))
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(rounds):
            for size, words in ((SHORT, f"Spans{SHORT}"), (count, f"Spans{count}")):
                await pilot.press("escape", "slash", *words, "enter")
                while [run.function for run in app.screen.runs.table.items] != [words]:
                    await pilot.pause()
                took[size].append(await opened(pilot, app, size))
                if size == count:
                    began = time.perf_counter()
                    await pilot.press("j", "enter", "pagedown", "G")
                    while app.screen.payload.last_seen != app.screen.payload.line_count:
                        await pilot.pause()
                    paged.append(time.perf_counter() - began)
                await pilot.press("escape", "escape")
                await pilot.pause()
    few, many = (statistics.median(took[size]) for size in (SHORT, count))
    print(f"{count:,} spans {many:.3f} s, {SHORT} spans {few:.3f} s, ratio {many / few:.1f}")
    print(f"2 MB of payload to its last line in {statistics.median(paged):.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--spans", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"AGENTIC_RL_STATE_DIR": f"{folder}/state", "AGENTIC_RL_CONFIG_DIR": f"{folder}/config"}
        os.chdir(Path(folder))
        from agentic_rl_tui.app.__main__ import main

        try:
            asyncio.run(measure(options.spans, options.rounds))
        finally:
            main(["platform", "stop", "--force"])
