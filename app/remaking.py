"""Making places anew while the program runs, so that nothing of what they showed is left."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.screen import Screen

_ASIDE = "aside"


async def remake(app: App[Any], names: Collection[str]) -> None:
    """Begin anew the places that have been opened. The place on the screen must not be among them."""
    for name in names:
        if name in app._screen_stacks:
            await app.remove_mode(name)
            app.add_mode(name, type(app).MODES[name])


@asynccontextmanager
async def remade(app: App[Any], names: Collection[str]) -> AsyncIterator[None]:
    """Remake places, also the one on the screen: an empty screen stands there until the block has ended."""
    here = app.current_mode
    is_aside = here in names
    if is_aside:
        app.add_mode(_ASIDE, Screen)
        await app.switch_mode(_ASIDE)
    await remake(app, names)
    yield
    if is_aside:
        await app.switch_mode(here)
        await app.remove_mode(_ASIDE)
