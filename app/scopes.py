"""What an action is, where actions work, and which of these places are heard at the same time."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentic_rl_tui.core.i18n import N_, _


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do.

    id is ``scope.verb`` and stays the same for ever: users rebind by it. keys: comma separated, first one shown.
    run is the Textual action, by default the verb. footer orders the few that the footer shows; 0 keeps it out.
    A dangerous action changes or destroys something outside the program and asks first.
    """

    id: str
    keys: str
    label: str
    help: str
    run: str = ""
    footer: int = 0
    dangerous: bool = False
    palette: bool = True
    priority: bool = False

    @property
    def scope(self) -> str:
        return self.id.partition(".")[0]

    @property
    def meaning(self) -> str:
        """The help in the language in force, as the screen shows it: the marks of code are for the documentation."""
        return _(self.help).replace("`", "")

    @property
    def command(self) -> str:
        return self.run or self.id.partition(".")[2]


SCOPES: Mapping[str, str] = {
    "app": N_("Everywhere"),
    "view": N_("This place"),
    "table": N_("Lists"),
    "log": N_("Logs"),
    "jobs": N_("Jobs"),
    "job": N_("One job"),
    "metrics": N_("Metrics"),
    "samples": N_("Samples of a step"),
    "group": N_("Rollouts of a sample"),
    "talk": N_("One rollout"),
    "dump": N_("Rollouts of a file"),
    "jobfile": N_("Job file"),
    "text": N_("Text that is edited"),
    "workspace": N_("Workspace"),
    "functions": N_("Functions"),
    "traces": N_("Traces"),
    "trace": N_("One trace"),
    "settings": N_("Settings"),
    "problems": N_("Problems"),
}
"""Where an action works, with its title in the help."""

TOGETHER: tuple[frozenset[str], ...] = (
    frozenset({"app", "view", "table", "jobs"}),
    frozenset({"app", "view", "log", "job"}),
    frozenset({"app", "view", "table", "job", "samples"}),
    frozenset({"app", "view", "metrics", "job"}),
    frozenset({"app", "view", "group", "job"}),
    frozenset({"app", "view", "log", "job", "talk"}),
    frozenset({"app", "view", "table", "dump", "samples"}),
    frozenset({"app", "view", "group", "dump"}),
    frozenset({"app", "view", "log", "dump", "talk"}),
    frozenset({"app", "view", "table", "workspace"}),
    frozenset({"app", "view", "table", "functions"}),
    frozenset({"app", "view", "table", "jobfile"}),
    frozenset({"app", "view", "text", "jobfile"}),
    frozenset({"app", "view", "text", "workspace"}),
    frozenset({"app", "view", "table", "traces"}),
    frozenset({"app", "view", "table", "trace"}),
    frozenset({"app", "view", "table", "settings"}),
    frozenset({"table", "problems"}),
)
"""Scopes that can be heard at the same time: a key may mean one thing in each of these sets."""
