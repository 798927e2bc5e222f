"""The one table of actions and keys. Bindings, footer, help, palette and the documentation are generated from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agentic_rl_tui.app.keynames import UNSENDABLE, key_label, key_list, let_alt_arrive
from agentic_rl_tui.app.scopes import TOGETHER, Action
from agentic_rl_tui.core.i18n import N_, _

if TYPE_CHECKING:
    from textual.binding import BindingType

ACTIONS: tuple[Action, ...] = (
    Action("app.workspace", "1,alt+1", N_("Workspace"), N_("go to the files of this workspace"), "go('workspace')"),
    Action(
        "app.functions", "2,alt+2", N_("Functions"), N_("go to the rollout and reward functions"), "go('functions')"
    ),
    Action("app.jobfile", "3,alt+3", N_("Job file"), N_("go to the job file"), "go('jobfile')"),
    Action("app.jobs", "4,alt+4", N_("Jobs"), N_("go to the jobs"), "go('jobs')"),
    Action("app.traces", "5,alt+5", N_("Traces"), N_("go to the traces"), "go('traces')"),
    Action("app.last_place", "-", N_("Last place"), N_("go back to the place before this one")),
    Action("app.help", "?,f1", N_("help"), N_("show the keys that work here"), footer=90, palette=False),
    Action("app.palette", "ctrl+p,:", N_("commands"), N_("find any command by name"), palette=False),
    Action("app.problems", "!", N_("problems"), N_("show every error kept in this session")),
    Action("app.theme", "f9", N_("theme"), N_("switch between the dark and the light theme")),
    Action("app.settings", "~,f11", N_("settings"), N_("see and change settings, profiles and keys")),
    Action("app.profile", "@", N_("profile"), N_("switch to another profile")),
    Action("app.bandwidth", "alt+l", N_("slow line"), N_("spare a slow line to the screen, or no longer")),
    Action(
        "app.dump", "alt+t", N_("open a dump"), N_("open a dump of rollouts: a JSONL file or a folder"), "open_dump"
    ),
    Action("app.redraw", "ctrl+l", N_("redraw"), N_("draw the whole screen again")),
    Action("app.leave", "ctrl+q", N_("leave"), N_("leave; jobs go on"), priority=True),
    Action(
        "view.back", "escape", N_("back"), N_("undo one layer: input, filter, marks, screen"), footer=99, palette=False
    ),
    Action(
        "view.quit", "q", N_("leave"), N_("leave this screen, or the program at its root; jobs go on"), palette=False
    ),
    Action("view.plain", "V", N_("plain view"), N_("show the text without frames, for the terminal's own selection")),
    Action("view.refresh", "ctrl+r", N_("refresh"), N_("ask the platform again now")),
    Action("table.open", "enter", N_("open"), N_("open the row under the cursor"), footer=1, palette=False),
    Action("table.down", "down,j", N_("down"), N_("one row down"), "move(1)", palette=False),
    Action("table.up", "up,k", N_("up"), N_("one row up"), "move(-1)", palette=False),
    Action("table.first", "home,g", N_("first"), N_("to the first row"), palette=False),
    Action("table.last", "end,G", N_("last"), N_("to the last row"), palette=False),
    Action("table.page_down", "pagedown,ctrl+f", N_("page down"), N_("one page down"), "page(1)", palette=False),
    Action("table.page_up", "pageup,ctrl+b", N_("page up"), N_("one page up"), "page(-1)", palette=False),
    Action("table.half_down", "ctrl+d", N_("half down"), N_("half a page down"), "page(0.5)", palette=False),
    Action("table.half_up", "ctrl+u", N_("half up"), N_("half a page up"), "page(-0.5)", palette=False),
    Action("table.mark", "space", N_("mark"), N_("mark or unmark the row; marked rows win over the cursor")),
    Action("table.mark_range", "v", N_("mark to here"), N_("mark every row from the last mark to the cursor")),
    Action("table.order", "o", N_("sort"), N_("sort by the next column")),
    Action("table.reverse", "O", N_("reverse"), N_("reverse the order")),
    Action("jobs.filter", "/", N_("filter"), N_("show only jobs that match, e.g. `status:failed qwen`"), footer=5),
    Action("jobs.logs", "l", N_("logs"), N_("open the log of the job"), footer=2),
    Action("jobs.cancel", "x", N_("cancel"), N_("cancel the chosen jobs"), footer=3, dangerous=True),
    Action("jobs.delete", "D", N_("delete"), N_("delete the chosen jobs from the platform"), dangerous=True),
    Action("jobs.clone", "C", N_("clone"), N_("write the settings of the job as a new job file"), dangerous=True),
    Action("jobs.resume", "R", N_("go on from"), N_("write a job file that goes on from a checkpoint"), dangerous=True),
    Action("jobs.origin", "F", N_("its job file"), N_("open the job file that the job came from")),
    Action("jobs.compare", "=", N_("compare"), N_("compare the two marked jobs, or this one with another")),
    Action("jobs.note", "a", N_("note"), N_("write a note on the job, kept on this machine")),
    Action("jobs.pin", "P", N_("pin"), N_("keep the job on top, or let it go again")),
    Action("jobs.columns", "T", N_("columns"), N_("choose the columns of the table and their order")),
    Action("job.previous_tab", "[", N_("previous tab"), N_("to the tab before"), "next_tab(-1)", palette=False),
    Action("job.next_tab", "]", N_("next tab"), N_("to the next tab"), footer=2, palette=False),
    Action("job.logs", "l", N_("logs"), N_("to the log"), palette=False),
    Action("job.cancel", "x", N_("cancel"), N_("cancel this job"), footer=3, dangerous=True),
    Action("job.delete", "D", N_("delete"), N_("delete this job from the platform"), dangerous=True),
    Action("job.clone", "C", N_("clone"), N_("write the settings of the job as a new job file"), dangerous=True),
    Action("job.resume", "R", N_("go on from"), N_("write a job file that goes on from a checkpoint"), dangerous=True),
    Action("job.origin", "F", N_("its job file"), N_("open the job file that the job came from")),
    Action("job.compare", "=", N_("compare"), N_("compare the job with another one")),
    Action("job.note", "a", N_("note"), N_("write a note on the job, kept on this machine")),
    Action("job.pin", "P", N_("pin"), N_("keep the job on top, or let it go again")),
    Action("job.save", "s", N_("save"), N_("save the log, or the numbers of the metrics tab, as a file")),
    Action("job.copy", "y,c", N_("copy id"), N_("copy the id of this job")),
    Action("job.trace", "T", N_("trace"), N_("open the trace of the rollout that is shown")),
    Action("log.down", "down,j", N_("down"), N_("one line down"), "move(1)", palette=False),
    Action("log.up", "up,k", N_("up"), N_("one line up"), "move(-1)", palette=False),
    Action("log.right", "right", N_("right"), N_("see more of long lines"), "aside(1)", palette=False),
    Action("log.left", "left", N_("left"), N_("back to the start of long lines"), "aside(-1)", palette=False),
    Action("log.first", "home,g", N_("first"), N_("to the first line"), palette=False),
    Action("log.last", "end,G", N_("last"), N_("to the last line, and follow"), palette=False),
    Action("log.page_down", "pagedown,ctrl+f,space", N_("page down"), N_("one page down"), "page(1)", palette=False),
    Action("log.page_up", "pageup,ctrl+b", N_("page up"), N_("one page up"), "page(-1)", palette=False),
    Action("log.half_down", "ctrl+d", N_("half down"), N_("half a page down"), "page(0.5)", palette=False),
    Action("log.half_up", "ctrl+u", N_("half up"), N_("half a page up"), "page(-0.5)", palette=False),
    Action("log.follow", "f", N_("follow"), N_("follow new lines; scrolling up stops it"), footer=4),
    Action("log.search", "/", N_("search"), N_("search the log; capitals make case count"), "ask('search')", footer=5),
    Action("log.next", "n", N_("next match"), N_("to the next match"), "again(1)"),
    Action("log.previous", "N", N_("previous match"), N_("to the match before"), "again(-1)"),
    Action("log.next_error", "e", N_("next error"), N_("to the next line that tells of an error"), "trouble(1)"),
    Action("log.previous_error", "E", N_("previous error"), N_("to the error line before"), "trouble(-1)"),
    Action("log.wrap", "w", N_("wrap"), N_("wrap long lines, or cut them at the edge")),
    Action("log.numbers", "#", N_("line numbers"), N_("show or hide line numbers")),
    Action("log.line", "ctrl+g", N_("go to line"), N_("go to a line by its number"), "ask('line')"),
    Action("log.level", "v", N_("level"), N_("show only lines of a level and above: info, warnings, errors, all")),
    Action("log.filter", "&", N_("filter"), N_("show only lines that hold a text"), "ask('filter')"),
    Action("log.gaps", "t", N_("time gaps"), N_("mark where more than a minute passed between two lines, or not")),
    Action("log.raw", "d", N_("raw"), N_("show lines as they came, with escapes and returns, or as they look")),
    Action("metrics.right", "right", N_("next step"), N_("move the cursor to the next step"), "step(1)", palette=False),
    Action("metrics.left", "left", N_("previous step"), N_("move the cursor a step back"), "step(-1)", palette=False),
    Action("metrics.far_right", "shift+right", N_("ten steps on"), N_("move the cursor ten steps on"), "step(10)"),
    Action("metrics.far_left", "shift+left", N_("ten steps back"), N_("move the cursor ten steps back"), "step(-10)"),
    Action("metrics.down", "down,j", N_("down"), N_("scroll down"), "scroll(3)", palette=False),
    Action("metrics.up", "up,k", N_("up"), N_("scroll up"), "scroll(-3)", palette=False),
    Action("metrics.page_down", "pagedown,ctrl+f", N_("page down"), N_("one page down"), "page(1)", palette=False),
    Action("metrics.page_up", "pageup,ctrl+b", N_("page up"), N_("one page up"), "page(-1)", palette=False),
    Action("metrics.first", "home,g", N_("first"), N_("to the top"), "edge(0)", palette=False),
    Action("metrics.last", "end,G", N_("last"), N_("to the end"), "edge(1)", palette=False),
    Action("metrics.groups", "enter", N_("groups"), N_("see the groups without spread of this step"), footer=1),
    Action("metrics.smooth", "m", N_("smooth"), N_("smooth the curves more, or not at all"), footer=4),
    Action("metrics.scale", "L", N_("log scale"), N_("draw positive curves on a logarithmic scale")),
    Action("metrics.compare", "o", N_("overlay"), N_("lay the curves of another job over these"), footer=5),
    Action("metrics.alone", "O", N_("alone"), N_("show the curves of this job alone")),
    Action(
        "samples.filter",
        "/",
        N_("filter"),
        N_("show only some samples: words, `failed`, `flat`, `reward>0.5`"),
        footer=4,
    ),
    Action("samples.kind", "f", N_("kind"), N_("show only failed samples, those without spread, or all"), footer=5),
    Action("samples.later", ".", N_("next step"), N_("to the samples of the next step"), "turn(1)"),
    Action("samples.earlier", "comma", N_("previous step"), N_("to the samples of the step before"), "turn(-1)"),
    Action("group.down", "down,j", N_("down"), N_("one row down"), "move(1)", palette=False),
    Action("group.up", "up,k", N_("up"), N_("one row up"), "move(-1)", palette=False),
    Action("group.page_down", "pagedown,ctrl+f", N_("page down"), N_("one page down"), "page(1)", palette=False),
    Action("group.page_up", "pageup,ctrl+b", N_("page up"), N_("one page up"), "page(-1)", palette=False),
    Action("group.half_down", "ctrl+d", N_("half down"), N_("half a page down"), "page(0.5)", palette=False),
    Action("group.half_up", "ctrl+u", N_("half up"), N_("half a page up"), "page(-0.5)", palette=False),
    Action("group.first", "home,g", N_("first"), N_("to the top"), "edge(0)", palette=False),
    Action("group.last", "end,G", N_("last"), N_("to the end"), "edge(1)", palette=False),
    Action("group.right", "right", N_("next rollout"), N_("to the rollout on the right"), "aside(1)", palette=False),
    Action("group.left", "left", N_("previous rollout"), N_("to the rollout on the left"), "aside(-1)", palette=False),
    Action(
        "group.open", "enter", N_("open"), N_("read the whole conversation of the rollout"), footer=1, palette=False
    ),
    Action("group.next", "n", N_("next diff"), N_("to the next turn that differs"), "differ(1)", footer=4),
    Action("group.previous", "N", N_("previous difference"), N_("to the turn before that differs"), "differ(-1)"),
    Action("group.fold", "z", N_("fold"), N_("show turns whole, or only their beginnings"), footer=5),
    Action("group.prefix", "u", N_("shared turns"), N_("show or fold the turns that all rollouts begin with")),
    Action("group.mark", "space", N_("mark"), N_("mark the rollout to be saved")),
    Action("group.later", ".", N_("next step"), N_("to the next step with the same sample"), "turn(1)"),
    Action("group.earlier", "comma", N_("previous step"), N_("to the step before with the same sample"), "turn(-1)"),
    Action("talk.fold", "z", N_("fold"), N_("show long turns whole, or only their ends"), footer=4),
    Action("talk.later", ".", N_("next step"), N_("to the next step with the same sample"), "turn(1)"),
    Action("talk.earlier", "comma", N_("previous step"), N_("to the step before with the same sample"), "turn(-1)"),
    Action("dump.save", "s", N_("save"), N_("save the chosen rollouts as JSONL"), footer=3),
    Action("jobfile.save", "ctrl+s", N_("save"), N_("write the job file"), footer=1),
    Action(
        "jobfile.submit", "f5,ctrl+j", N_("submit"), N_("check the job file and submit it"), footer=2, dangerous=True
    ),
    Action("jobfile.edit", "e", N_("edit"), N_("go on typing, after escape has left the text"), palette=False),
    Action("jobfile.complete", "f2,ctrl+@", N_("complete"), N_("offer what can be typed here"), footer=4),
    Action(
        "jobfile.describe", "f3", N_("explain"), N_("tell all about the key under the cursor, and what is wrong there")
    ),
    Action("jobfile.external", "f4", N_("$EDITOR"), N_("edit the job file in your own editor"), dangerous=True),
    Action("jobfile.next_problem", "f6", N_("next problem"), N_("to the next problem in the text"), priority=True),
    Action(
        "jobfile.previous_problem",
        "shift+f6",
        N_("previous problem"),
        N_("to the problem before the cursor"),
        "next_problem(-1)",
    ),
    Action(
        "jobfile.fix",
        "f7",
        N_("fix"),
        N_("fix the problem on this line; shows the change first"),
        footer=3,
        priority=True,
    ),
    Action(
        "jobfile.fix_all", "f8", N_("fix all"), N_("fix everything that can be fixed safely; shows the change first")
    ),
    Action("jobfile.preset", "f10", N_("presets"), N_("take hyper-parameters that are known to work")),
    Action("jobfile.scenario", "f12", N_("scenario"), N_("switch between RL and the four forms of OPD")),
    Action("jobfile.outline", "ctrl+o", N_("outline"), N_("jump to a section, a function, a data set")),
    Action("jobfile.choose", "ctrl+t", N_("job files"), N_("open another job file of this workspace")),
    Action("jobfile.search", "/", N_("find"), N_("find words in the text; capitals make case count"), "find", footer=5),
    Action("jobfile.next_match", "n", N_("next match"), N_("to the next match"), palette=False),
    Action(
        "jobfile.previous_match", "N", N_("previous match"), N_("to the match before"), "next_match(-1)", palette=False
    ),
    Action("jobfile.line", "ctrl+g", N_("go to line"), N_("go to a line by its number")),
    Action("text.search", "ctrl+f", N_("find"), N_("find words in the text, while typing"), "want('find')", footer=5),
    Action(
        "text.next", "alt+n", N_("next match"), N_("to the next match, while typing"), "want('next')", palette=False
    ),
    Action(
        "text.previous",
        "alt+shift+n",
        N_("previous match"),
        N_("to the match before, while typing"),
        "want('previous')",
        palette=False,
    ),
    Action("functions.run", "t,ctrl+j,f5", N_("run"), N_("run the function on the input, on this machine"), footer=2),
    Action("functions.input", "i", N_("input"), N_("choose the input: a file, a data row, or type it"), footer=3),
    Action(
        "functions.complete",
        "f2,ctrl+@",
        N_("complete"),
        N_("offer what can be typed into the input here"),
        palette=False,
    ),
    Action("functions.row", "ctrl+g", N_("data row"), N_("take another row of the data set as the input")),
    Action("functions.sweep", "S", N_("sweep"), N_("run over many data rows: scores, times, failures"), footer=5),
    Action("functions.history", "H", N_("history"), N_("compare the answers of earlier runs")),
    Action("functions.trace", "w", N_("waterfall"), N_("open the spans of the last run as a waterfall")),
    Action("functions.copy", "y", N_("copy result"), N_("copy the result with the whole traceback")),
    Action("functions.register", "R", N_("register"), N_("send the function to the service"), footer=4, dangerous=True),
    Action("functions.remote", "T", N_("run there"), N_("run the input on the registered instance"), dangerous=True),
    Action("functions.logs", "l", N_("instance log"), N_("fetch the log of the registered instance")),
    Action("functions.delete", "D", N_("delete instances"), N_("delete the instances of the function"), dangerous=True),
    Action("functions.edit", "f4", N_("$EDITOR"), N_("edit the source in your own editor")),
    Action("functions.next_tab", "]", N_("next tab"), N_("to the next tab"), palette=False),
    Action("functions.previous_tab", "[", N_("previous tab"), N_("to the tab before"), "next_tab(-1)", palette=False),
    Action(
        "traces.filter",
        "/",
        N_("filter"),
        N_("show only runs that hold words: ids, function, how they ended"),
        footer=3,
    ),
    Action("traces.errors", "e", N_("errors"), N_("show only runs with an error, or all again"), footer=4),
    Action(
        "traces.incomplete", "u", N_("incomplete"), N_("show only runs whose calls did not all give spans"), footer=5
    ),
    Action("traces.export", "s", N_("export"), N_("write the chosen runs as OTLP JSON"), footer=2),
    Action("traces.take", "I", N_("import"), N_("read runs from a file with OTLP JSON")),
    Action("traces.copy", "y,c", N_("copy id"), N_("copy the ids of the chosen runs")),
    Action("trace.filter", "/", N_("find span"), N_("show only spans whose name or payload holds words"), footer=3),
    Action("trace.form", "m", N_("form"), N_("show payloads as a conversation or as JSON"), footer=4),
    Action("trace.next_error", "e", N_("next error"), N_("to the next span that ended with an error"), footer=5),
    Action("trace.previous_error", "E", N_("previous error"), N_("to the error before"), "next_error(-1)"),
    Action("trace.unfold", "right", N_("unfold"), N_("show the spans inside this one"), palette=False),
    Action(
        "trace.fold",
        "left",
        N_("fold"),
        N_("hide the spans inside this one, or go to the one around it"),
        palette=False,
    ),
    Action("trace.copy", "y,c", N_("copy id"), N_("copy the id of this trace")),
    Action("settings.use", "u", N_("use"), N_("work with the profile under the cursor")),
    Action("settings.check", "c", N_("check"), N_("ask the profile's service whether it answers"), footer=5),
    Action("settings.new", "n", N_("new profile"), N_("add a profile: a name, an address, a key")),
    Action("settings.delete", "D", N_("delete"), N_("delete the profile from your file"), dangerous=True),
    Action("settings.reset", "backspace", N_("default"), N_("take the value out of your file"), footer=2),
    Action("settings.filter", "/", N_("filter"), N_("show only what holds some words"), footer=3),
    Action("settings.next_tab", "],right", N_("next tab"), N_("to the next tab"), footer=4, palette=False),
    Action(
        "settings.previous_tab", "[,left", N_("previous tab"), N_("to the tab before"), "next_tab(-1)", palette=False
    ),
    Action("workspace.unfold", "right,l", N_("unfold"), N_("open the folder"), palette=False),
    Action("workspace.fold", "left,h", N_("fold"), N_("close the folder, or go to the one around it"), palette=False),
    Action("workspace.edit", "e", N_("edit"), N_("edit the file here"), footer=2, dangerous=True),
    Action("workspace.save", "ctrl+s", N_("save"), N_("write the file that is edited")),
    Action("workspace.external", "f4", N_("$EDITOR"), N_("edit the file in your own editor"), dangerous=True),
    Action(
        "workspace.new", "n", N_("new file"), N_("make a file, or a folder with a name that ends in /"), dangerous=True
    ),
    Action("workspace.rename", "r", N_("rename"), N_("give the file another name"), dangerous=True),
    Action("workspace.delete", "D", N_("delete"), N_("delete the file or folder"), dangerous=True),
    Action("workspace.checks", "c", N_("checks"), N_("to the list of what is wrong"), footer=3),
    Action("workspace.fix", "f7", N_("fix"), N_("repair the chosen problem; shows the change first"), footer=4),
    Action("workspace.row", "ctrl+g", N_("data row"), N_("go to a row of the data set by its number")),
    Action("workspace.next_row", "]", N_("next row"), N_("to the next row of the data set"), palette=False),
    Action("workspace.previous_row", "[", N_("previous row"), N_("to the row before"), "next_row(-1)", palette=False),
    Action(
        "workspace.rollouts", "t", N_("as trajectories"), N_("walk the rollouts of a JSONL file or a folder of them")
    ),
    Action("workspace.search", "/", N_("search"), N_("search the text or the rows that are shown"), footer=5),
    Action("workspace.template", "N", N_("new workspace"), N_("make a workspace from a template"), dangerous=True),
    Action("workspace.open", "w", N_("open workspace"), N_("open another folder, or a recent one")),
    Action("jobs.copy", "y,c", N_("copy id"), N_("copy the ids of the chosen jobs")),
)


def scoped(scope: str) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if action.scope == scope)


def by_id(action_id: str) -> Action | None:
    return _BY_ID.get(action_id)


_BY_ID = {action.id: action for action in ACTIONS}


def bindings(scope: str) -> "list[BindingType]":
    """The bindings of one scope, for the class that carries out its actions."""
    from textual.binding import Binding

    let_alt_arrive()
    return [
        Binding(action.keys, action.command, action.label, id=action.id, priority=action.priority)
        for action in scoped(scope)
    ]


def user_keys(values: Mapping[str, object]) -> dict[str, str]:
    """The user's own keys out of flat settings: ``keys.jobs.cancel = "X"``."""
    return {name.removeprefix("keys."): str(keys) for name, keys in values.items() if name.startswith("keys.")}


def check_keymap(user: Mapping[str, str], actions: Sequence[Action] = ACTIONS) -> list[str]:
    """One sentence for every entry that cannot be used; an empty list means the map is safe to install."""
    known = {action.id for action in actions}
    problems = [_("there is no action {name!r}").format(name=name) for name in sorted(user.keys() - known)]
    problems += [
        _("{name} has no key").format(name=name) for name in sorted(user.keys() & known) if not key_list(user[name])
    ]
    taken: dict[str, list[Action]] = {}
    for action in actions:
        for key in key_list(user.get(action.id, action.keys)):
            if key in UNSENDABLE:
                problems.append(
                    _("{id}: terminals send {sent} for {key}").format(id=action.id, sent=UNSENDABLE[key], key=key)
                )
            for rival in taken.get(key, []):
                if _meet(rival.scope, action.scope):
                    problems.append(
                        _("{key} is bound to both {first} and {second}").format(
                            key=key_label(key), first=rival.id, second=action.id
                        )
                    )
            taken.setdefault(key, []).append(action)
    return problems


def _meet(one: str, other: str) -> bool:
    return one == other or any(one in scopes and other in scopes for scopes in TOGETHER)


def effective(user: Mapping[str, str]) -> Iterable[tuple[Action, str]]:
    """Every action with the keys that are in force."""
    return ((action, user.get(action.id, action.keys)) for action in ACTIONS)
