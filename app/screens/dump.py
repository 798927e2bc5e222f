"""A file or a folder of rollouts, walked like the trajectories of a job."""

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message

from agentic_rl_tui.app.keymap import bindings
from agentic_rl_tui.app.present.steps import size
from agentic_rl_tui.app.screens.choose import Choice, Choose
from agentic_rl_tui.app.screens.job_panes import JobPane, JobPanes
from agentic_rl_tui.app.screens.job_rollouts import Place
from agentic_rl_tui.app.screens.job_trajectories import JobTrajectories
from agentic_rl_tui.app.surfaces import Problem
from agentic_rl_tui.core.i18n import _, ngettext
from agentic_rl_tui.core.models.errors import ArlError
from agentic_rl_tui.core.models.text import plain
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Chip, Heading

if TYPE_CHECKING:
    from agentic_rl_tui.app.shell import ArlApp
    from agentic_rl_tui.core.sdk.dumps import Dump

_MOST_FILES = 5_000
_MOST_OFFERED = 50


class DumpTrajectories(JobTrajectories):
    """The same levels over a file; there is nothing to show until `dump` is given."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda: self.dump.bounds() if self.dump is not None else None)
        self.dump: Dump | None = None

    @property
    def is_ready(self) -> bool:
        return self.dump is not None

    async def steps_page(self) -> dict[str, Any] | None:
        return None if self.dump is None else await asyncio.to_thread(self.dump.page)

    async def place_page(self, place: Place) -> Mapping[str, Any] | None:
        if self.dump is None:
            return None
        return await asyncio.to_thread(self.dump.page, step=place.step, sample=place.sample, phase=place.phase)


class DumpScreen(JobPanes):
    """Indexes the file in a thread, tells how far it is, and leaves where the file holds no rollouts."""

    place = "workspace"
    CSS_PATH = themes.STYLES / "job.tcss"
    BINDINGS = bindings("dump")

    @dataclass
    class Reading(Message):
        share: float

    @dataclass
    class Opened(Message):
        dump: "Dump"

    @dataclass
    class Refused(Message):
        error: ArlError

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.tab, self.job_id, self.job = "trajectories", path.stem, None
        self._stop = threading.Event()
        self._held: list[Dump] = []
        """Files that are open, the one that is shown and one that was just read."""

    def body(self) -> ComposeResult:
        yield Heading(id="job-heading")
        yield DumpTrajectories(self.path.name)

    @property
    def trajectories(self) -> DumpTrajectories:
        return self.query_one(DumpTrajectories)

    @property
    def heading(self) -> Heading:
        return self.query_one(Heading)

    def on_mount(self) -> None:
        self.heading.title = plain(self.path.name, keep_newlines=False)
        self.heading.facts = ((_("reading …"), "$muted"),)
        self._read(self._stop)

    def action_refresh(self) -> None:
        """Read the file again: it may have grown."""
        self._stop.set()
        self._stop = threading.Event()
        self._read(self._stop)

    @work(thread=True, exclusive=True, group="dump.read", exit_on_error=False)
    def _read(self, stop: threading.Event) -> None:
        from agentic_rl_tui.core.datasets import CheckCanceled
        from agentic_rl_tui.core.sdk.dumps import open_dump

        def progress(done: int, total: int) -> None:
            self.post_message(self.Reading(done / total if total else 1.0))

        try:
            dump = open_dump(self.path, progress=progress, cancel=stop)
        except CheckCanceled:
            return
        except ArlError as error:
            self.post_message(self.Refused(error))
        else:
            self._held.append(dump)
            if stop.is_set():  # said before it was held: nobody else closes it
                dump.close()
            else:
                self.post_message(self.Opened(dump))

    @on(Reading)
    def _reading(self, event: Reading) -> None:
        self.heading.note = ((_("{share:.0%} read").format(share=event.share), "$running"),)

    @on(Refused)
    def _refused(self, event: Refused) -> None:
        self.arl.fail(event.error, _("open {name}").format(name=self.path.name))
        if self.trajectories.dump is None and self.is_current:
            self.leave_screen()

    @on(Opened)
    def _opened(self, event: Opened) -> None:
        dump = self.trajectories.dump = event.dump
        self._let_go(but=dump)
        count = ngettext("{count} rollout", "{count} rollouts", len(dump)).format(count=f"{len(dump):,}")
        parts = [count, size(dump.size)]
        if dump.path.is_dir():
            files = ngettext("{count} file", "{count} files", dump.file_count)
            parts.insert(1, files.format(count=f"{dump.file_count:,}"))
        self.heading.facts = ((" · ".join(parts), "$muted"),)
        self.heading.note = ()
        if dump.unread_count:
            self._tell_unread(dump)
        self.trajectories.load()

    def _tell_unread(self, dump: "Dump") -> None:
        words = ngettext("{count} line holds no rollout", "{count} lines hold no rollout", dump.unread_count)
        said = words.format(count=f"{dump.unread_count:,}")
        self.heading.chips = (Chip(f"! {said}", "$warn on $raised"),)
        name = plain(self.path.name, keep_newlines=False)
        detail = "\n".join(plain(f"{item.file}:{item.line}: {item.why}") for item in dump.unread)
        problem = Problem(_("read all of {name}").format(name=name), said, _("The other lines are shown."), detail)
        self.arl.problems.add(problem)
        self.arl.warn(_("{said}; press ! to see which").format(said=said))

    @on(JobPane.StateChanged)
    def pane_changed(self) -> None:
        if self.trajectories.dump is not None:
            self.heading.note = self.trajectories.state()
        self.refresh_hints()

    @property
    def back_label(self) -> str:
        return _("back to the workspace")

    def on_unmount(self) -> None:
        self._stop.set()
        self._let_go()

    def _let_go(self, but: "Dump | None" = None) -> None:
        for dump in [held for held in self._held if held is not but]:
            self._held.remove(dump)
            dump.close()


def choose_dump(app: "ArlApp") -> None:
    """Ask which file: those of the workspace that hold rollouts, or a path that is typed."""
    app.run_worker(_choose(app), group="dump.choose", exclusive=True, exit_on_error=False)


async def _choose(app: "ArlApp") -> None:
    root = app.settings.workspace
    found = await asyncio.to_thread(_dumps_below, root)
    items: list[Choice[Path | None]] = [
        Choice(path, plain(_shown(path, root), keep_newlines=False), note="" if path.is_dir() else size(length))
        for path, length in found
    ]
    items.append(Choice(None, _("the path that is typed"), is_free=True))
    dialog: Choose[Path | None] = Choose(
        _("Open a trajectory dump"), items, hint=_("the path of a JSONL file of rollouts, or of a folder of them")
    )

    def chosen(choice: "Choice[Path | None] | None") -> None:
        if choice is None:
            return
        path = choice.value or root / Path(dialog.typed.strip()).expanduser()
        if path.exists():
            app.open_dump(path)
        else:
            app.refuse(_("{path} is not there").format(path=path))

    app.push_screen(dialog, chosen)


def _shown(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix()
    return f"{name}/" if path.is_dir() else name


def _dumps_below(root: Path) -> list[tuple[Path, int]]:
    """Files of rollouts with their sizes, and folders with a file for each step instead of those files."""
    from agentic_rl_tui.core.sdk.dumpfiles import ENDINGS, files_of, is_stepwise
    from agentic_rl_tui.core.sdk.dumps import is_dump

    found: list[tuple[Path, int]] = []
    looked = 0
    for place, folders, names in os.walk(root):
        folder = Path(place)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if folder != root and is_stepwise(folder) and any(is_dump(file.path) for file in files_of(folder)[:2]):
            found.append((folder, 0))
            folders.clear()
            names.clear()
        for path in (folder / name for name in sorted(names)):
            looked += 1
            if path.suffix.lower() in ENDINGS and is_dump(path):
                found.append((path, path.stat().st_size))
        if looked >= _MOST_FILES or len(found) >= _MOST_OFFERED:
            break
    return found[:_MOST_OFFERED]
