"""Speed of packaging next to ``zip -1`` and the standard library's zipfile, as programs with their start-up.

    python tests/bench/package_zip.py [--rounds 5] [--keep DIRECTORY]

Two workspaces: 5,000 small source files, and 200 MB that no compressor shrinks. Every round runs all contenders one
after another, so that a busy machine hurts all alike; the table shows medians, the ratio to ``zip -q -1``, and peak
memory of ours (Linux). Ours also runs the way the program does once it is loaded ("in process").
"""

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

OURS = """
import sys
from pathlib import Path
from agentic_rl_tui.core.functions import package
package.write(package.plan(Path(sys.argv[1]), check=False, patterns=()), Path(sys.argv[2]))
if len(sys.argv) > 3:
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
STANDARD = """
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED, compresslevel=int(sys.argv[3])) as archive:
    for root, _, files in os.walk(sys.argv[1]):
        for name in files:
            path = os.path.join(root, name)
            archive.write(path, os.path.relpath(path, sys.argv[1]))
"""
WORDS = "def class return self import reward rollout model step for in if else None True score print await 奖励 轨迹"


def small_files(root: Path) -> None:
    source = random.Random(1)
    words = WORDS.split()
    for number in range(5000):
        directory = root / f"package_{number % 40}" / f"part_{number % 13}"
        directory.mkdir(parents=True, exist_ok=True)
        lines = (
            "    " * source.randint(0, 3)
            + " ".join(source.choices(words, k=source.randint(2, 10)))
            + f" # {source.random()}"
            for _ in range(source.randint(30, 200))
        )
        (directory / f"file_{number}.py").write_text("\n".join(lines))


def large_files(root: Path) -> None:
    source = random.Random(2)
    (root / "assets").mkdir(parents=True)
    for number in range(20):
        (root / "assets" / f"weights_{number}.bin").write_bytes(source.randbytes(10_000_000))
    for number in range(50):
        (root / f"file_{number}.py").write_text("print('reward')\n" * 200)


def timed(command: list[str], cwd: Path | None = None) -> float:
    """Seconds that a program takes from its start to its end."""
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True)
    return time.perf_counter() - started


def peak_mb(workspace: Path, archive: Path) -> float:
    """Peak memory of ours, as the kernel counts it for the program alone."""
    command = [sys.executable, "-c", OURS, str(workspace), str(archive), "peak"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def contenders(workspace: Path, archive: Path) -> dict[str, Callable[[], float]]:
    python = sys.executable
    found: dict[str, Callable[[], float]] = {}
    if zip_program := shutil.which("zip"):
        found["zip -q -1"] = lambda: timed([zip_program, "-q", "-1", "-r", str(archive), "."], workspace)
    for level in (1, 6):
        command = [python, "-c", STANDARD, str(workspace), str(archive), str(level)]
        found[f"zipfile level {level}"] = lambda command=command: timed(command)
    found["ours"] = lambda: timed([python, "-c", OURS, str(workspace), str(archive)])
    found["ours, in process"] = lambda: in_process(workspace, archive)
    return found


def in_process(workspace: Path, archive: Path) -> float:
    from agentic_rl_tui.core.functions import package

    started = time.perf_counter()
    package.write(package.plan(workspace, check=False, patterns=()), archive)
    return time.perf_counter() - started


def compare(name: str, workspace: Path, rounds: int) -> None:
    archive = workspace.parent / "made.zip"
    runs = contenders(workspace, archive)
    seconds: dict[str, list[float]] = {label: [] for label in runs}
    sizes: dict[str, float] = {}
    for number in range(rounds + 1):
        for label, once in runs.items():
            archive.unlink(missing_ok=True)
            taken = once()
            if number:
                seconds[label].append(taken)
                continue
            sizes[label] = archive.stat().st_size / 1e6  # the first round fills the page cache and checks the archive
            with zipfile.ZipFile(archive) as opened:
                assert opened.testzip() is None
    base = statistics.median(seconds.get("zip -q -1", seconds["zipfile level 1"]))
    print(f"\n{name}, {rounds} rounds")
    print(f"{'':20}{'median ms':>10}{'best ms':>9}{'ratio':>7}{'zip MB':>8}")
    for label, taken in seconds.items():
        median = statistics.median(taken)
        print(f"{label:20}{median * 1e3:10.0f}{min(taken) * 1e3:9.0f}{median / base:7.2f}{sizes[label]:8.1f}")
    if Path("/proc/self/status").exists():
        print(f"peak memory of ours: {peak_mb(workspace, archive):.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="make the workspaces here and leave them")
    options = parser.parse_args()
    root = options.keep or Path(tempfile.mkdtemp(prefix="agentic-rl-bench-"))
    try:
        for name, make in (("5,000 small files", small_files), ("200 MB incompressible", large_files)):
            workspace = root / make.__name__
            if not workspace.exists():
                make(workspace)
            compare(name, workspace, options.rounds)
    finally:
        if options.keep is None:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
