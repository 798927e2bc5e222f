"""From command-line options to settings and a client."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
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

    return asyncio.run(session())
