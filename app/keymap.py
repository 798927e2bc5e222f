"""The one table of actions and keys. Bindings, footer, help, palette and the documentation are generated from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.binding import BindingType


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
    def command(self) -> str:
        return self.run or self.id.partition(".")[2]


SCOPES: Mapping[str, str] = {
    "app": "Everywhere",
    "view": "This place",
    "table": "Lists",
    "log": "Logs",
    "jobs": "Jobs",
    "job": "One job",
    "jobfile": "Job file",
    "workspace": "Workspace",
    "functions": "Functions",
    "traces": "Traces",
    "trace": "One trace",
    "problems": "Problems",
}
"""Where an action works, with its title in the help."""

TOGETHER: tuple[frozenset[str], ...] = (
    frozenset({"app", "view", "table", "jobs"}),
    frozenset({"app", "view", "log", "job"}),
    frozenset({"app", "view", "table", "job"}),
    frozenset({"app", "view", "table", "workspace"}),
    frozenset({"app", "view", "table", "functions"}),
    frozenset({"app", "view", "table", "jobfile"}),
    frozenset({"app", "view", "table", "traces"}),
    frozenset({"app", "view", "table", "trace"}),
    frozenset({"table", "problems"}),
)
"""Scopes that can be heard at the same time: a key may mean one thing in each of these sets."""

ACTIONS: tuple[Action, ...] = (
    Action("app.workspace", "1,alt+1", "Workspace", "go to the files of this workspace", "go('workspace')"),
    Action("app.functions", "2,alt+2", "Functions", "go to the rollout and reward functions", "go('functions')"),
    Action("app.jobfile", "3,alt+3", "Job file", "go to the job file", "go('jobfile')"),
    Action("app.jobs", "4,alt+4", "Jobs", "go to the jobs", "go('jobs')"),
    Action("app.traces", "5,alt+5", "Traces", "go to the traces", "go('traces')"),
    Action("app.last_place", "-", "Last place", "go back to the place before this one"),
    Action("app.help", "?,f1", "help", "show the keys that work here", footer=90, palette=False),
    Action("app.palette", "ctrl+p,:", "commands", "find any command by name", palette=False),
    Action("app.problems", "!", "problems", "show every error kept in this session"),
    Action("app.theme", "f9", "theme", "switch between the dark and the light theme"),
    Action("app.redraw", "ctrl+l", "redraw", "draw the whole screen again"),
    Action("app.leave", "ctrl+q", "leave", "leave; jobs go on", priority=True),
    Action("view.back", "escape", "back", "undo one layer: input, filter, marks, screen", footer=99, palette=False),
    Action("view.quit", "q", "leave", "leave this screen, or the program at its root; jobs go on", palette=False),
    Action("view.refresh", "ctrl+r", "refresh", "ask the platform again now"),
    Action("table.open", "enter", "open", "open the row under the cursor", footer=1, palette=False),
    Action("table.down", "down,j", "down", "one row down", "move(1)", palette=False),
    Action("table.up", "up,k", "up", "one row up", "move(-1)", palette=False),
    Action("table.first", "home,g", "first", "to the first row", palette=False),
    Action("table.last", "end,G", "last", "to the last row", palette=False),
    Action("table.page_down", "pagedown,ctrl+f", "page down", "one page down", "page(1)", palette=False),
    Action("table.page_up", "pageup,ctrl+b", "page up", "one page up", "page(-1)", palette=False),
    Action("table.half_down", "ctrl+d", "half down", "half a page down", "page(0.5)", palette=False),
    Action("table.half_up", "ctrl+u", "half up", "half a page up", "page(-0.5)", palette=False),
    Action("table.mark", "space", "mark", "mark or unmark the row; marked rows win over the cursor"),
    Action("table.mark_range", "v", "mark to here", "mark every row from the last mark to the cursor"),
    Action("table.order", "o", "sort", "sort by the next column"),
    Action("table.reverse", "O", "reverse", "reverse the order"),
    Action("jobs.filter", "/", "filter", "show only jobs that match, e.g. `status:failed qwen`", footer=5),
    Action("jobs.logs", "l", "logs", "open the log of the job", footer=2),
    Action("jobs.cancel", "x", "cancel", "cancel the chosen jobs", footer=3, dangerous=True),
    Action("jobs.delete", "D", "delete", "delete the chosen jobs from the platform", dangerous=True),
    Action("job.previous_tab", "[", "previous tab", "to the tab before", "next_tab(-1)", palette=False),
    Action("job.next_tab", "]", "next tab", "to the next tab", footer=2, palette=False),
    Action("job.logs", "l", "logs", "to the log", palette=False),
    Action("job.cancel", "x", "cancel", "cancel this job", footer=3, dangerous=True),
    Action("job.delete", "D", "delete", "delete this job from the platform", dangerous=True),
    Action("job.save", "s", "save", "save the log, or the numbers of the metrics tab, as a file"),
    Action("job.copy", "y,c", "copy id", "copy the id of this job"),
    Action("log.down", "down,j", "down", "one line down", "move(1)", palette=False),
    Action("log.up", "up,k", "up", "one line up", "move(-1)", palette=False),
    Action("log.right", "right", "right", "see more of long lines", "aside(1)", palette=False),
    Action("log.left", "left", "left", "back to the start of long lines", "aside(-1)", palette=False),
    Action("log.first", "home,g", "first", "to the first line", palette=False),
    Action("log.last", "end,G", "last", "to the last line, and follow", palette=False),
    Action("log.page_down", "pagedown,ctrl+f,space", "page down", "one page down", "page(1)", palette=False),
    Action("log.page_up", "pageup,ctrl+b", "page up", "one page up", "page(-1)", palette=False),
    Action("log.half_down", "ctrl+d", "half down", "half a page down", "page(0.5)", palette=False),
    Action("log.half_up", "ctrl+u", "half up", "half a page up", "page(-0.5)", palette=False),
    Action("log.follow", "f", "follow", "follow new lines; scrolling up stops it", footer=4),
    Action("log.search", "/", "search", "search the log; capitals make case count", "ask('search')", footer=5),
    Action("log.next", "n", "next match", "to the next match", "again(1)"),
    Action("log.previous", "N", "previous match", "to the match before", "again(-1)"),
    Action("log.next_error", "e", "next error", "to the next line that tells of an error", "trouble(1)"),
    Action("log.previous_error", "E", "previous error", "to the error line before", "trouble(-1)"),
    Action("log.wrap", "w", "wrap", "wrap long lines, or cut them at the edge"),
    Action("log.numbers", "#", "line numbers", "show or hide line numbers"),
    Action("log.line", "ctrl+g", "go to line", "go to a line by its number", "ask('line')"),
    Action("jobfile.save", "ctrl+s", "save", "write the job file", footer=1),
    Action("jobfile.submit", "f5,ctrl+j", "submit", "check the job file and submit it", footer=2, dangerous=True),
    Action("jobfile.edit", "e", "edit", "go on typing, after escape has left the text", palette=False),
    Action("jobfile.complete", "f2,ctrl+@", "complete", "offer what can be typed here", footer=4),
    Action("jobfile.describe", "f3", "explain", "tell all about the key under the cursor, and what is wrong there"),
    Action("jobfile.external", "f4", "$EDITOR", "edit the job file in your own editor", dangerous=True),
    Action("jobfile.next_problem", "f6", "next problem", "to the next problem in the text", priority=True),
    Action(
        "jobfile.previous_problem",
        "shift+f6",
        "previous problem",
        "to the problem before the cursor",
        "next_problem(-1)",
    ),
    Action("jobfile.fix", "f7", "fix", "fix the problem on this line; shows the change first", footer=3, priority=True),
    Action("jobfile.fix_all", "f8", "fix all", "fix everything that can be fixed safely; shows the change first"),
    Action("jobfile.preset", "f10", "presets", "take hyper-parameters that are known to work"),
    Action("jobfile.scenario", "f12", "scenario", "switch between RL and the four forms of OPD"),
    Action("jobfile.outline", "ctrl+o", "outline", "jump to a section, a function, a data set"),
    Action("jobfile.choose", "ctrl+t", "job files", "open another job file of this workspace"),
    Action("functions.run", "t,ctrl+j,f5", "run", "run the function on the input, on this machine", footer=2),
    Action("functions.input", "i", "input", "choose the input: a file, a data row, or type it", footer=3),
    Action("functions.row", "ctrl+g", "data row", "take another row of the data set as the input"),
    Action("functions.sweep", "S", "sweep", "run over many data rows: scores, times, failures", footer=5),
    Action("functions.history", "H", "history", "compare the answers of earlier runs"),
    Action("functions.copy", "y", "copy result", "copy the result with the whole traceback"),
    Action("functions.register", "R", "register", "send the function to the service", footer=4, dangerous=True),
    Action("functions.remote", "T", "run there", "run the input on the registered instance", dangerous=True),
    Action("functions.logs", "l", "instance log", "fetch the log of the registered instance"),
    Action("functions.delete", "D", "delete instances", "delete the instances of the function", dangerous=True),
    Action("functions.edit", "f4", "$EDITOR", "edit the source in your own editor"),
    Action("functions.next_tab", "]", "next tab", "to the next tab", palette=False),
    Action("functions.previous_tab", "[", "previous tab", "to the tab before", "next_tab(-1)", palette=False),
    Action("traces.filter", "/", "filter", "show only runs that hold words: ids, function, how they ended", footer=3),
    Action("traces.errors", "e", "errors", "show only runs with an error, or all again", footer=4),
    Action("traces.incomplete", "u", "incomplete", "show only runs whose calls did not all give spans", footer=5),
    Action("traces.export", "s", "export", "write the chosen runs as OTLP JSON", footer=2),
    Action("traces.take", "I", "import", "read runs from a file with OTLP JSON"),
    Action("traces.copy", "y,c", "copy id", "copy the ids of the chosen runs"),
    Action("trace.filter", "/", "find span", "show only spans whose name or payload holds words", footer=3),
    Action("trace.form", "m", "form", "show payloads as a conversation or as JSON", footer=4),
    Action("trace.next_error", "e", "next error", "to the next span that ended with an error", footer=5),
    Action("trace.previous_error", "E", "previous error", "to the error before", "next_error(-1)"),
    Action("trace.unfold", "right", "unfold", "show the spans inside this one", palette=False),
    Action("trace.fold", "left", "fold", "hide the spans inside this one, or go to the one around it", palette=False),
    Action("trace.copy", "y,c", "copy id", "copy the id of this trace"),
    Action("workspace.unfold", "right,l", "unfold", "open the folder", palette=False),
    Action("workspace.fold", "left,h", "fold", "close the folder, or go to the one around it", palette=False),
    Action("workspace.edit", "e", "edit", "edit the file here", footer=2, dangerous=True),
    Action("workspace.save", "ctrl+s", "save", "write the file that is edited"),
    Action("workspace.external", "f4", "$EDITOR", "edit the file in your own editor", dangerous=True),
    Action("workspace.new", "n", "new file", "make a file, or a folder with a name that ends in /", dangerous=True),
    Action("workspace.rename", "r", "rename", "give the file another name", dangerous=True),
    Action("workspace.delete", "D", "delete", "delete the file or folder", dangerous=True),
    Action("workspace.checks", "c", "checks", "to the list of what is wrong", footer=3),
    Action("workspace.fix", "f7", "fix", "repair the chosen problem; shows the change first", footer=4),
    Action("workspace.row", "ctrl+g", "data row", "go to a row of the data set by its number"),
    Action("workspace.next_row", "]", "next row", "to the next row of the data set", palette=False),
    Action("workspace.previous_row", "[", "previous row", "to the row before", "next_row(-1)", palette=False),
    Action("workspace.search", "/", "search", "search the text or the rows that are shown", footer=5),
    Action("workspace.template", "N", "new workspace", "make a workspace from a template", dangerous=True),
    Action("workspace.open", "w", "open workspace", "open another folder, or a recent one"),
    Action("jobs.copy", "y,c", "copy id", "copy the ids of the chosen jobs"),
)


def scoped(scope: str) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if action.scope == scope)


def by_id(action_id: str) -> Action | None:
    return _BY_ID.get(action_id)


_BY_ID = {action.id: action for action in ACTIONS}


def bindings(scope: str) -> "list[BindingType]":
    """The bindings of one scope, for the class that carries out its actions."""
    from textual.binding import Binding

    return [
        Binding(action.keys, action.command, action.label, id=action.id, priority=action.priority)
        for action in scoped(scope)
    ]


def key_list(keys: str) -> list[str]:
    """The single keys of a comma separated list, in Textual's names."""
    from textual.keys import _character_to_key

    names = []
    for part in keys.split(","):
        key = part.strip()
        if key:
            names.append(_character_to_key(key) if len(key) == 1 else key)
    return names


def user_keys(values: Mapping[str, object]) -> dict[str, str]:
    """The user's own keys out of flat settings: ``keys.jobs.cancel = "X"``."""
    return {name.removeprefix("keys."): str(keys) for name, keys in values.items() if name.startswith("keys.")}


def check_keymap(user: Mapping[str, str], actions: Sequence[Action] = ACTIONS) -> list[str]:
    """One sentence for every entry that cannot be used; an empty list means the map is safe to install."""
    known = {action.id for action in actions}
    problems = [f"there is no action {name!r}" for name in sorted(user.keys() - known)]
    problems += [f"{name} has no key" for name in sorted(user.keys() & known) if not key_list(user[name])]
    taken: dict[str, list[Action]] = {}
    for action in actions:
        for key in key_list(user.get(action.id, action.keys)):
            if key in _UNSENDABLE:
                problems.append(f"{action.id}: terminals send {_UNSENDABLE[key]} for {key}")
            for rival in taken.get(key, []):
                if _meet(rival.scope, action.scope):
                    problems.append(f"{key_label(key)} is bound to both {rival.id} and {action.id}")
            taken.setdefault(key, []).append(action)
    return problems


_UNSENDABLE = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+m": "enter", "ctrl+left_square_bracket": "escape"}


def _meet(one: str, other: str) -> bool:
    return one == other or any(one in scopes and other in scopes for scopes in TOGETHER)


_GLYPHS = {
    "enter": "↵",
    "escape": "esc",
    "slash": "/",
    "question_mark": "?",
    "exclamation_mark": "!",
    "colon": ":",
    "minus": "-",
    "number_sign": "#",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "full_stop": ".",
    "comma": ",",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


def key_label(key: str) -> str:
    """How a key is written for people: ``^r`` for ctrl+r, ``↵`` for enter."""
    *modifiers, name = key.split("+")
    shown = _GLYPHS.get(name, name)
    for modifier in modifiers:
        shown = f"^{shown}" if modifier == "ctrl" else f"{modifier}+{shown}"
    return shown


def key_labels(keys: str) -> str:
    return " ".join(key_label(key) for key in key_list(keys))


def effective(user: Mapping[str, str]) -> Iterable[tuple[Action, str]]:
    """Every action with the keys that are in force."""
    return ((action, user.get(action.id, action.keys)) for action in ACTIONS)
