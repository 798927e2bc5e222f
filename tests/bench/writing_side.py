"""Keystroke to paint in a long job file, opening a large workspace, looking into a large data set.

python tests/bench/writing_side.py [keys] [tree] [rows]     all three without a name
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots"
LINES, FILES, ROWS_BYTES = 25_000, 20_000, 1 << 30
HEAD = "name: large\nmodel:\n  name: qwen3.5-9b\nfunctions:\n"
BLOCK = "  - type: reward\n    name: r{n}\n    fcmodel:\n      classpath: functions.a.A\n    weight: 0.1\n"


def _scenes() -> Any:
    sys.path.insert(0, str(SCREENSHOTS))
    import scenes

    return scenes


class Standstill:
    """The longest time in which the event loop did nothing else, in milliseconds."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def __aenter__(self) -> "Standstill":
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._task.cancel()

    async def _look(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.longest_ms = max(self.longest_ms, (now - last) * 1000)
            last = now


async def until(done: Callable[[], Any], timeout_s: float = 120.0) -> float:
    """Seconds until `done` is true."""
    started = time.perf_counter()
    while not done():
        if time.perf_counter() - started > timeout_s:
            raise TimeoutError
        await asyncio.sleep(0.002)
    return time.perf_counter() - started


def told(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    middle, high = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    print(f"{name}: p50 {middle:.1f} ms, p95 {high:.1f} ms, max {ordered[-1]:.1f} ms", flush=True)


async def _strokes(app: Any, keys: str, gap_s: float) -> list[float]:
    """Milliseconds from a key to the end of the first paint that holds it; `gap_s` passes before the next key."""
    from textual.events import Key

    painted = asyncio.Event()
    paint = app._display

    def display(screen: Any, renderable: Any) -> None:
        paint(screen, renderable)
        if editor.cursor_location != before:
            painted.set()

    app._display = display
    editor = app.screen.editor
    times = []
    for key in keys:
        before = editor.cursor_location
        painted.clear()
        name = {"\n": "enter", "#": "number_sign"}.get(key, key)
        event = Key(name, key if key.isprintable() else None)
        started = time.perf_counter()
        app._driver.send_message(event)
        await painted.wait()
        times.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(gap_s)
    app._display = paint
    return times


async def keys(scenes: Any, root: Path) -> None:
    text = HEAD + "".join(BLOCK.format(n=number) for number in range(LINES // 5))
    (root / "rl-job.yaml").write_text(text)
    app = scenes.app(scenes.FakeBackend(), root, start_place="jobfile")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.screen.document is not None)
        await pilot.pause(1.0)
        editor = app.screen.editor
        editor.move_cursor((LINES // 2, 4))
        await pilot.pause(0.5)
        told(f"key in {LINES:,} lines, typed fast", await _strokes(app, "#abcdefghijklmnopqrstuvwxyz", 0.06))
        told(f"key in {LINES:,} lines, at once", await _strokes(app, "abcdefghijklmnopqrstuvwxyz", 0.0))
        told(f"new line in {LINES:,} lines", await _strokes(app, "\n" * 10, 0.06))
        app.screen.check()
        await pilot.pause(0.05)
        told(f"key in {LINES:,} lines while it is checked", await _strokes(app, "#abcdefghijklmnop", 0.03))


async def tree(scenes: Any, root: Path) -> None:
    for number in range(FILES):
        folder = root / f"d{number // 500:03}"
        if number % 500 == 0:
            folder.mkdir()
        (folder / f"f{number}.{'py' if number % 10 == 0 else 'txt'}").write_text("x = 1\n")
    app = scenes.app(scenes.FakeBackend(), root, start_place="workspace")
    async with Standstill() as opening:
        started = time.perf_counter()
        async with app.run_test(size=(120, 40)) as pilot:
            await until(lambda: app.screen.table.items)
            shown = time.perf_counter() - started
            await pilot.pause(3.0)
            opened = opening.longest_ms
            async with Standstill() as unfolding:
                for folder in sorted(root.iterdir()):
                    app.screen.table.move_to(str(folder))
                    app.screen.action_unfold()
                    await asyncio.sleep(0.02)
                await pilot.pause(2.0)
            rows = len(app.screen.table.items)
            async with Standstill() as walking:
                for _ in range(200):
                    app.screen.table.cursor += 37
                    await asyncio.sleep(0.005)
    print(f"workspace of {FILES:,} files: shown after {shown:.2f} s, longest standstill {opened:.0f} ms")
    print(
        f"all folders opened, {rows:,} rows: standstill {unfolding.longest_ms:.0f} ms; walking "
        f"{walking.longest_ms:.0f} ms"
    )


async def rows(scenes: Any, root: Path) -> None:
    path = root / "big.jsonl"
    line = json.dumps({"messages": [{"role": "user", "content": "How many? " + "word " * 180}], "rollout_extra": {}})
    block = (line + "\n").encode() * 1000
    with path.open("wb") as file:
        while file.tell() < ROWS_BYTES:
            file.write(block)
        file.write(json.dumps({"messages": [{"role": "user", "content": "the needle"}]}).encode() + b"\n")
    (root / "small.txt").write_text("x\n")
    app = scenes.app(scenes.FakeBackend(), root, start_place="workspace")
    async with app.run_test(size=(120, 40)):
        await until(lambda: app.screen.table.items)
        async with Standstill() as still:
            app.screen.table.move_to(str(path))
            indexed = await until(lambda: app.screen.rows is not None)
            count = len(app.screen.rows)
            started = time.perf_counter()
            app.screen.show_row(count // 2)
            jump = (time.perf_counter() - started) * 1000
            app.screen._wanted = "needle"
            app.screen.search_again(1)
            found = await until(lambda: app.screen.row_number == count - 1)
    print(f"1 GB of rows: first row after {indexed:.2f} s, row k in {jump:.1f} ms, search to the end {found:.2f} s")
    print(f"longest standstill meanwhile {still.longest_ms:.0f} ms")


def main() -> None:
    scenes = _scenes()
    parts = {"keys": keys, "tree": tree, "rows": rows}
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(parts[name](scenes, Path(folder)))


if __name__ == "__main__":
    main()
