"""From command-line options to settings and a client."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from agentic_rl_tui.core.sdk import AgenticRL
from agentic_rl_tui.core.settings import Settings, load

Result = TypeVar("Result")


def settings_of(options: argparse.Namespace) -> Settings:
    """Raises ConfigError."""
    workspace = Path(options.workspace) if options.workspace else None
    return load(workspace=workspace, profile=options.profile, base_url=options.base_url)


def with_client(options: argparse.Namespace, work: Callable[[AgenticRL], Awaitable[Result]]) -> Result:
    """Run `work` with an open client on a fresh event loop."""

    async def session() -> Result:
        async with AgenticRL(options.api_key, settings=settings_of(options)) as client:
            return await work(client)

    with _log_on_stderr():
        return asyncio.run(session())


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """What the client logs, from the level that LOG_LEVEL sets; its logger masks secrets."""
    from agentic_rl_tui.core.client.log import logger

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
