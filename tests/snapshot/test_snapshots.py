"""How the screens look. A changed picture is reviewed like code; `--snapshot-update` accepts it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.models.errors import Unreachable

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
SMALL = [pytest.param((80, 24), id="80x24")]
LARGE = [pytest.param((120, 40), id="120x40")]
HUGE = [pytest.param((200, 60), id="200x60")]

Compare = Callable[..., bool]


@pytest.mark.parametrize("size", SIZES)
def test_jobs_empty(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.FakeBackend()), size)


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_jobs_running(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size)


@pytest.mark.parametrize("size", SIZES)
def test_jobs_failed(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "j", "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_jobs_unreachable(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    backend = scenes.FakeBackend()
    backend.broken = Unreachable("nothing answers at the platform's socket")
    assert look(scenes.app(backend), size)


@pytest.mark.parametrize("size", SMALL)
def test_jobs_filtered_and_marked(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    keys = ("slash", *"calc", "enter", "space", "j", "space", "o", "O")
    assert look(scenes.app(scenes.sample_backend()), size, *keys)


@pytest.mark.parametrize("size", SMALL)
def test_jobs_light(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend(), values={"tui.theme": "light"}), size)


@pytest.mark.parametrize("size", SMALL)
def test_jobs_in_chinese(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    names = ("数学推理-长思维链-第一批-b7d2", "工具调用🛠️路由", "ｆｕｌｌ ｗｉｄｔｈ", "é́combining", "한국어 작업")
    jobs = [scenes.job(number, name, "RUNNING", 60 * number) for number, name in enumerate(names)]
    jobs.append(scenes.job(9, "失败的任务", "FAILED", 99, message="奖励函数 answer 抛出异常：键 solution 不存在"))
    assert look(scenes.app(scenes.FakeBackend(jobs)), size)


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_job_overview(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter")


@pytest.mark.parametrize("size", SIZES)
def test_job_failed(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "j", "j", "j", "enter")


@pytest.mark.parametrize("size", SIZES)
def test_job_log(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "l")


@pytest.mark.parametrize("size", SMALL)
def test_job_log_wrapped_and_searched(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "l", "w", "number_sign", "g", "slash", *"mean", "enter")


@pytest.mark.parametrize("size", LARGE)
def test_job_metrics(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter", "]", "]")


@pytest.mark.parametrize("size", SIZES)
def test_job_trajectory(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter", "[", "[", "enter", "j", "enter")


@pytest.mark.parametrize("size", SIZES)
def test_workspace(look: Any, scenes: Any, workspace: Path, size: tuple[int, int]) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="workspace", workspace_shown="~/calc")
    assert look(app, size, "j", "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_functions(look: Any, scenes: Any, workspace: Path, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.FakeBackend(), workspace, start_place="functions", workspace_shown="~/calc"), size)


@pytest.mark.parametrize("size", SIZES)
def test_job_file(look: Any, scenes: Any, workspace: Path, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile", workspace_shown="~/calc"), size)


@pytest.mark.parametrize("size", SMALL)
def test_submit_blocked(look: Any, scenes: Any, workspace: Path, size: tuple[int, int]) -> None:
    app = scenes.app(scenes.FakeBackend(), workspace, start_place="jobfile", workspace_shown="~/calc")
    assert look(app, size, "f5")


@pytest.mark.parametrize("size", SIZES)
def test_help(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "question_mark")


@pytest.mark.parametrize("size", SMALL)
def test_palette(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "ctrl+p", *"co")


@pytest.mark.parametrize("size", SIZES)
def test_confirm(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "x")


@pytest.mark.parametrize("size", SMALL)
def test_traces_empty(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.FakeBackend(), start_place="traces"), size)
