import json
from itertools import islice
from pathlib import Path

import pytest

from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.templates import TEMPLATES, WorkspaceExists, write_workspace
from agentic_rl_tui.core.templates.arithmetic import data_files, problems

CALC = TEMPLATES["calc-agent"]


def test_the_workspace_is_written_whole(tmp_path: Path) -> None:
    written = write_workspace(CALC, tmp_path / "calc")
    assert {"rl-job.yaml", "opd-job.yaml", "requirements.txt", "data/train.jsonl"} <= set(written)
    assert (
        sorted(str(p.relative_to(tmp_path / "calc")) for p in (tmp_path / "calc").rglob("*") if p.is_file()) == written
    )


def test_rows_have_the_documented_shape(tmp_path: Path) -> None:
    train, valid = data_files().values()
    for raw, count in ((train, 256), (valid, 64)):
        rows = [json.loads(line) for line in raw.splitlines()]
        assert len(rows) == count
        assert all(row["messages"][0]["role"] == "user" and row["rollout_extra"]["solution"] for row in rows)
    prompts = {row for raw in (train, valid) for row in raw.splitlines()}
    assert len(prompts) == 320


def test_the_same_seed_gives_the_same_problems() -> None:
    assert list(islice(problems(3), 20)) == list(islice(problems(3), 20))
    assert list(islice(problems(3), 20)) != list(islice(problems(4), 20))


def test_solutions_come_in_every_documented_spelling() -> None:
    solutions = [solution for _, solution in islice(problems(7), 300)]
    assert any("/" in solution for solution in solutions)
    assert any("_" in solution for solution in solutions)
    assert any("%" in solution for solution in solutions)


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(WorkspaceExists) as caught:
        write_workspace(CALC, tmp_path)
    assert "notes.txt" in caught.value.message
    assert not caught.value.is_same_template
    assert [entry.name for entry in tmp_path.iterdir() if entry.name not in ("home",)] == ["notes.txt"]


def test_a_second_writing_is_recognised_and_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "calc"
    write_workspace(CALC, target)
    (target / "rl-job.yaml").write_text("name: edited\n")
    with pytest.raises(WorkspaceExists) as caught:
        write_workspace(CALC, target)
    assert caught.value.is_same_template
    assert (target / "rl-job.yaml").read_text() == "name: edited\n"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a directory"):
        write_workspace(CALC, tmp_path / "file")
