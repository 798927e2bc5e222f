"""The table of verbs: where each one lives and what it says of itself in one line."""

from agentic_rl_tui.core.i18n import N_


class Verb:
    """module is below ``agentic_rl_tui.app.cli`` and has ``arguments(parser)`` and ``run(options) -> int``."""

    # No dataclass: importing that module would double the time of every `VERB --help`.
    __slots__ = ("aliases", "group", "module", "name", "summary")

    def __init__(self, name: str, module: str, group: str, summary: str, aliases: tuple[str, ...] = ()) -> None:
        self.name = name
        self.module = module
        self.group = group
        self.summary = summary
        self.aliases = aliases


VERBS = (
    Verb("quickstart", "quickstart", N_("Start"), N_("Write the example workspace and open it, ready to submit")),
    Verb("init", "init", N_("Start"), N_("Write a workspace from a template")),
    Verb("run", "run", N_("Jobs"), N_("Register functions, upload data and submit a job")),
    Verb(
        "functions",
        "functions",
        N_("Functions and data"),
        N_("List, test, package or serve functions; logs of instances"),
    ),
    Verb("validate", "validate", N_("Functions and data"), N_("Check the job file, its data and its functions")),
    Verb(
        "register_functions",
        "register_functions",
        N_("Functions and data"),
        N_("Register functions and print their ids"),
    ),
    Verb("test_functions", "test_functions", N_("Functions and data"), N_("Call a registered instance with an input")),
    Verb("upload_data", "upload_data", N_("Functions and data"), N_("Check and upload data sets and print their ids")),
    Verb("list", "list_jobs", N_("Jobs"), N_("List jobs, newest first")),
    Verb("get", "get", N_("Jobs"), N_("Show one job"), ("status",)),
    Verb("wait", "wait", N_("Jobs"), N_("Wait until a job has ended")),
    Verb("logs", "logs", N_("Jobs"), N_("Print a job's log, optionally following it")),
    Verb("clone", "clone", N_("Jobs"), N_("Write a job's settings as a new job file, or go on from a checkpoint")),
    Verb("diff", "diff", N_("Jobs"), N_("Compare two jobs: settings, code and data")),
    Verb("cancel", "cancel", N_("Jobs"), N_("Cancel a running job")),
    Verb("delete", "delete", N_("Jobs"), N_("Delete a finished job's record")),
    Verb("metrics", "metrics", N_("Jobs"), N_("Print the numbers of a job step by step, also as CSV")),
    Verb(
        "trajectories", "trajectories", N_("Jobs"), N_("Show steps, samples and rollouts, and why groups teach nothing")
    ),
    Verb("trace", "trace", N_("Jobs"), N_("List, show, export or import traces of functions"), ("traces",)),
    Verb("serve", "serve", N_("Local platform"), N_("Run the local platform in the foreground")),
    Verb("platform", "platform", N_("Local platform"), N_("Show, stop, reset, export or import the local platform")),
    Verb("doctor", "doctor", N_("This program"), N_("Look at the surroundings and say what to do")),
    Verb("config", "config", N_("This program"), N_("Show or change settings: list, get, set, unset, path")),
    Verb("keys", "keys", N_("This program"), N_("Show the keys in force and their problems")),
    Verb("completion", "completion", N_("This program"), N_("Print a completion script for bash, zsh or fish")),
)


def find(name: str) -> Verb | None:
    """A verb by name or alias; hyphens and underscores are the same."""
    wanted = name.replace("_", "-")
    for verb in VERBS:
        if wanted in (verb.name.replace("_", "-"), *(alias.replace("_", "-") for alias in verb.aliases)):
            return verb
    return None
