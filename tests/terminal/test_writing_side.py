"""From an empty folder to a job by keys alone: template, edit, fix, try, register, submit."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.terminal

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def test_everything_is_written_proved_and_sent_by_keys(terminal: Callable, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    program = terminal("--workspace", str(folder))
    program.press("1")
    program.wait_for("This folder is empty")
    program.press("N")
    program.wait_for("A workspace to start from")
    program.press("enter")
    program.wait_for("write it to")
    program.press("enter")
    program.wait_for(r"rl-job\.yaml")
    assert (folder / "functions" / "reward" / "answer.py").is_file()

    # A job of a few seconds, with a mistake in it.
    job_file = folder / "rl-job.yaml"
    text = job_file.read_text()
    text = text.replace("n_epochs: 3", "n_epochs: 1").replace("batch_size: 32", "bach_size: 64")
    job_file.write_text(text.replace("n_rollouts: 8", "n_rollouts: 4"))
    program.press("3")
    program.wait_for(r"bach_size|✗ \d+ error")
    program.wait_for(r"✗ \d+ error")
    program.press("f8")
    program.wait_for("Apply")
    program.press("enter")
    program.wait_for("not saved")
    program.press("ctrl+s")
    program.wait_for("ready to submit")
    assert "    batch_size: 64" in job_file.read_text()

    program.wait_for("leave the text")
    program.press("esc")
    # An escape with a key right behind it is one key with alt.
    program.wait_for(lambda text: "leave the text" not in text)
    program.press("2")
    program.wait_for("AnswerReward")
    program.wait_for("✓ fits")
    program.press("t")
    program.wait_for(r"answered")
    program.wait_for(r"score ")
    program.press("R")
    program.wait_for(r"Register AnswerReward\?")
    program.press("enter")
    program.wait_for("✓ loaded|Registered as")

    program.press("3")
    program.wait_for("ready to submit")
    program.press("f5")
    program.wait_for(r"Submit rl-job\.yaml\?")
    program.press("f5")
    program.wait_for(r"ft-\d{12}-[0-9a-f]{4}")
    program.wait_for(r"(?i)succeeded")
    program.press("ctrl+q")
    assert program.wait_for_exit() == 0
    jobs = json.loads(cli("list", "-o", "json").stdout)["jobs"]
    assert [job["status"] for job in jobs] == ["SUCCEEDED"]
