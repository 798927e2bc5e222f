import asyncio
import os
import signal
import sysconfig
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from agentic_rl_tui.app.__main__ import main
from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.core.functions.discovery import discover
from agentic_rl_tui.core.functions.environments import RequirementsPolicy, default_cache_dir, environment
from agentic_rl_tui.core.functions.harness import TrialOptions, try_function
from agentic_rl_tui.core.models.errors import PackageError
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

INTERPRETER = """\
#!/bin/sh
# Stands for an interpreter: tells who it is, makes environments that hold itself, and plays pip.
here=$(dirname "$0")
case "$*" in
    *" -c "*) echo "${FAKE_VERSION:-fake 3 11 0 /fake}" ;;
    *" -m venv "*)
        for home in "$@"; do :; done
        mkdir -p "$home/bin" && cp "$0" "$home/bin/python" ;;
    *" -m pip "*)
        echo "$*" >> "$PIP_TEST_LOG"
        echo "Collecting things"
        if grep -q wait "$here/../requirements.txt"; then echo "pid $$"; sleep 60; fi
        if grep -q fail "$here/../requirements.txt"; then
            echo "ERROR: No matching distribution found for fail" >&2
            echo "a hint nobody needs"
            exit 1
        fi ;;
esac
"""


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    every = {**files, **metadata}
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in every.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*every, f"{info}/RECORD"]))


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip finds two wheels and nothing else; the one called pydantic leads to that of this interpreter."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "tinylib", "1.0", {"tinylib.py": "ANSWER = 42\n"})
    wheel(wheels, "pydantic", "2.99", {"link.pth": sysconfig.get_path("purelib") + "\n"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "pip.log"
    monkeypatch.setenv("PIP_TEST_LOG", str(path))
    return path


@pytest.fixture
def python(tmp_path: Path, log: Path) -> Path:
    path = tmp_path / "python"
    path.write_text(INTERPRETER)
    path.chmod(0o755)
    return path


def homes() -> set[str]:
    return {path.name for path in default_cache_dir().iterdir() if path.is_dir()}


@pytest.mark.usefixtures("offline")
async def test_a_function_runs_in_the_environment_of_its_requirements(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    (workspace / "functions").mkdir(parents=True)
    (workspace / "requirements.txt").write_text("# what we use\ntinylib == 1.0\ndashscope[rl]>=2\n")
    (workspace / "functions" / "r.py").write_text(
        textwrap.dedent("""\
            import sys
            from dashscope.finetune.reinforcement import AbstractRewardProcessor, Reward, RewardOutput
            class R(AbstractRewardProcessor):
                def process(self, input):
                    import tinylib
                    print(sys.prefix)
                    return RewardOutput(reward=Reward(reward_score=float(tinylib.ANSWER)))
            """)
    )
    told: list[str] = []
    payload = {"agent_output": {"messages": []}, "ground_truth": ""}
    reports = {}
    for policy in RequirementsPolicy:
        options = TrialOptions(requirements_policy=policy, on_requirements=told.append)
        reports[policy] = await try_function(workspace, "functions.r.R", payload, options=options)
    installed = reports[RequirementsPolicy.INSTALL]
    assert (installed.score, installed.error) == (42.0, None)
    prefix = next(line.text for line in installed.lines if line.stream == "stdout")
    assert Path(prefix).parent == default_cache_dir()
    assert any("tinylib" in line for line in told)
    assert reports[RequirementsPolicy.CHECK].error is not None

    rules = {policy: {problem.rule for problem in report.package_problems} for policy, report in reports.items()}
    assert "requirements-dashscope" in rules[RequirementsPolicy.CHECK] & rules[RequirementsPolicy.INSTALL]
    assert not any(rule.startswith("requirements-") for rule in rules[RequirementsPolicy.IGNORE])

    told.clear()
    again = await try_function(
        workspace,
        "functions.r.R",
        payload,
        options=TrialOptions(requirements_policy=RequirementsPolicy.INSTALL, on_requirements=told.append),
        discovery=discover(workspace),
    )
    assert (again.score, told) == (42.0, [])


async def test_one_is_made_for_a_text_however_many_ask(python: Path, log: Path) -> None:
    texts = ["a==1\nb\n", "# note\na==1  # why\r\n\r\ndashscope\nDashScope[rl]==2\nb", "a==1\nb \\\n\n"]
    made = await asyncio.gather(*(environment(text, python=python) for text in texts))
    assert len(set(made)) == 1
    assert len(log.read_text().splitlines()) == 1
    assert (made[0].parents[1] / "requirements.txt").read_text() == "a==1\nb\n"
    assert await environment("a==1\ndashscope-tools\n", python=python) != made[0]


async def test_another_interpreter_has_another_environment(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await environment("a", python=python)
    monkeypatch.setenv("FAKE_VERSION", "fake 3 12 0 /fake")
    assert await environment("a", python=python) != first


async def test_a_failed_installation_says_why_and_leaves_nothing(python: Path, log: Path) -> None:
    told: list[str] = []
    words = r"cannot be installed: No matching distribution found for fail\nCorrect requirements\.txt, .*\.$"
    with pytest.raises(PackageError, match=words):
        await environment("fail", python=python, on_line=told.append)
    assert "a hint nobody needs" in told
    assert homes() == set()
    with pytest.raises(PackageError):
        await environment("fail", python=python)
    assert len(log.read_text().splitlines()) == 2


async def test_an_interpreter_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="gone/python cannot be run"):
        await environment("a", python=tmp_path / "gone" / "python")


async def test_a_half_made_one_is_made_anew(python: Path, log: Path) -> None:
    made = await environment("a", python=python)
    (made.parents[1] / ".ready").unlink()
    (made.parents[1] / "stray").touch()
    assert await environment("a", python=python) == made
    assert not (made.parents[1] / "stray").exists()
    made.unlink()
    assert await environment("a", python=python) == made
    assert made.exists()
    assert len(log.read_text().splitlines()) == 3


async def test_a_canceled_installation_is_killed(python: Path) -> None:
    pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def hear(line: str) -> None:
        if line.startswith("pid "):
            pid.set_result(int(line.removeprefix("pid ")))

    making = asyncio.create_task(environment("wait", python=python, on_line=hear))
    group = await pid
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    with pytest.raises(ProcessLookupError):
        os.kill(group, signal.SIGCONT)
    assert homes() == set()


def test_the_lines_and_the_end_of_an_installation_are_told(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_workspace(TEMPLATES["calc-agent"], tmp_path / "calc")
    monkeypatch.chdir(tmp_path / "calc")
    Path("requirements.txt").write_text("fail\n")
    Path(".venv/bin").mkdir(parents=True)
    Path(".venv/bin/python").symlink_to(python)
    words = ["functions", "test", "functions.reward.answer.AnswerReward", "--row", "0", "--answer", "1"]
    assert main([*words, "--requirements", "install"]) == exits.REJECTED
    told = capsys.readouterr().err
    assert "Collecting things\n" in told
    assert "cannot be installed: No matching distribution found for fail" in told


async def test_needs_without_hashes_are_installed_apart(python: Path, log: Path) -> None:
    await environment("a==1 --hash=sha256:00", python=python)
    first, second = log.read_text().splitlines()
    assert "pydantic" not in first
    assert "pydantic" in second
    assert "-r" not in second.split()


async def test_the_five_used_last_and_those_of_today_are_kept(python: Path) -> None:
    made = [(await environment(f"p{number}", python=python)).parents[1] for number in range(8)]
    now = time.time()
    for age, home in enumerate(made):
        os.utime(home / ".ready", (now, now - 3600.0 if age == 7 else now - 86_400.0 * (2 + age)))
    await environment("p0", python=python)
    assert homes() == {home.name for home in (*made[:4], made[7])}
