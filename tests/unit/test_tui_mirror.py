"""The log mirror: exact continuation, whatever cut it off."""

import stat
from pathlib import Path

import pytest

from agentic_rl_tui.app.mirror import LogMirror, forget, mirror_path
from agentic_rl_tui.core.models.redact import redact


def opened(tmp_path: Path) -> LogMirror:
    return LogMirror(tmp_path / "logs" / "job.log")


def test_lines_come_back_by_number_and_after_opening_again(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    mirror.append(["one", "zwei", "三"])
    mirror.append(["four"])
    assert len(mirror) == 4
    assert list(mirror.source.lines(1, 4)) == ["zwei", "三", "four"]
    mirror.close()
    again = opened(tmp_path)
    assert len(again) == 4
    again.append(["five"])
    assert list(again.source.lines(3, 9)) == ["four", "five"]
    again.close()


def test_a_torn_last_line_is_dropped_so_that_nothing_is_missed(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    mirror.append(["one", "two"])
    mirror.close()
    with mirror.path.open("ab") as file:
        file.write(b"thr")
    again = opened(tmp_path)
    assert len(again) == 2
    again.append(["three"])
    assert list(again.source.lines(0, 9)) == ["one", "two", "three"]
    again.close()


def test_a_long_torn_line_alone_leaves_nothing(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    mirror.close()
    mirror.path.write_bytes(b"x" * 200_000)
    again = opened(tmp_path)
    assert len(again) == 0
    again.close()


def test_a_break_inside_a_line_stays_one_line_and_secrets_are_masked(tmp_path: Path) -> None:
    redact.add("sk-0123456789abcdef")
    mirror = opened(tmp_path)
    mirror.append(["a\nb", "key sk-0123456789abcdef end", "\ud800 lone"])
    assert len(mirror) == 3
    assert mirror.source.lines(0, 1) == ["a⏎b"]
    assert b"0123456789" not in mirror.path.read_bytes()
    mirror.close()


def test_only_one_process_writes(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    with pytest.raises(BlockingIOError):
        opened(tmp_path)
    mirror.close()
    opened(tmp_path).close()


def test_files_are_private_and_apart_by_service(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    assert stat.S_IMODE(mirror.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(mirror.path.parent.stat().st_mode) == 0o700
    mirror.close()
    forget(mirror.path)
    forget(mirror.path)
    assert not mirror.path.exists()
    assert mirror_path("https://a", "ft-1") != mirror_path("https://b", "ft-1")
    assert mirror_path("x", "../../etc").name == "______etc.log"
