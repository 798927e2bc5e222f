"""From command-line options to settings and a client."""

from __future__ import annotations

import argparse
import os
import sys

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from logging import Handler, Logger
    from typing import TypeVar

    from agentic_rl_tui.core.sdk import AgenticRL
    from agentic_rl_tui.core.settings import Settings

    Result = TypeVar("Result")


def settings_of(options: argparse.Namespace) -> Settings:
    """Raises ConfigError."""
    from pathlib import Path

    from agentic_rl_tui.app.language import VARIABLE
    from agentic_rl_tui.core.i18n import SETTING, set_language
    from agentic_rl_tui.core.settings import load

    workspace = Path(options.workspace) if options.workspace else None
    settings = load(workspace=workspace, profile=options.profile, base_url=options.base_url)
    if settings.get(SETTING) and not os.environ.get(VARIABLE):
        set_language(str(settings.get(SETTING)))
    return settings


def with_client(options: argparse.Namespace, work: Callable[[AgenticRL], Awaitable[Result]]) -> Result:
    """Run `work` with an open client on a fresh event loop."""
    import asyncio

    _without_httpx_command_line()
    from agentic_rl_tui.core.sdk import AgenticRL

    async def session() -> Result:
        async with AgenticRL(options.api_key, settings=settings_of(options)) as client:
            return await work(client)

    logger, handler = _log_on_stderr()
    level = logger.level
    try:
        return asyncio.run(session())
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _without_httpx_command_line() -> None:
    """httpx imports its own command line wherever click is installed, which is a quarter of our start."""
    if "httpx" not in sys.modules:
        sys.modules["httpx._main"] = None  # type: ignore[assignment] # the way to say that there is no such module


def _log_on_stderr() -> tuple[Logger, Handler]:
    """What the client logs, from the level that LOG_LEVEL sets; its logger masks secrets."""
    import logging

    from agentic_rl_tui.core.client.log import logger

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    return logger, handler
