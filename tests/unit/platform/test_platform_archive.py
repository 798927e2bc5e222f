"""The state as one file, out and in again."""

import io
import json
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.cli.dispatch import dispatch
from agentic_rl_tui.core.models.errors import Conflict, InputError, PlatformError
from agentic_rl_tui.core.models.status import JobStatus
from agentic_rl_tui.core.paths import PlatformPaths
from agentic_rl_tui.core.platform.archive import export_state, import_state, is_empty
from agentic_rl_tui.core.platform.lock import AlreadyRunning, InstanceLock
from agentic_rl_tui.core.platform.service import Platform
from agentic_rl_tui.core.platform.store import schema


@pytest.fixture
async def job_id(bench: Any) -> str:
    """An ended job with a log and a report, on a platform that runs."""
    job_id = await bench.create_job()
    await bench.platform.jobs.move(job_id, JobStatus.RUNNING)
    await bench.platform.job_logs.append(job_id, [f"line {number}" for number in range(600)])
    folder = bench.platform.paths.jobs / job_id
    folder.mkdir(parents=True)
    (folder / "report.json").write_text('{"status": "SUCCEEDED"}')
    await bench.platform.jobs.move(job_id, JobStatus.SUCCEEDED)
    return str(job_id)


@pytest.fixture
def archive(bench: Any, job_id: str, tmp_path: Path) -> Path:
    path = tmp_path / "state.tar.gz"
    export_state(bench.platform.paths, path)
    return path


def paths_of(folder: Path) -> PlatformPaths:
    return PlatformPaths(folder / "other")


async def test_all_of_a_running_platform_comes_back(bench: Any, job_id: str, archive: Path, folder: Path) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    paths = paths_of(folder)
    held = import_state(paths, archive)
    assert (held.jobs, held.files, held.entities) == (1, 1, 2)
    assert sorted(path.name for path in paths.root.iterdir() if path.name.startswith(".")) == []
    platform = Platform(paths.root, make_scheduler=lambda _: bench.platform.scheduler, make_pool=lambda _: None)  # type: ignore[arg-type, return-value]
    await platform.start()
    try:
        job = platform.jobs.stored(job_id)
        assert job is not None
        assert job.status == "SUCCEEDED"
        lines, total = await platform.job_logs.read(job_id, 590, 100)
        assert (lines[-1], total) == ("line 599", 600)
        (stored,), _ = platform.files.page(1, 10)
        original = await bench.platform.files.path(stored.file_id)
        assert (await platform.files.path(stored.file_id)).read_bytes() == original.read_bytes()
        assert (paths.jobs / job_id / "report.json").read_text() == '{"status": "SUCCEEDED"}'
        entity = platform.functions.entity(job.request["rollout"]["rollout_id"])
        assert entity is not None
        assert (platform.packages.directory_of(entity.package_hash) / "functions" / "fns.py").is_file()
    finally:
        await platform.stop()


async def test_a_file_that_went_missing_has_no_row(bench: Any, job_id: str, tmp_path: Path, folder: Path) -> None:
    (stored,), _ = bench.platform.files.page(1, 10)
    (await bench.platform.files.path(stored.file_id)).unlink()
    export_state(bench.platform.paths, tmp_path / "a")
    import_state(paths_of(folder), tmp_path / "a")
    with closing(sqlite3.connect(paths_of(folder).database)) as database:
        assert database.execute("select count(*) from files").fetchone() == (0,)


def test_a_state_is_replaced_only_when_told_to(archive: Path, folder: Path) -> None:
    paths = paths_of(folder)
    assert is_empty(paths)
    import_state(paths, archive)
    assert not is_empty(paths)
    (paths.jobs / "left").write_text("from before")
    with pytest.raises(Conflict, match="not empty"):
        import_state(paths, archive)
    assert (paths.jobs / "left").exists()
    import_state(paths, archive, force=True)
    assert not (paths.jobs / "left").exists()
    assert not list(paths.root.glob(".*"))


def test_a_running_platform_is_left_alone(archive: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = paths_of(folder)
    held = InstanceLock(paths)
    monkeypatch.setattr("agentic_rl_tui.core.platform.lock._answers", lambda _: True)
    with pytest.raises(AlreadyRunning):
        import_state(paths, archive, force=True)
    held.release()


def rewritten(archive: Path, target: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Path:
    """A copy of an archive with its entries changed."""
    with tarfile.open(archive) as old, tarfile.open(target, "w:gz") as new:
        for entry in old:
            content = old.extractfile(entry)
            assert content is not None
            changed = change(entry.name, content.read())
            if changed is not None:
                info = tarfile.TarInfo(changed[0])
                info.size = len(changed[1])
                new.addfile(info, io.BytesIO(changed[1]))
    return target


@pytest.mark.parametrize("name", ["../out", "/etc/out", "elsewhere/x", "logs", "files/../../out", "platform.db/x"])
def test_entries_stay_inside(archive: Path, folder: Path, name: str) -> None:
    wrong = rewritten(archive, folder / "a", lambda old, raw: (name if old.startswith("files/") else old, raw))
    with pytest.raises(InputError, match="does not belong"):
        import_state(paths_of(folder), wrong)
    assert not (folder / "out").exists()
    assert is_empty(paths_of(folder))


def test_links_are_refused(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as old, tarfile.open(folder / "a", "w:gz") as new:
        first = old.next()
        assert first is not None
        new.addfile(first, old.extractfile(first))
        link = tarfile.TarInfo("files/x")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        new.addfile(link)
    with pytest.raises(InputError, match="no plain file"):
        import_state(paths_of(folder), folder / "a")


@pytest.mark.parametrize(("key", "value"), [("state", schema.VERSION + 1), ("format", 99)])
def test_a_newer_archive_is_refused(archive: Path, folder: Path, key: str, value: int) -> None:
    def newer(name: str, raw: bytes) -> tuple[str, bytes]:
        return name, json.dumps(json.loads(raw) | {key: value}).encode() if name == "manifest.json" else raw

    with pytest.raises(InputError, match="cannot read"):
        import_state(paths_of(folder), rewritten(archive, folder / "a", newer))


def test_a_damaged_archive_changes_nothing(archive: Path, folder: Path) -> None:
    paths = paths_of(folder)
    import_state(paths, archive)
    before = paths.database.read_bytes()
    whole = archive.read_bytes()
    broken = {
        "cut": whole[: len(whole) // 2],
        "text": b"no archive at all",
        "empty": b"",
        "bent": whole[:-8] + bytes(4) + whole[-4:],
    }
    for name, raw in broken.items():
        (folder / name).write_bytes(raw)
        with pytest.raises(InputError):
            import_state(paths, folder / name, force=True)
    no_database = rewritten(archive, folder / "b", lambda name, raw: None if name == "platform.db" else (name, raw))
    wrong = rewritten(archive, folder / "c", lambda name, raw: (name, b"x" * 5000 if name == "platform.db" else raw))
    for path in (no_database, wrong, folder / "absent"):
        with pytest.raises(InputError):
            import_state(paths, path, force=True)
    assert paths.database.read_bytes() == before
    assert not list(paths.root.glob(".*"))


def test_an_export_overwrites_nothing_by_itself(bench: Any, archive: Path, folder: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(InputError, match="exists"):
        export_state(bench.platform.paths, archive)
    assert archive.read_bytes() == before
    export_state(bench.platform.paths, archive, replace=True)
    with pytest.raises(PlatformError, match="no platform state"):
        export_state(paths_of(folder), folder / "a")
    with pytest.raises(PlatformError, match="No such file"):
        export_state(bench.platform.paths, folder / "missing" / "a")


def test_the_command_line(
    archive: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTIC_RL_STATE_DIR", str(folder))
    assert dispatch(["platform", "import"]) == 2
    assert dispatch(["platform", "status", "x"]) == 2
    capsys.readouterr()
    assert dispatch(["platform", "import", str(archive)]) == 0
    assert "1 jobs, 1 files, 2 functions" in capsys.readouterr().out
    assert dispatch(["platform", "import", str(archive)]) == 1
    assert "not empty" in capsys.readouterr().err
    assert dispatch(["platform", "import", str(archive), "--force"]) == 0
    assert dispatch(["platform", "export", str(folder / "again.tar.gz")]) == 0
    assert "private" in capsys.readouterr().err
    assert (folder / "again.tar.gz").stat().st_size > 0
