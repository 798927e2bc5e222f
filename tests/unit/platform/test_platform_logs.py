import asyncio
import logging
import threading
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.errors import PlatformError
from agentic_rl_tui.core.platform.bell import Bell
from agentic_rl_tui.core.platform.store import line_cache
from agentic_rl_tui.core.platform.store import lines as line_files
from agentic_rl_tui.core.platform.store import logs as logs_module
from agentic_rl_tui.core.platform.store.logs import MAX_LINE_CHARS, InstanceLogs, JobLogs


@pytest.fixture
def job_logs(tmp_path: Path) -> JobLogs:
    return JobLogs(tmp_path / "logs", Bell())


async def test_pages_skip_as_many_lines_as_the_offset_says(job_logs: JobLogs) -> None:
    await job_logs.append("ft-1", [f"line {number}" for number in range(5)])
    assert await job_logs.read("ft-1", 0, 2) == (["line 0", "line 1"], 5)
    assert await job_logs.read("ft-1", 4, 100) == (["line 4"], 5)
    assert await job_logs.read("ft-1", 5, 100) == ([], 5)
    assert await job_logs.read("ft-2", 0, 100) == ([], 0)


async def test_line_breaks_inside_a_line_make_lines(job_logs: JobLogs) -> None:
    await job_logs.append("ft-1", ["a\nb", "c\r\nd\re", ""])
    assert await job_logs.read("ft-1", 0, 100) == (["a", "b", "c", "d", "e", ""], 6)


async def test_any_text_can_be_logged(job_logs: JobLogs) -> None:
    await job_logs.append("ft-1", ["数 \x1b[31m \ud800 \0", "x" * (MAX_LINE_CHARS + 7)])
    (first, second), _ = await job_logs.read("ft-1", 0, 10)
    assert first == "数 \x1b[31m ? \0"
    assert second.endswith("… [7 more characters]")


async def test_readers_and_a_writer_agree(job_logs: JobLogs) -> None:
    seen: list[str] = []

    async def write() -> None:
        for number in range(300):
            await job_logs.append("ft-1", [f"{number}"])
            await asyncio.sleep(0)

    async def follow() -> None:
        while len(seen) < 300:
            lines, total = await job_logs.read("ft-1", len(seen), 50)
            assert len(seen) + len(lines) <= total
            seen.extend(lines)
            await asyncio.sleep(0)

    await asyncio.gather(write(), follow())
    assert seen == [str(number) for number in range(300)]
    job_logs.close()


async def test_an_append_wakes_those_who_wait(tmp_path: Path) -> None:
    bell = Bell()
    job_logs = JobLogs(tmp_path, bell)
    waiting = asyncio.create_task(bell.wait("ft-1", 5))
    await asyncio.sleep(0)
    await job_logs.append("ft-1", ["x"])
    assert await waiting
    job_logs.close()


async def test_a_removed_log_is_gone(job_logs: JobLogs) -> None:
    await job_logs.append("ft-1", ["x"])
    assert job_logs.ids() == {"ft-1"}
    job_logs.remove("ft-1")
    assert await job_logs.read("ft-1", 0, 10) == ([], 0)
    assert job_logs.ids() == set()


async def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "ft-1.log").mkdir()
    with pytest.raises(PlatformError, match=r"ft-1\.log cannot be written") as caught:
        await JobLogs(tmp_path, Bell()).append("ft-1", ["x"])
    assert isinstance(caught.value, OSError)
    assert "free space" in caught.value.advice


@pytest.fixture
def instance_logs(tmp_path: Path) -> InstanceLogs:
    return InstanceLogs(tmp_path / "instances")


def texts(entries: list[logs_module.LogEntry]) -> list[str]:
    return [entry.text for entry in entries]


async def test_instance_pages(instance_logs: InstanceLogs) -> None:
    for number in range(5):
        instance_logs.add("i", f"line {number}", stream="stdout", time_s=100.5 + number)
    entries, total = await instance_logs.query("i", page=2, size=2)
    assert (texts(entries), total) == (["line 2", "line 3"], 5)
    assert (entries[0].stream, entries[0].time_s) == ("stdout", 102.5)
    assert await instance_logs.query("i", page=9, size=2) == ([], 5)
    assert await instance_logs.query("other", page=1, size=2) == ([], 0)


async def test_instance_filters(instance_logs: InstanceLogs) -> None:
    for number, text in enumerate(["Error: a", "fine", "error: b", "ERROR: c fine"]):
        instance_logs.add("i", text, time_s=100.9 + number)
    cases = [
        ({"keywords": ["error"]}, ["Error: a", "error: b", "ERROR: c fine"]),
        ({"keywords": ["error", "FINE"]}, ["ERROR: c fine"]),
        ({"start_s": 101, "end_s": 102}, ["fine", "error: b"]),
        ({"start_s": 103}, ["ERROR: c fine"]),
        ({"end_s": 100, "keywords": ["nothing"]}, []),
    ]
    for filters, expected in cases:
        entries, total = await instance_logs.query("i", page=1, size=10, **filters)  # type: ignore[arg-type]
        assert (texts(entries), total) == (expected, len(expected)), filters
    entries, total = await instance_logs.query("i", page=2, size=2, keywords=["error"])
    assert (texts(entries), total) == (["ERROR: c fine"], 3)


async def test_a_talkative_instance_keeps_its_newest_lines(folder: Path) -> None:
    instance_logs = InstanceLogs(folder, max_bytes=2000)
    for number in range(200):
        instance_logs.add("i", f"line {number:04} {'x' * 40}", time_s=float(number))
        instance_logs.flush()
    entries, total = await instance_logs.query("i", page=1, size=1000)
    assert total == len(entries)
    numbers = [int(entry.text[5:9]) for entry in entries]
    assert numbers == list(range(200 - total, 200))
    assert sum(path.stat().st_size for path in folder.glob("*.log")) < 5000
    first, _ = await instance_logs.query("i", page=1, size=total - 1)
    last, _ = await instance_logs.query("i", page=2, size=total - 1)
    assert texts(first + last) == texts(entries)
    instance_logs.remove("i")
    assert list(folder.iterdir()) == []


async def test_a_refused_line_is_dropped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "i.log").mkdir()
    instance_logs = InstanceLogs(tmp_path)
    with caplog.at_level(logging.WARNING):
        instance_logs.add("i", "x")
        instance_logs.flush()
    assert "cannot be written" in caplog.text


async def test_a_lost_index_of_a_large_log_is_made_again_in_a_thread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ft-1.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(600_000)))
    assert line_files.is_slow_to_open(path)
    openers: list[int] = []

    class Watched(line_files.LineFile):
        def __init__(self, path: Path) -> None:
            openers.append(threading.get_ident())
            super().__init__(path)

    monkeypatch.setattr(line_cache, "LineFile", Watched)
    logs = JobLogs(folder, Bell())
    reads = [logs.read("ft-1", number * 60_000, 1) for number in range(10)]
    found = await asyncio.gather(*reads, logs.append("ft-1", ["the last"]))
    assert [lines for lines, _ in found[:-1]] == [[f"line {number * 60_000}"] for number in range(10)]
    assert await logs.last("ft-1") == "the last"
    assert (await logs.read("ft-1", 599_999, 5))[0] == ["line 599999", "the last"]
    logs.close()
    assert len(openers) == 1
    assert openers[0] != threading.get_ident()
    assert not line_files.is_slow_to_open(path)


async def test_a_log_that_is_removed_as_it_is_opened_is_gone(folder: Path) -> None:
    (folder / "ft-1.log").write_bytes(b"x" * 63 + b"\n" * 5_000_000)
    logs = JobLogs(folder, Bell())
    reading = asyncio.create_task(logs.read("ft-1", 0, 1))
    await asyncio.sleep(0)
    logs.remove("ft-1")
    await reading
    assert (await logs.read("ft-1", 0, 10))[1] == 0
    logs.close()
