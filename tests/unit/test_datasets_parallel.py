"""Large files in several processes: from a thread, canceled, and with a process that dies."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentic_rl_tui.core import i18n
from agentic_rl_tui.core.datasets import CheckCanceled, check_file, parallel
from agentic_rl_tui.core.datasets.blocks import BLOCK
from agentic_rl_tui.core.datasets.parallel import WorkerDied

ROW = '{"messages": [{"role": "user", "content": "%s"}], "rollout_extra": {"solution": "2"}}\n' % ("x" * 400)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.jsonl"
    path.write_text(ROW * (6 * BLOCK // len(ROW)))
    return path


async def test_it_works_in_a_thread_of_a_running_loop(large: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int, int]] = []
    report = await asyncio.to_thread(
        check_file, large, workers=2, progress=lambda done, total: seen.append((done, total, threading.get_ident()))
    )
    assert (report.rows, report.problem_count) == (6 * BLOCK // len(ROW), 0)
    assert seen[-1][:2] == (report.bytes, report.bytes)
    assert len({thread for _, _, thread in seen}) == 1
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def started(monkeypatch: pytest.MonkeyPatch) -> "list[subprocess.Popen[bytes]]":
    processes: list[subprocess.Popen[bytes]] = []
    start = parallel._start

    def remember() -> "subprocess.Popen[bytes]":
        processes.append(start())
        return processes[-1]

    monkeypatch.setattr(parallel, "_start", remember)
    return processes


def test_cancel_ends_the_processes(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch)
    cancel = threading.Event()

    def stop(_done: int, _total: int) -> None:
        if processes:
            cancel.set()

    with pytest.raises(CheckCanceled, match=r"large.jsonl was canceled"):
        check_file(large, workers=2, cancel=cancel, progress=stop)
    assert len(processes) == 2
    assert all(process.returncode is not None for process in processes)


def test_a_killed_process_is_told(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch)
    real = parallel.send
    killed = []

    def send(stream: object, message: tuple[object, ...]) -> None:
        if len(processes) == 2 and not killed:
            killed.append(processes[0].pid)
            os.kill(processes[0].pid, signal.SIGKILL)
            processes[0].wait()
        real(stream, message)  # type: ignore[arg-type]

    monkeypatch.setattr(parallel, "send", send)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        check_file(large, workers=2)
    assert all(process.returncode is not None for process in processes)


def test_what_a_dying_process_said_is_in_the_error(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> "subprocess.Popen[bytes]":
        code = "import sys; sys.exit('no module named so')"
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe)

    monkeypatch.setattr(parallel, "_start", broken)
    with pytest.raises(WorkerDied, match=r"exit code 1\): no module named so"):
        check_file(large, workers=2)


def test_a_machine_without_room_for_processes_is_served_by_this_one(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> "subprocess.Popen[bytes]":
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(parallel, "_start", full)
    assert check_file(large, workers=2).rows == 6 * BLOCK // len(ROW)


def test_a_read_error_is_a_problem_of_the_file(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("agentic_rl_tui.core.datasets.check._scan", fail)
    report = check_file(large)
    assert [(problem.rule, problem.message) for problem in report.problems] == [
        ("unreadable", "the file cannot be read: Input/output error")
    ]


def test_the_users_folder_lends_no_modules(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("orjson.py", "json.py", "core.py"):
        (large.parent / name).write_text("raise RuntimeError('mine')\n")
    monkeypatch.chdir(large.parent)
    assert check_file(large, workers=2).problem_count == 0


def test_processes_that_check_speak_the_language_of_the_caller(large: Path) -> None:
    with large.open("a", encoding="utf-8") as file:
        file.write('{"messages": [], "rollout_extra": {"solution": "2"}}\n')
    i18n.set_language("zh_CN")
    report = check_file(large, workers=2)
    assert [problem.message for problem in report.problems] == [i18n._("messages is empty")]
