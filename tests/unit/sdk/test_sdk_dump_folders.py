"""Folders of rollouts, one file a step, as trainers write them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.sdk.dumpfiles import files_of, is_stepwise
from agentic_rl_tui.core.sdk.dumps import DumpChanged, open_dump


def verl(step: int | None, question: int, answer: str, score: float) -> dict[str, Any]:
    row = {"input": f"question {question}", "output": answer, "gts": str(question), "score": score}
    return row if step is None else {**row, "step": step}


def write(path: Path, rows: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def group(step: int | None) -> list[dict[str, Any]]:
    return [verl(step, question, f"{step} {question} {n}", n / 2) for question in (0, 1) for n in range(3)]


def places(dump: Any) -> list[tuple[int, str, int]]:
    return [(item["step"], item["phase"], item["rollouts"]) for item in dump.page()["steps"]]


def test_a_folder_with_a_file_a_step_opens_as_steps_samples_and_groups(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        write(tmp_path / f"{step}.jsonl", group(step))
    assert is_stepwise(tmp_path)
    with open_dump(tmp_path) as dump:
        assert places(dump) == [(1, "train", 6), (2, "train", 6), (10, "train", 6)]
        assert dump.file_count == 3
        assert dump.size == sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
        for step in (1, 2, 10):
            samples = dump.page(step=step)["samples"]
            assert [item["rewards"] for item in samples] == [[0.0, 0.5, 1.0]] * 2
            rollouts = dump.page(step=step, sample=samples[1]["sample"])["rollouts"]
            assert [item["messages"][-1]["content"] for item in rollouts] == [f"{step} 1 {n}" for n in range(3)]
            assert rollouts[0]["ground_truth"] == "1"
        # The same question has the same number at every step, so that a sample can be followed.
        assert len({item["sample"] for step in (1, 2, 10) for item in dump.page(step=step)["samples"]}) == 2


def test_names_tell_the_step_and_the_phase_of_rows_that_do_not(tmp_path: Path) -> None:
    write(tmp_path / "run" / "step_3.jsonl", group(None))
    write(tmp_path / "run" / "global_step-4" / "rollouts.jsonl", group(None))
    write(tmp_path / "run" / "validation" / "4.jsonl", group(None))
    write(tmp_path / "run" / "checkpoints" / "9.jsonl", group(None))
    write(tmp_path / "run" / "notes.jsonl", [{"messages": [{"role": "user", "content": "no rollout"}]}])
    with open_dump(tmp_path / "run") as dump:
        assert places(dump) == [(3, "train", 6), (4, "train", 6), (4, "validation", 6)]
        assert dump.unread_count == 0
    write(tmp_path / "val_data" / "20.jsonl", group(20))
    with open_dump(tmp_path / "val_data") as dump:
        assert places(dump) == [(20, "validation", 6)]


def test_lines_that_hold_none_are_named_with_their_file_and_what_is_gone_is_told(tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", group(1))
    second = write(tmp_path / "2.jsonl", [*group(2), "{torn"])
    with open_dump(tmp_path) as dump:
        assert [(item.file, item.line) for item in dump.unread] == [("2.jsonl", 7)]
        sample = dump.page(step=2)["samples"][0]["sample"]
        second.rename(tmp_path / "old")
        with pytest.raises(DumpChanged):
            dump.page(step=2, sample=sample)
        write(tmp_path / "2.jsonl", group(2))
        with pytest.raises(DumpChanged):
            dump.page(step=2, sample=sample)
        assert dump.page(step=1, sample=dump.page(step=1)["samples"][0]["sample"])["rollouts"]


def test_more_steps_than_a_process_may_hold_files_open(tmp_path: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for step in range(1, 151):
        write(tmp_path / f"{step}.jsonl", [verl(step, 0, "a", 1.0)])
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        with open_dump(tmp_path) as dump:
            assert len(dump.page()["steps"]) == 150
            assert dump.page(step=150, sample=0)["rollouts"][0]["messages"][-1]["content"] == "a"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_folder_without_rollouts_is_refused(tmp_path: Path) -> None:
    assert not is_stepwise(tmp_path)
    assert not is_stepwise(tmp_path / "gone")
    with pytest.raises(InputError, match="holds no rollouts"):
        open_dump(tmp_path)
    write(tmp_path / "train.jsonl", [{"messages": [{"role": "user", "content": "q"}]}])
    assert [file.name for file in files_of(tmp_path)] == ["train.jsonl"]
    with pytest.raises(InputError, match="holds no rollouts"):
        open_dump(tmp_path)


def test_the_verb_takes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (1, 2):
        write(tmp_path / f"{step}.jsonl", [*group(step), "{torn"])
    assert main(["trajectories", str(tmp_path)]) == exits.OK
    out, err = capsys.readouterr()
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [["1", "train", "6"], ["2", "train", "6"]]
    assert "2.jsonl:7: " in err
    assert main(["trajectories", str(tmp_path), "--step", "2", "--sample", "0"]) == exits.OK
    assert "1.000" in capsys.readouterr().out
