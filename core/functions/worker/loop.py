"""The event loop of a worker whose function has async parts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn

from agentic_rl_tui.core.functions.worker.async_runner import OneProcessSelector
from agentic_rl_tui.core.functions.worker.ends import leave


def run_on_loop(beginning: Coroutine[Any, Any, None]) -> NoReturn:
    """Run a loop for the rest of the process's life. ``sys.exit`` in a task of user code ends the process."""
    loop = asyncio.SelectorEventLoop(OneProcessSelector())
    asyncio.set_event_loop(loop)
    first = loop.create_task(beginning)
    try:
        loop.run_forever()
    except SystemExit as error:
        leave(error.code if isinstance(error.code, int) else 1)
    del first
    leave(0)
