"""The jobs of the last time: kept whole, or not at all."""

import json
from pathlib import Path

import pytest

from agentic_rl_tui.app.cache import read_jobs, write_jobs
from agentic_rl_tui.app.present.jobs import JobRow, kept_row, remembered_rows

ROW = JobRow("ft-1", "calc", "RUNNING", "qwen", "RL", 3, 9, (0.1, 0.2), 1.0, None, "", 100.0)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "jobs" / "x.json"
    write_jobs(path, [kept_row(ROW)], 90.0)
    known = read_jobs(path)
    assert known is not None
    assert known.at == 90.0
    assert remembered_rows(known.jobs, now=100.0) == (ROW,)
    assert [item.name for item in path.parent.iterdir()] == ["x.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 99, "jobs": [], "at": 1}', '{"version": 1}', "\x00"])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert read_jobs(path) is None
    assert read_jobs(tmp_path / "none.json") is None


def test_rows_of_another_version_are_left_out() -> None:
    good = json.loads(json.dumps(kept_row(ROW)))
    odd = [{**good, "colour": 1}, {}, {**good, "job_id": 3}, {**good, "rewards": ["x"]}, good]
    assert remembered_rows(odd, now=100.0) == (ROW,)
