"""Place 5: runs of functions and rollouts."""

from textual.app import ComposeResult

from agentic_rl_tui.app.screens.base import PlaceScreen
from agentic_rl_tui.styles import themes
from agentic_rl_tui.widgets.bars import Heading
from agentic_rl_tui.widgets.panels import Empty


class TracesScreen(PlaceScreen):
    place = "traces"
    CSS_PATH = themes.STYLES / "traces.tcss"

    def body(self) -> ComposeResult:
        heading = Heading(classes="place-heading")
        heading.title = "Traces"
        yield heading
        empty = Empty(id="traces-empty")
        empty.title = "No traces here"
        empty.body = (
            (
                ("Functions that carry ", "$muted"),
                ("@observe_*", "$ink"),
                (" decorators leave spans when they run.", "$muted"),
            ),
            (("The rollouts of a job are in its ", "$muted"), ("Trajectories", "$ink"), (" tab:", "$muted")),
            (("", ""),),
            (("4", "$accent bold"), ("  to the jobs", "$muted")),
        )
        yield empty
