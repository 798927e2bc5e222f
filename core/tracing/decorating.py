"""What the tracing decorators have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from agentic_rl_tui.core.tracing.state import is_wanted


def decorated(decorate: Callable[[Any], Any], fn: Any) -> Any:
    """A decorator used with or without brackets (fn is None); the bare function where no traces are wanted."""
    if is_wanted() is False:
        decorate = _untouched
    return decorate if fn is None else decorate(fn)


def _untouched(fn: Any) -> Any:
    return fn


def sync_or_async(fn: Any, call: Callable[..., Any]) -> Any:
    """`call` in the place of `fn`: a coroutine function where that is one, because frameworks look."""
    if not inspect.iscoroutinefunction(fn):
        return call

    @wraps(fn)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    return call_async
