"""The trace of a run that nobody kept: its spans come from the report at hand."""

from collections.abc import Sequence

from agentic_rl_tui.app.screens.traces_run import TraceScreen
from agentic_rl_tui.core.tracing.model import Run, Span


class TriedTrace(TraceScreen):
    place = "functions"

    def __init__(self, run: Run, spans: Sequence[Span]) -> None:
        super().__init__(run.key)
        self._given = (run, tuple(spans))

    def load(self) -> None:  # type: ignore[override]
        self.post_message(self.Came(*self._given))
