"""Pictures of the app: the comparison with the kept picture after some keys."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot


@pytest.fixture
def look(snap_compare: Callable[..., bool], settle: Any) -> Callable[..., bool]:
    """Compare what an app shows after some keys with the kept picture."""

    def compare(app: Any, size: tuple[int, int], *keys: str) -> bool:
        async def prepare(pilot: Pilot[Any]) -> None:
            await settle(pilot)
            for key in keys:
                await pilot.press(key)
                await settle(pilot)

        return snap_compare(app, terminal_size=size, run_before=prepare)

    return compare
