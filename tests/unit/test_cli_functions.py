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


@pytest.mark.parametrize(
    ("arguments", "key", "answers"),
    [
        ([], "your-api-key-here", "practice"),
        ([], "sk-0123456789abcdef", None),
        (
            ["--model", "mine", "--model-url", "http://127.0.0.1:1/v1", "--model-key-env", "MINE"],
            "sk-012345678",
            "mine",
        ),
        (["--profile", "dashscope"], "your-api-key-here", None),
    ],
)
def test_the_input_of_a_rollout_finds_the_model_that_answers_it(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    key: str,
    answers: str | None,
) -> None:
    from agentic_rl_tui.core.functions import harness
    from agentic_rl_tui.core.models.errors import InputError
    from agentic_rl_tui.core.sdk import practice

    sent: list[dict[str, object]] = []

    async def lent(_transport: object, row: object, **_numbers: int) -> list[dict[str, str]]:
        return [{"model_name": "practice", "base_url": "http://127.0.0.1:1/v1", "api_key": "key-1"}]

    async def tried(_workspace: Path, _classpath: object, given: dict[str, object], **_options: object) -> None:
        sent.append(given)
        raise InputError("seen")

    monkeypatch.setenv("MINE", "sk-9876543210")
    monkeypatch.setattr(practice, "practice_models", lent)
    monkeypatch.setattr(harness, "try_function", tried)
    path = workspace / "resources" / "rollout_input.json"
    path.write_text(path.read_text().replace("your-api-key-here", key))
    command = ["functions", "test", "functions.rollout.agent.CalcAgent", "--input", "resources/rollout_input.json"]
    assert main([*command, *arguments]) == exits.USAGE
    assert "seen" in capsys.readouterr().err
    resource = sent[0]["model_resource"]
    assert isinstance(resource, dict)
    assert resource["model_name"] == (answers or "qwen3.5-9b")
    assert (resource["api_key"] == key) == (answers is None)
