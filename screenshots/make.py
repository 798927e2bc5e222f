"""Write the pictures of this folder: ``python screenshots/make.py [NAME ...]``; with ``--png`` bitmaps too.

The scenes are those of the tests: a platform that never changes and a stopped clock.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import scenes  # noqa: E402
from crisp import crisp  # noqa: E402

from agentic_rl_tui.app.tui import ArlApp  # noqa: E402
from agentic_rl_tui.core.i18n import set_language  # noqa: E402
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace  # noqa: E402

WIDE, LOW, SMALL, HUGE = (120, 40), (120, 32), (80, 24), (200, 60)


@dataclass(frozen=True)
class Shot:
    """A picture: which place, which keys, how large."""

    name: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = WIDE
    place: str = "jobs"
    theme: str = "dark"
    language: str = "en"
    backend: Callable[[], Any] = scenes.sample_backend


SHOTS = (
    Shot("jobs", size=LOW),
    Shot("jobs-80x24", size=SMALL),
    Shot("jobs-200x60", size=HUGE),
    Shot("jobs-light", size=LOW, theme="light"),
    Shot("jobs-empty", size=SMALL, backend=scenes.FakeBackend),
    Shot("job-overview", ("enter",)),
    Shot("job-failed", ("j", "j", "j", "enter")),
    Shot("job-log", ("l",)),
    Shot("job-metrics", ("enter", "]", "]")),
    Shot("job-samples", ("enter", "[", "[", "enter")),
    Shot("job-group", ("enter", "[", "[", "enter", "j", "enter")),
    Shot("job-trajectory", ("enter", "[", "[", "enter", "j", "enter", "right", "enter")),
    Shot("jobs-columns", ("T",)),
    Shot("workspace", ("j",) * 5, place="workspace"),
    Shot("functions", ("j", "j", "t"), place="functions"),
    Shot("job-file", place="jobfile"),
    Shot("job-file-chinese", place="jobfile", language="zh_CN"),
    Shot("submit", ("f5",), place="jobfile"),
    Shot("traces", size=LOW, place="traces"),
    Shot("trace", ("enter", *"jjjj"), place="traces"),
    Shot("settings", ("~",)),
    Shot("jobs-chinese", size=LOW, language="zh_CN"),
    Shot("jobs-chinese-light", size=LOW, theme="light", language="zh_CN"),
    Shot("confirm", ("x",)),
    Shot("help", ("question_mark",)),
    Shot("palette", ("ctrl+p",)),
)


async def settled(pilot: Any) -> None:
    for _ in range(40):
        await pilot.pause(0.02)
        busy = [worker for worker in pilot.app.workers if not worker.is_finished and worker.group != "job.follow"]
        if not busy:
            break
        await pilot.app.workers.wait_for_complete(busy)
    await pilot.pause(0.15)


async def take(shot: Shot, workspace: Path) -> str:
    set_language(shot.language)
    app: ArlApp = scenes.app(
        shot.backend(),
        workspace,
        start_place=shot.place,
        values={"tui.theme": shot.theme},
        workspace_shown="~/calc-agent",
    )
    async with app.run_test(size=shot.size, notifications=True) as pilot:
        await settled(pilot)
        for key in shot.keys:
            await pilot.press(key)
            await settled(pilot)
        colors = app.theme_variables
        return crisp(app.export_screenshot(), colors["surface"], colors["muted"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; default: all")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also write bitmaps there, by rsvg-convert")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "calc-agent"
        write_workspace(TEMPLATES["calc-agent"], workspace)
        for shot in SHOTS:
            if options.names and shot.name not in options.names:
                continue
            target = HERE / f"{shot.name}.svg"
            target.write_text(asyncio.run(take(shot, workspace)), encoding="utf-8")
            print(target)
            if options.png is not None and (convert := shutil.which("rsvg-convert")):
                options.png.mkdir(parents=True, exist_ok=True)
                subprocess.run([convert, "-o", options.png / f"{shot.name}.png", target], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
