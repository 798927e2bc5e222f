"""Carries the current span into threads that user code starts: pools, executors and plain threads."""

from __future__ import annotations

import concurrent.futures.thread
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

_done = False


def carry_context() -> None:
    """Once a process. Only OpenTelemetry's context and the number of the call go along, nothing else changes."""
    global _done
    if _done:
        return
    _done = True
    submit: Any = ThreadPoolExecutor.submit
    start = threading.Thread.start
    pool_work = concurrent.futures.thread._worker

    @wraps(submit)
    def submit_with_context(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _carried(fn), *args, **kwargs)

    @wraps(start)
    def start_with_context(self: threading.Thread) -> None:
        # The threads of a pool outlive the call that made them; what is submitted to them brings its own context.
        if getattr(self, "_target", None) is not pool_work:
            self.run = _carried(self.run)  # type: ignore[method-assign]
        start(self)

    ThreadPoolExecutor.submit = submit_with_context  # type: ignore[method-assign]
    threading.Thread.start = start_with_context  # type: ignore[method-assign]


def _carried(fn: Any) -> Any:
    from opentelemetry import context

    from agentic_rl_tui.core.tracing.state import current_call

    carried, call = context.get_current(), current_call.get()
    if not carried:  # neither a span nor ids
        return fn

    def run(*args: Any, **kwargs: Any) -> Any:
        token, number = context.attach(carried), current_call.set(call)
        try:
            return fn(*args, **kwargs)
        finally:
            current_call.reset(number)
            context.detach(token)

    return run
