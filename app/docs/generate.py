"""Writes the reference pages from the code they describe; a test keeps the written ones current.

python -m agentic_rl_tui.app.docs.generate
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent

_SDK_INTRO = (
    "`from agentic_rl_tui.core import AgenticRL`. Everything that talks to the service is a coroutine. Components, "
    "events and results come from `agentic_rl_tui.core.sdk`, errors from `agentic_rl_tui.core.models.errors`."
)
_ERRORS_INTRO = (
    "## Errors\n\nEvery error has `message`, `advice`, `number`, and where they apply `status`, `code`, "
    "`request_id`, `method` and `path`."
)


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {"sdk.md": sdk(), "rules.md": rules(), "keys.md": keys(), "cli.md": cli()}


def sdk() -> str:
    """The public classes of the SDK with their signatures and docstrings."""
    from agentic_rl_tui.core import sdk as package
    from agentic_rl_tui.core.client.files import Files
    from agentic_rl_tui.core.client.functions import Functions
    from agentic_rl_tui.core.client.jobs import Jobs

    parts = [
        "# SDK reference",
        _SDK_INTRO,
        _of_class(package.AgenticRL),
        "## Resources\n\nOne class each for files, functions and jobs: `rl.files`, `rl.functions`, `rl.jobs`.",
        *(_of_class(kind, level=3) for kind in (Files, Functions, Jobs)),
        "## Components, events and results",
        *(_of_class(getattr(package, name), level=3) for name in package.__all__ if name != "AgenticRL"),
        _ERRORS_INTRO,
        _table(("error", "number", "when"), _error_rows()),
    ]
    return _page(parts)


def _error_rows() -> Iterator[tuple[str, ...]]:
    from agentic_rl_tui.core.models import errors

    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.ArlError):
            yield f"`{name}`", str(kind.number), _first_paragraph(kind.__doc__)


def _of_class(kind: Any, *, level: int = 2) -> str:
    heading = f"{'#' * level} {getattr(kind, '__name__', str(kind))}"
    parts = [heading, _doc(kind)]
    for name, member in _members(kind):
        inner: Any = member.fget if isinstance(member, property) else _function(member)
        found = inspect.unwrap(inner)
        if isinstance(member, property):
            parts.append(f"**`{name}`** → `{_annotation(found)}`")
        else:
            word = "await " if inspect.iscoroutinefunction(found) else ""
            parts.append(f"**`{word}{name}{_signature(found)}`**")
        if text := _doc(found):
            parts.append(text)
    return "\n\n".join(part for part in parts if part)


def _members(kind: Any) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the project's own classes define, in the order of the source."""
    if not inspect.isclass(kind):
        return
    seen: set[str] = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("agentic_rl_tui"):
            continue
        for name, member in vars(owner).items():
            is_callable = isinstance(member, property) or callable(_function(member))
            if name.startswith("_") or name in seen or not is_callable or inspect.isclass(member):
                continue
            seen.add(name)
            yield name, member


def _function(member: Any) -> Any:
    """The function below class methods and the like."""
    for attribute in ("__func__", "function", "__wrapped__"):
        if (inner := getattr(member, attribute, None)) is not None and inspect.isfunction(inner):
            return inner
    return member


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    own = [parameter for name, parameter in signature.parameters.items() if name not in ("self", "cls")]
    return _short(str(signature.replace(parameters=own)))


def _annotation(function: Callable[..., Any]) -> str:
    annotation = inspect.signature(function).return_annotation
    return _short(annotation.__name__ if inspect.isclass(annotation) else str(annotation))


def _short(text: str) -> str:
    """Types without their modules and quotes."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text).replace("'", "").replace('"', "")


def _doc(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    inherited = inspect.isclass(thing) and not (thing.__dict__.get("__doc__") or "").strip()
    return "" if inherited or text.startswith(f"{getattr(thing, '__name__', '')}(") else text.replace("``", "`")


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split()).replace("``", "`")


def rules() -> str:
    """The rules by which job files are checked."""
    from agentic_rl_tui.core.jobfile.rules import RULES

    rows = [
        (f"`{rule.id}`", rule.severity.value, rule.title, rule.why, f"{rule.source}, {rule.date}")
        for rule in RULES.values()
    ]
    intro = "What `agentic-rl-tui` says of a job file, why, and where the rule comes from."
    return _page(["# Job-file rules", intro, _table(("rule", "severity", "says", "because", "source"), rows)])


def keys() -> str:
    """Every action with its keys."""
    from agentic_rl_tui.app.keymap import ACTIONS

    parts = [
        "# Keys",
        'Every action can be given other keys in the user\'s `config.toml`: `[keys]` with `"jobs.cancel" = "X"`.',
    ]
    scopes: dict[str, list[tuple[str, ...]]] = {}
    for action in ACTIONS:
        shown = " ".join(f"`{key.strip()}`" for key in action.keys.split(","))
        scopes.setdefault(action.id.partition(".")[0], []).append((shown, action.help, f"`{action.id}`"))
    for scope, rows in scopes.items():
        parts += [f"## {scope}", _table(("key", "does", "id"), rows)]
    return _page(parts)


def cli() -> str:
    """Every verb with its own help text."""
    from importlib import import_module

    from agentic_rl_tui.app.cli.dispatch import PROGRAM, Parser, connection_arguments, inner_parsers
    from agentic_rl_tui.app.cli.help import HELP
    from agentic_rl_tui.app.cli.verbs import VERBS

    parts = ["# Command line", f"```text\n{HELP.rstrip()}\n```"]
    for verb in VERBS:
        parser = Parser(prog=f"{PROGRAM} {verb.name}", description=f"{verb.summary}.", formatter_class=_formatter())
        connection_arguments(parser)
        import_module(f"agentic_rl_tui.app.cli.{verb.module}").arguments(parser)
        sink = StringIO()
        parser.print_help(sink)
        parts += [f"## {verb.name}", f"```text\n{sink.getvalue().rstrip()}\n```"]
        for name, inner in inner_parsers(parser).items():
            inner.formatter_class = _formatter()
            parts += [f"### {verb.name} {name}", f"```text\n{inner.format_help().rstrip()}\n```"]
    return _page(parts)


def _formatter() -> Any:
    """Help of a fixed width, whatever the terminal is."""
    from functools import partial

    from agentic_rl_tui.app.cli.helping import Formatter

    return partial(Formatter, width=100)


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(headings)]
    lines.append(["---"] * len(lines[0]))
    lines += [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(parts: Iterable[str]) -> str:
    note = "<!-- Generated by `python -m agentic_rl_tui.app.docs.generate`; edit the code instead. -->"
    return "\n\n".join([note, *parts]) + "\n"


def keep_help() -> Path:
    """Write the English text of ``--help`` into the module that keeps it ready."""
    from agentic_rl_tui.app.cli.help_text import help_text

    path = FOLDER.parent / "cli" / "help.py"
    before, rest = path.read_text(encoding="utf-8").split('HELP = """', 1)
    after = rest.split('"""', 1)[1]
    path.write_text(f'{before}HELP = """\\\n{help_text()}"""{after}', encoding="utf-8")
    return path


if __name__ == "__main__":
    print(keep_help())
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)
