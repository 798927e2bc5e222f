"""Keystroke to paint in a 25,000-line job file, and opening a workspace of 20,000 files.

python tests/bench/writing_side.py
"""

import asyncio
import importlib.util
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCENES = Path(__file__).resolve().parents[2] / "screenshots" / "scenes.py"


def _scenes() -> Any:
    spec = importlib.util.spec_from_file_location("arl_scenes", SCENES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["arl_scenes"] = module
    spec.loader.exec_module(module)
    return module


async def keystrokes(scenes: Any, root: Path, lines: int = 25_000) -> list[float]:
    """Milliseconds from a key to a painted screen; the check of the text runs beside it as it does for a person."""
    head = "name: large\nmodel:\n  name: qwen3.5-9b\nfunctions:\n"
    block = "  - type: reward\n    name: r{n}\n    fcmodel:\n      classpath: functions.a.A\n    weight: 0.1\n"
    text = head + "".join(block.format(n=number) for number in range(lines // 5))
    (root / "rl-job.yaml").write_text(text)
    app = scenes.app(scenes.FakeBackend(), root, start_place="jobfile")
    times: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)
        editor = app.screen.editor
        editor.move_cursor((lines // 2, 4))
        await pilot.pause(0.5)
        for key in "abcdefghijklmnopqrstuvwxyz":
            started = time.perf_counter()
            await pilot.press(key)
            times.append((time.perf_counter() - started) * 1000)
    return times


async def workspace(scenes: Any, root: Path, files: int = 20_000) -> tuple[float, float]:
    """Seconds until the tree shows, and the longest time in milliseconds in which the screen answered nothing."""
    for number in range(files):
        folder = root / f"d{number // 500:03}"
        if number % 500 == 0:
            folder.mkdir()
        (folder / f"f{number}.txt").touch()
    app = scenes.app(scenes.FakeBackend(), root, start_place="workspace")
    started = time.perf_counter()
    longest = 0.0
    async with app.run_test(size=(120, 40)) as pilot:
        while not app.screen.table.items:
            await pilot.pause(0.005)
        shown = time.perf_counter() - started
        end = time.perf_counter() + 3
        last = time.perf_counter()
        while time.perf_counter() < end:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now
        await pilot.pause()
    return shown, longest * 1000


def main() -> None:
    scenes = _scenes()
    with tempfile.TemporaryDirectory() as folder:
        times = sorted(asyncio.run(keystrokes(scenes, Path(folder))))
        middle, high = statistics.median(times), times[int(len(times) * 0.95)]
        print(f"keystroke in 25,000 lines: p50 {middle:.1f} ms, p95 {high:.1f} ms, max {times[-1]:.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        shown, longest = asyncio.run(workspace(scenes, Path(folder)))
        print(f"workspace of 20,000 files: shown after {shown:.2f} s, longest standstill {longest:.0f} ms")


if __name__ == "__main__":
    main()
