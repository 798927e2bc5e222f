"""The short way of verbs that ask one question: no event loop, no client library, the same answer."""

import argparse
import os

from agentic_rl_tui.core.client import quick

VARIABLE = "AGENTIC_RL_QUICK"
"""``0`` sends every verb the whole way."""


def address_of(options: argparse.Namespace) -> quick.Address | None:
    """Where a plain request may go; None where only the whole client knows what to do. Raises ConfigError."""
    if os.environ.get(VARIABLE, "") == "0":
        return None
    return quick.address(
        options.workspace or ".", profile=options.profile, base_url=options.base_url, api_key=options.api_key
    )
