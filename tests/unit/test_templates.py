import json
import re
import threading
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

from agentic_rl_tui.core.functions.discovery import discover
from agentic_rl_tui.core.functions.harness import try_function
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.sdk.checks import WorkspaceChecker
from agentic_rl_tui.core.sdk.preflight import Check
from agentic_rl_tui.core.templates import TEMPLATES, WorkspaceExists, errands, stories, write_workspace
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


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_passes_all_checks_of_a_workspace(name: str, tmp_path: Path) -> None:
    root = tmp_path / name
    template = TEMPLATES[name]
    assert template.job_file in write_workspace(template, root)
    seen: list[Check] = []
    checks = WorkspaceChecker(root).run(seen.append, threading.Event())
    assert {check.name: [str(item) for item in check.findings] for check in checks if check.state != "ok"} == {}
    assert {":functions", ":package", ":leaks", template.job_file} <= {check.name for check in checks}


@pytest.mark.parametrize("name", TEMPLATES)
async def test_every_template_tells_right_from_wrong(name: str, tmp_path: Path) -> None:
    """Its own inputs: the reward of the right one is whole, that of the wrong one is not."""
    root = tmp_path / name
    write_workspace(TEMPLATES[name], root)
    info = next(item for item in discover(root).processors if item.kind is FunctionKind.REWARD)
    right, wrong = [
        await try_function(root, info.classpath, (root / "resources" / f"{file}.json").read_text())
        for file in ("reward_input", "reward_wrong_input")
    ]
    assert right.score == pytest.approx(1.0)
    assert wrong.score is not None
    assert wrong.score < 0.5


@pytest.mark.parametrize("module", [stories, errands])
def test_made_up_rows_are_the_same_for_a_seed_and_all_different(module: ModuleType) -> None:
    train, valid = module.data_files(train_rows=120, valid_rows=40).values()
    assert module.data_files(train_rows=120, valid_rows=40)["data/train.jsonl"] == train
    prompts = [json.loads(line)["messages"][0]["content"] for raw in (train, valid) for line in raw.splitlines()]
    assert len(set(prompts)) == 160


def test_stories_have_whole_numbers_above_zero_as_answers() -> None:
    assert all(int(solution) > 0 for _, solution in islice(stories.problems(5), 400))


def test_errands_need_every_tool_and_sometimes_none(tmp_path: Path) -> None:
    solutions = [solution for _, solution in islice(errands.errands(5), 300)]
    called = {json.loads(text)["tool_calls"][0]["name"] for text in solutions if text.startswith("{")}
    write_workspace(TEMPLATES["tool-router"], tmp_path / "router")
    source = (tmp_path / "router" / "functions" / "tools.py").read_text()
    assert called == set(re.findall(r'_tool\(\s*"(\w+)"', source))
    assert any(text.isdigit() for text in solutions)
