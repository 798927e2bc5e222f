"""The table of verbs: where each one lives and what it says of itself in one line."""


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
    Verb("quickstart", "quickstart", "Start", "Write the example workspace and open it, ready to submit"),
    Verb("init", "init", "Start", "Write a workspace from a template"),
    Verb("run", "run", "Jobs", "Register functions, upload data and submit a job"),
    Verb("functions", "functions", "Functions and data", "List, test, package or serve functions; logs of instances"),
    Verb("validate", "validate", "Functions and data", "Check the job file, its data and its functions"),
    Verb("register_functions", "register_functions", "Functions and data", "Register functions and print their ids"),
    Verb("test_functions", "test_functions", "Functions and data", "Call a registered instance with an input"),
    Verb("upload_data", "upload_data", "Functions and data", "Check and upload data sets and print their ids"),
    Verb("list", "list_jobs", "Jobs", "List jobs, newest first"),
    Verb("get", "get", "Jobs", "Show one job", ("status",)),
    Verb("wait", "wait", "Jobs", "Wait until a job has ended"),
    Verb("logs", "logs", "Jobs", "Print a job's log, optionally following it"),
    Verb("cancel", "cancel", "Jobs", "Cancel a running job"),
    Verb("delete", "delete", "Jobs", "Delete a finished job's record"),
    Verb("trace", "trace", "Jobs", "List, show, export or import traces of functions", ("traces",)),
    Verb("serve", "serve", "Local platform", "Run the local platform in the foreground"),
    Verb("platform", "platform", "Local platform", "Show, stop, reset, export or import the local platform"),
    Verb("doctor", "doctor", "This program", "Look at the surroundings and say what to do"),
    Verb("keys", "keys", "This program", "Show the keys in force and their problems"),
    Verb("completion", "completion", "This program", "Print a completion script for bash, zsh or fish"),
)


def find(name: str) -> Verb | None:
    """A verb by name or alias; hyphens and underscores are the same."""
    wanted = name.replace("_", "-")
    for verb in VERBS:
        if wanted in (verb.name.replace("_", "-"), *(alias.replace("_", "-") for alias in verb.aliases)):
            return verb
    return None
