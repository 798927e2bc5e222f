"""The completion scripts, made from the parsers of the verbs themselves."""

import argparse
import shlex
from dataclasses import dataclass
from importlib import import_module

from agentic_rl_tui.app.cli.dispatch import PROGRAM, connection_arguments
from agentic_rl_tui.app.cli.verbs import VERBS
from agentic_rl_tui.core.i18n import _

_GLOBAL = (
    "--profile",
    "--base-url",
    "--api-key",
    "--workspace",
    "--read-only",
    "--fresh",
    "--low-bandwidth",
    "--version",
    "--help",
)


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow a verb: options with their help, and fixed words."""

    verb: str
    names: tuple[str, ...]
    summary: str
    options: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


def script(shell: str) -> str:
    verbs = tuple(_words(place) for place in range(len(VERBS)))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](verbs)


def _words(place: int) -> Words:
    verb = VERBS[place]
    parser = argparse.ArgumentParser(prog=verb.name)
    connection_arguments(parser)
    import_module(f"agentic_rl_tui.app.cli.{verb.module}").arguments(parser)
    options: dict[str, str] = {}
    words: list[str] = []
    for action in _actions(parser):
        for name in action.option_strings:
            options.setdefault(name, "" if action.help in (None, argparse.SUPPRESS) else str(action.help))
        if not action.option_strings and action.choices is not None:
            words += [str(choice) for choice in action.choices]
    return Words(verb.name, (verb.name, *verb.aliases), _(verb.summary), tuple(options.items()), tuple(words))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    found = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found += inner._actions
    return found


def _bash(verbs: tuple[Words, ...]) -> str:
    cases = []
    for verb in verbs:
        every = " ".join([*verb.words, *(name for name, _ in verb.options)])
        cases.append(f"        {'|'.join(verb.names)}) words={shlex.quote(every)} ;;")
    first = " ".join([*(name for verb in verbs for name in verb.names), *_GLOBAL])
    return "\n".join(
        (
            "_agentic_rl_tui() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} words verb=${COMP_WORDS[1]}",
            "    [ $COMP_CWORD -eq 1 ] && verb=",
            '    case "$verb" in',
            *cases,
            f"        *) words={shlex.quote(first)} ;;",
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            f"complete -o default -F _agentic_rl_tui {PROGRAM}",
        )
    )


def _zsh(verbs: tuple[Words, ...]) -> str:
    first = [shlex.quote(f"{name}:{verb.summary}") for verb in verbs for name in verb.names]
    cases = []
    for verb in verbs:
        every = " ".join(shlex.quote(name) for name in [*verb.words, *(name for name, _ in verb.options)])
        cases.append(f"        {'|'.join(verb.names)}) compadd -- {every}; _files ;;")
    return "\n".join(
        (
            f"#compdef {PROGRAM}",
            "_agentic_rl_tui() {",
            "    if (( CURRENT == 2 )); then",
            f"        local -a verbs=({' '.join(first)})",
            "        _describe verb verbs",
            f"        compadd -- {' '.join(_GLOBAL)}",
            "        return",
            "    fi",
            '    case "$words[2]" in',
            *cases,
            "        *) _files ;;",
            "    esac",
            "}",
            f"compdef _agentic_rl_tui {PROGRAM}",
        )
    )


def _fish(verbs: tuple[Words, ...]) -> str:
    lines = [f"complete -c {PROGRAM} -n __fish_use_subcommand -l {name.lstrip('-')}" for name in _GLOBAL]
    for verb in verbs:
        seen = f"__fish_seen_subcommand_from {' '.join(verb.names)}"
        first = f"complete -c {PROGRAM} -f -n __fish_use_subcommand -d {shlex.quote(verb.summary)} -a"
        lines += [f"{first} {name}" for name in verb.names]
        for option, text in verb.options:
            kind = "-l" if option.startswith("--") else "-s"
            described = f" -d {shlex.quote(text)}" if text else ""
            lines.append(f"complete -c {PROGRAM} -n {shlex.quote(seen)} {kind} {option.lstrip('-')}{described}")
        if verb.words:
            lines.append(f"complete -c {PROGRAM} -n {shlex.quote(seen)} -a {shlex.quote(' '.join(verb.words))}")
    return "\n".join(lines)
