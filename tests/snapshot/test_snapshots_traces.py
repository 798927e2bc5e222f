"""How the traces look."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")]
HUGE = [pytest.param((200, 60), id="200x60")]


@pytest.fixture
def look(snap_compare: Callable[..., bool], settle: Any) -> Callable[..., bool]:
    def compare(app: Any, size: tuple[int, int], *keys: str) -> bool:
        async def prepare(pilot: Pilot[Any]) -> None:
            await settle(pilot)
            for key in ("5", *keys):
                await pilot.press(key)
                await settle(pilot)

        return snap_compare(app, terminal_size=size, run_before=prepare)

    return compare


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_runs(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size)


@pytest.mark.parametrize("size", [*SIZES, *HUGE])
def test_one_run(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "enter", "j", "j")


@pytest.mark.parametrize("size", SIZES)
def test_a_run_that_timed_out(look: Any, scenes: Any, size: tuple[int, int]) -> None:
    assert look(scenes.app(scenes.sample_backend()), size, "j", "j", "enter")
