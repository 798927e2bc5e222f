"""Parsing of the command line and the one place where errors become words and exit codes."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from agentic_rl_tui.app.cli import exits
from agentic_rl_tui.app.cli.helping import Formatter
from agentic_rl_tui.app.cli.screen import has_screen
from agentic_rl_tui.app.cli.verbs import VERBS, find
from agentic_rl_tui.core.i18n import _, ngettext

TYPE_CHECKING = False  # typing itself would be a noticeable part of a short command
if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "agentic-rl-tui"
GUIDE_WORD = "rl"
"""The service's guide writes `dashscope rl run …`: with this program in place of `dashscope` such a line works."""


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes end with the usage code and name the way to more help."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        # argparse asks for one at each argument, and measuring the terminal itself it would import half of shutil.
        if self.formatter_class is not argparse.HelpFormatter:
            return super()._get_formatter()
        return Formatter(self.prog, width=_columns() - 2)

    def error(self, message: str) -> "None":  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(exits.USAGE, f"{self.prog}: {message}\n{_see(self.prog)}\n")


def _columns() -> int:
    """The width of the terminal, found the way that shutil does."""
    try:
        given = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        given = 0
    if given > 0:
        return given
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


def connection_arguments(parser: argparse.ArgumentParser, *, default: object = None) -> None:
    """The options that say which server answers and where the work lies.

    They may stand before or after the verb; the verb's parser must not overwrite what stood before it,
    hence SUPPRESS as its default.
    """
    parser.add_argument("--profile", metavar="NAME", default=default, help=_("which server answers; default: local"))
    parser.add_argument("--base-url", metavar="URL", default=default, help=_("talk to this server instead"))
    parser.add_argument(
        "--api-key", metavar="KEY", default=default, help=_("use this key instead of DASHSCOPE_API_KEY")
    )
    parser.add_argument(
        "--workspace", "--workspace-dir", metavar="DIR", default=default, help=_("the workspace; default: here")
    )


def inner_parsers(parser: argparse.ArgumentParser) -> "dict[str, argparse.ArgumentParser]":
    """The parsers of a verb's own actions, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def dispatch(arguments: Sequence[str]) -> int:
    """Run the app or a verb. Never raises: what goes wrong is told on stderr."""
    _speak()
    top = Parser(prog=PROGRAM, add_help=False, usage=f"{PROGRAM} [OPTIONS] [VERB ...]")
    connection_arguments(top)
    top.add_argument("--read-only", action="store_true")
    top.add_argument("--fresh", action="store_true")
    top.add_argument("--low-bandwidth", action="store_true")
    top.add_argument("-h", "--help", action="store_true")
    top.add_argument("verb", nargs="?")
    top.add_argument("rest", nargs=argparse.REMAINDER)
    try:
        options = top.parse_args(arguments)
        return _guarded(options)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else exits.USAGE
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing more can be written.
        sys.stdout = None
        return exits.OK
    except KeyboardInterrupt:
        print(_("interrupted"), file=sys.stderr)
        return exits.INTERRUPTED


def _speak() -> None:
    """Let argparse take its own words from our catalogue; it would look for one of its own with each parser."""
    vars(argparse).update(_=_, ngettext=ngettext)


def _guarded(options: argparse.Namespace) -> int:
    try:
        return _run(options)
    except Exception as error:
        from agentic_rl_tui.core.models.errors import ArlError

        if not isinstance(error, ArlError):
            raise
        from agentic_rl_tui.app.cli.narrate import tell_error

        return tell_error(error)


def _run(options: argparse.Namespace) -> int:
    if options.verb is None:
        if options.help:
            from agentic_rl_tui.app.cli.help import shown

            sys.stdout.write(shown())
            return exits.OK
        return _open_app(options) if _has_here() else exits.USAGE
    if options.verb == GUIDE_WORD and options.rest and find(options.rest[0]):
        options.verb, *options.rest = options.rest
    verb = find(options.verb)
    if verb is None:
        print(f"{PROGRAM}: {_unknown(options.verb)}", file=sys.stderr)
        print(_see(PROGRAM), file=sys.stderr)
        return exits.USAGE
    if not _has_here():
        return exits.USAGE
    module = import_module(f"agentic_rl_tui.app.cli.{verb.module}")
    parser = Parser(prog=f"{PROGRAM} {verb.name}", description=_("{summary}.").format(summary=_(verb.summary)))
    connection_arguments(parser, default=argparse.SUPPRESS)
    module.arguments(parser)
    for inner in inner_parsers(parser).values():
        connection_arguments(inner, default=argparse.SUPPRESS)
    rest = ["--help", *options.rest] if options.help else options.rest
    chosen = parser.parse_args(rest, argparse.Namespace(**vars(options)))
    result: int = module.run(chosen)
    return result


def _has_here() -> bool:
    """Nearly every verb counts paths from the current directory, which another shell may have removed."""
    try:
        os.getcwd()
    except OSError:
        print(f"{PROGRAM}: {_('the current directory is gone; change to another one')}", file=sys.stderr)
        return False
    return True


def _unknown(word: str) -> str:
    from difflib import get_close_matches

    names = [name for verb in VERBS for name in (verb.name, *verb.aliases)]
    if close := get_close_matches(word.replace("-", "_"), names, n=1):
        return _("there is no verb {verb!r}; did you mean {near!r}?").format(verb=word, near=close[0])
    return _("there is no verb {verb!r}").format(verb=word)


def _see(program: str) -> str:
    return _("See `{program} --help`.").format(program=program)


def _open_app(options: argparse.Namespace) -> int:
    if not has_screen():
        print(
            f"{PROGRAM}:",
            _("the full-screen app needs a terminal on stdin, stdout and stderr; give a verb, see --help"),
            file=sys.stderr,
        )
        return exits.USAGE
    from agentic_rl_tui.app.cli.connect import settings_of

    settings = settings_of(options)
    if not settings.workspace.is_dir():
        told = _("{workspace} is not a directory").format(workspace=settings.workspace)
        print(f"{PROGRAM}: {told}", file=sys.stderr)
        return exits.USAGE
    from agentic_rl_tui.app.tui import run_tui

    return run_tui(settings, read_only=options.read_only, fresh=options.fresh, low_bandwidth=options.low_bandwidth)


def workspace_of(options: argparse.Namespace) -> "Path":
    from pathlib import Path

    return Path(options.workspace or ".").absolute()
