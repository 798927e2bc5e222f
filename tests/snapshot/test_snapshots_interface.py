"""How the main screens look to a Chinese reader: labels whole, columns in step with letters of two cells."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.i18n import set_language
from agentic_rl_tui.core.templates import TEMPLATES, write_workspace

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AGENTIC_RL_LANGUAGE", "zh_CN")
    set_language("zh_CN")
    yield
    set_language("en")


@pytest.mark.parametrize("size", SIZES)
def test_the_jobs(look: Callable[..., bool], scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size)


@pytest.mark.parametrize("size", SIZES)
def test_one_job(look: Callable[..., bool], scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter")


@pytest.mark.parametrize("size", SIZES)
def test_the_job_file(look: Callable[..., bool], scenes: Any, size: tuple[int, int], tmp_path: Path) -> None:
    root = tmp_path / "calc-agent"
    write_workspace(TEMPLATES["calc-agent"], root)
    app = scenes.app(scenes.FakeBackend(), root, start_place="jobfile", workspace_shown="~/calc-agent")
    assert look(app, size)
