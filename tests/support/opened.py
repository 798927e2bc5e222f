"""An app that is opened on a workspace, with everything under way waited for after each key."""

from pathlib import Path
from typing import Any


class Opened:
    """Subclasses name the `place` to begin at and the parts of its screen."""

    place = ""

    def __init__(self, scenes: Any, settle: Any, workspace: Path, size: tuple[int, int] = (120, 40)) -> None:
        self.root = workspace
        self.backend = scenes.sample_backend()
        self.app = scenes.app(self.backend, workspace, start_place=self.place)
        self._settle = settle
        self._running = self.app.run_test(size=size)

    async def __aenter__(self) -> Any:
        self.pilot = await self._running.__aenter__()
        await self.wait()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._running.__aexit__(*error)

    async def wait(self) -> None:
        await self._settle(self.pilot)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.wait()
