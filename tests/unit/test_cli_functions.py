import json
import zipfile
from pathlib import Path

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], target)
    monkeypatch.chdir(target)
    return target


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_every_function_of_the_template_is_listed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "list", "-o", "json"]) == exits.OK
    listed = _json(capsys)["processors"]
    assert isinstance(listed, list)
    assert {(item["kind"], item["classpath"]) for item in listed} == {
        ("rollout", "functions.rollout.agent.CalcAgent"),
        ("reward", "functions.reward.answer.AnswerReward"),
        ("reward", "functions.reward.style.StyleReward"),
        ("group_reward", "functions.reward.group.AgreementReward"),
    }


def test_a_file_that_cannot_be_read_as_python_is_told_with_its_place(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "functions" / "broken.py").write_text(
        "from dashscope.finetune.reinforcement import AbstractRewardProcessor\n"
        "class Broken(AbstractRewardProcessor:\n    pass\n",
        encoding="utf-8",
    )
    assert main(["functions", "list"]) == exits.REJECTED
    assert "functions/broken.py:2:" in capsys.readouterr().err


def test_the_package_is_shown_and_written(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = workspace.parent / "package.zip"
    assert (
        main(["functions", "package", "functions.reward.answer.AnswerReward", "--write", str(archive), "-o", "json"])
        == 0
    )
    shown = _json(capsys)
    files = shown["files"]
    assert isinstance(files, list)
    assert {item["path"] for item in files} == set(zipfile.ZipFile(archive).namelist())
    assert "start.sh" in {item["path"] for item in files}
    assert not (workspace / "start.sh").exists()


def test_a_function_is_tried_from_its_package(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "functions",
        "test",
        "functions/reward/style.py:StyleReward",
        "-i",
        "resources/reward_input.json",
        "-o",
        "json",
    ]
    assert main(call) == exits.OK
    report = _json(capsys)
    assert (report["status"], report["score"]) == ("ok", 1.0)
    subs = report["sub_rewards"]
    assert isinstance(subs, list)
    assert {sub["name"]: sub["weight"] for sub in subs} == {"brief": 0.3, "marked": 0.7}


def test_a_wrong_answer_is_zero_by_judgement(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = "It is 43.\n### ANSWER: 43 ###"
    call = ["functions", "test", "functions.reward.answer.AnswerReward", "--row", "0", "--answer", answer, "-o", "json"]
    assert main(call) == exits.OK
    solution = json.loads((workspace / "data" / "train.jsonl").read_text().splitlines()[0])["rollout_extra"]["solution"]
    expected = ("scored", 1.0) if solution == "43" else ("0 by judgement", 0.0)
    report = _json(capsys)
    assert (report["verdict"], report["score"]) == expected


def test_a_raising_function_shows_the_users_line(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = workspace / "functions" / "reward" / "answer.py"
    source.write_text(source.read_text().replace("solution = input.ground_truth\n", "solution = 1 / 0\n"))
    call = ["functions", "test", "functions.reward.answer.AnswerReward", "-i", "resources/reward_input.json"]
    assert main(call) == exits.REJECTED
    told = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in told
    assert "solution = 1 / 0" in told


def test_a_mistyped_class_is_answered_with_the_nearest(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "test", "functions.reward.answer.AnswerRewrd", "--row", "0"]) == exits.USAGE
    assert "AnswerReward" in capsys.readouterr().err


def test_a_model_is_given_whole_or_not_at_all(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["functions", "test", "functions.rollout.agent.CalcAgent", "--row", "0", "--model", "qwen-plus"]
    assert main(call) == exits.USAGE
    assert "--model-url" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (["register_functions"], "--rollout-classpaths"),
        (["upload_data"], "--training-files"),
        (["test-functions", "rw-ins-1", "-t", "nothing", "-i", "{}"], "rollout, reward, group_reward"),
    ],
)
def test_what_is_missing_on_the_command_line_is_named(
    call: list[str], advice: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call) == exits.USAGE
    assert advice in capsys.readouterr().err
