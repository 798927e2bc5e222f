"""The seam to tracing: calls become traces, their spans leave by the frame socket. Costs nothing until it is used."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from agentic_rl_tui.core.functions.frames import decode, frame
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.tracing import state


def attach(outlet: Outlet) -> None:
    """What is traced leaves within a tick, so that a killed worker leaves what it had, and at once before user code
    that may end the process. Frames are made when they leave: the call that is traced does not wait for that.
    """

    def take(call: int, make: state.Make, is_urgent: bool) -> None:
        def leave() -> bytes:
            record = make()
            return b"" if record is None else frame("trace", call=call, record=record)

        outlet.hold(leave)
        if is_urgent:
            outlet.flush()

    state.use.sink = take
    state.use.children = 0
    _flush_before_exit(outlet)


def _flush_before_exit(outlet: Outlet) -> None:
    """``os._exit`` of user code ends the process without a word; what is held back leaves before."""
    exit_now = os._exit

    def leave(status: int) -> NoReturn:
        outlet.flush_before_exit()
        exit_now(status)

    os._exit = leave


_forbidden, _wanted = False, False


def prepare() -> None:
    """Load tracing where it is wanted or was used, before a call would have to wait for it."""
    global _forbidden, _wanted
    wish = state.is_wanted()
    _forbidden, _wanted = wish is False, wish is True
    if state.is_on():
        from agentic_rl_tui.core.tracing import calls

        try:
            calls.prepare()
        except Exception as error:
            _tell(error)


def begin(call_id: int, input_data: Any, upstream: bytes = b"") -> Any:
    """The trace of a call, None without one. The context must be the call's own."""
    if _forbidden or not (_wanted or state.use.is_used):
        state.current_call.set(call_id)
        return None
    from agentic_rl_tui.core.tracing import calls

    try:
        return calls.begin(call_id, input_data, decode(upstream) if upstream else None)
    except Exception as error:
        _tell(error)
        return None


def end(trace: Any, status: str, error: dict[str, str] | None) -> None:
    if trace is not None:
        try:
            trace.end(status, None if error is None else (error["type"], error["message"]))
        except Exception as fault:
            _tell(fault)


def _tell(error: Exception) -> None:
    """Tracing that fails is told of and never harms the call."""
    state.use.note("missing", reason=f"tracing failed: {type(error).__name__}: {error}")
