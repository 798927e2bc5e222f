"""The SDK and the local platform of agentic-rl-tui.

Names are resolved on first use: importing this package must stay free of pydantic and httpx, because
``agentic-rl-tui --help`` passes through it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl_tui.core.sdk import AgenticRL

__all__ = ["AgenticRL"]


def __getattr__(name: str) -> Any:
    if name == "AgenticRL":
        from agentic_rl_tui.core.sdk import AgenticRL

        return AgenticRL
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
