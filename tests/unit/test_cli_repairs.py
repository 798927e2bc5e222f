"""`validate --fix`: what is repaired in the job file, its data and its requirements, and what is only shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.functions.requirements_names import TRACING_PINS
from agentic_rl_tui.core.jobfile import load
from agentic_rl_tui.core.sdk.repairs import repairs
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = tmp_path / "calc"
    write_workspace(TEMPLATES["calc-agent"], target)
    monkeypatch.chdir(target)
    return target


@pytest.fixture
def spoiled(workspace: Path) -> dict[Path, bytes]:
    """The sound bytes of three files that are spoiled now."""
    job, data, requirements = (
        workspace / name for name in ("rl-job.yaml", "data/train.jsonl", "requirements.txt")
    )  # fmt: skip
    sound = {path: path.read_bytes() for path in (job, data, requirements)}
    job.write_bytes(sound[job].replace(b"n_rollouts:", b"n_rolouts:"))
    data.write_bytes(b"\xef\xbb\xbf" + sound[data].replace(b"\n", b"\r\n"))
    requirements.write_bytes(sound[requirements] + b"dashscope==2.0\n")
    return sound


def _answer(call: list[str], capsys: Captured) -> tuple[int, dict[str, Any]]:
    code = main([*call, "-o", "json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, answer


def test_every_file_is_repaired_byte_for_byte(spoiled: dict[Path, bytes], capsys: Captured) -> None:
    code, answer = _answer(["validate", "--fix"], capsys)
    assert {path: path.read_bytes() for path in spoiled} == spoiled
    assert code == exits.OK
    assert [(repair["kind"], repair["is_made"]) for repair in answer["repairs"]] == [
        ("jobfile", True),
        ("data", True),
        ("requirements", True),
    ]
    assert answer["change"] == answer["repairs"][0]["lines"]
    assert {check["state"] for check in answer["checks"]} == {"ok"}
    assert _answer(["validate", "--fix"], capsys)[1]["repairs"] == []


def test_a_dry_run_shows_it_all_and_writes_nothing(spoiled: dict[Path, bytes], capsys: Captured) -> None:
    before = {path: path.read_bytes() for path in spoiled}
    code, answer = _answer(["validate", "--fix", "--dry-run"], capsys)
    assert {path: path.read_bytes() for path in spoiled} == before
    assert code == exits.REJECTED
    assert not any(repair["is_made"] for repair in answer["repairs"])
    assert main(["validate", "--fix", "--dry-run"]) == exits.REJECTED
    shown = capsys.readouterr().out
    for words in ("-    n_rolouts", "+    n_rollouts", "⟨BOM⟩", "-dashscope==2.0"):
        assert words in shown


def test_the_question_on_a_terminal_is_heeded(
    spoiled: dict[Path, bytes], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(question: str, *, assume_yes: bool) -> bool:
        asked.append(question)
        return assume_yes

    monkeypatch.setattr("agentic_rl_tui.app.cli.confirm.confirmed", refuse)
    before = {path: path.read_bytes() for path in spoiled}
    assert main(["validate", "--fix"]) == exits.REJECTED
    assert asked == ["Change 3 files?"]
    assert {path: path.read_bytes() for path in spoiled} == before
    assert main(["validate", "--fix", "--yes"]) == exits.OK
    assert {path: path.read_bytes() for path in spoiled} == spoiled


def test_nothing_to_repair_says_so(workspace: Path, capsys: Captured) -> None:
    assert main(["validate", "--fix"]) == exits.OK
    assert "nothing can be repaired" in capsys.readouterr().err


def test_requirements_get_what_the_runtime_wants(workspace: Path) -> None:
    path = workspace / "requirements.txt"
    path.write_bytes(b"openai>=2.8\r\nprotobuf==3.1 \r\nopentelemetry-api\r\n# mine")
    found = {repair.kind: repair for repair in repairs(load(workspace / "rl-job.yaml"))}
    found["requirements"].apply()
    text = path.read_bytes().decode()
    lines = text.splitlines()
    assert text.startswith("openai>=2.8\r\nprotobuf>=4.25.8,<7.0\r\n")
    assert "# mine" in lines
    assert {f"{name}=={version}" for name, version in TRACING_PINS.items()} <= set(lines)
    assert not [repair for repair in repairs(load(workspace / "rl-job.yaml")) if repair.kind == "requirements"]


def test_missing_requirements_are_made(workspace: Path) -> None:
    path = workspace / "requirements.txt"
    path.unlink()
    (made,) = [repair for repair in repairs(load(workspace / "rl-job.yaml")) if repair.kind == "requirements"]
    made.apply()
    assert path.read_bytes() == b""
