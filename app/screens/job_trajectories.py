"""The rollouts of a job, step by step."""

from textual.app import ComposeResult
from textual.containers import Vertical

from agentic_rl_tui.widgets.panels import Empty


class JobTrajectories(Vertical):
    def __init__(self, job_id: str) -> None:
        super().__init__(id="trajectories")
        self.job_id = job_id

    def compose(self) -> ComposeResult:
        empty = Empty()
        empty.title = "No trajectories"
        yield empty
