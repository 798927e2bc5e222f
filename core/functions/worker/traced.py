"""The seam to tracing: calls become traces, their spans leave by the frame socket. Costs nothing until it is used."""

from __future__ import annotations

from typing import Any

from agentic_rl_tui.core.functions.frames import frame
from agentic_rl_tui.core.functions.worker.outlet import Outlet
from agentic_rl_tui.core.tracing import state


def attach(outlet: Outlet) -> None:
    """Every span is sent as it begins and as it ends, so that a killed worker leaves what it had."""
    state.use.sink = lambda call, record: outlet.send(frame("trace", call=call, record=record))


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


def begin(call_id: int, input_data: Any) -> Any:
    """The trace of a call, None without one. The context must be the call's own."""
    if _forbidden or not (_wanted or state.use.is_used):
        state.current_call.set(call_id)
        return None
    from agentic_rl_tui.core.tracing import calls

    try:
        return calls.begin(call_id, input_data)
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
