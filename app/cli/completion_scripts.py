"""The completion scripts, made from the parsers of the verbs themselves."""

import argparse
import shlex
from collections.abc import Callable
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
class Option:
    """takes_value: a word follows it. choices: which words, where they are few."""

    text: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow a verb: options by name, and fixed words."""

    names: tuple[str, ...]
    summary: str
    options: dict[str, Option]
    words: tuple[str, ...]

    @property
    def spellings(self) -> tuple[str, ...]:
        """The names with hyphens too: what follows is the same."""
        return tuple(dict.fromkeys([*self.names, *(name.replace("_", "-") for name in self.names)]))

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """Options by the words that may follow them."""
        return {name: option.choices for name, option in self.options.items() if option.choices}


def script(shell: str) -> str:
    verbs = tuple(_words(place) for place in range(len(VERBS)))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](verbs)


def _words(place: int) -> Words:
    verb = VERBS[place]
    parser = argparse.ArgumentParser(prog=verb.name)
    connection_arguments(parser)
    import_module(f"agentic_rl_tui.app.cli.{verb.module}").arguments(parser)
    options: dict[str, Option] = {}
    words: list[str] = []
    for action in _actions(parser):
        choices = tuple(map(str, action.choices or ()))
        text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
        for name in action.option_strings:
            options.setdefault(name, Option(text, action.nargs != 0, choices))
        if not action.option_strings:
            words += choices
    return Words((verb.name, *verb.aliases), _(verb.summary), options, tuple(words))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    found = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found += inner._actions
    return found


def _every_spelling(verbs: tuple[Words, ...], between: str) -> str:
    return between.join(name for verb in verbs for name in verb.spellings)


def _choice_cases(verbs: tuple[Words, ...], answer: Callable[[str], str]) -> list[str]:
    """Branches of a shell's `case` for options that few words may follow."""
    found: dict[tuple[str, ...], list[str]] = {}
    for verb in verbs:
        for option, choices in verb.choices.items():
            found.setdefault(choices, []).extend(f'"{name} {option}"' for name in verb.spellings)
    return [f"        {'|'.join(places)}) {answer(' '.join(choices))} ;;" for choices, places in found.items()]


def _bash(verbs: tuple[Words, ...]) -> str:
    cases = []
    for verb in verbs:
        every = " ".join([*verb.words, *verb.options])
        cases.append(f"        {'|'.join(verb.spellings)}) words={shlex.quote(every)} ;;")
    first = " ".join([*(name for verb in verbs for name in verb.names), *_GLOBAL])
    return "\n".join(
        (
            "_agentic_rl_tui() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words= verb= word",
            '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            f'        case "$word" in {_every_spelling(verbs, "|")}) verb=$word; break ;; esac',
            "    done",
            '    case "$verb" in',
            *cases,
            f"        *) words={shlex.quote(first)} ;;",
            "    esac",
            '    case "$verb $last" in',
            *_choice_cases(verbs, lambda words: f"words={shlex.quote(words)}"),
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
        every = " ".join(map(shlex.quote, [*verb.words, *verb.options]))
        cases.append(f"        {'|'.join(verb.spellings)}) compadd -- {every}; _files ;;")
    return "\n".join(
        (
            f"#compdef {PROGRAM}",
            "_agentic_rl_tui() {",
            "    local word verb=",
            "    for word in ${words[2,CURRENT-1]}; do",
            f'        case "$word" in {_every_spelling(verbs, "|")}) verb=$word; break ;; esac',
            "    done",
            '    if [[ -z "$verb" ]]; then',
            f"        local -a verbs=({' '.join(first)})",
            "        _describe verb verbs",
            f"        compadd -- {' '.join(_GLOBAL)}",
            '        [[ "${words[CURRENT-1]}" == --workspace* ]] && _files -/',
            "        return",
            "    fi",
            '    case "$verb ${words[CURRENT-1]}" in',
            *_choice_cases(verbs, lambda words: f"compadd -- {words}; return"),
            "    esac",
            '    case "$verb" in',
            *cases,
            "    esac",
            "}",
            f"compdef _agentic_rl_tui {PROGRAM}",
        )
    )


def _fish(verbs: tuple[Words, ...]) -> str:
    unsaid = shlex.quote(f"not __fish_seen_subcommand_from {_every_spelling(verbs, ' ')}")
    lines = [f"complete -c {PROGRAM} -n {unsaid} -l {name.lstrip('-')}" for name in _GLOBAL]
    for verb in verbs:
        follows = f"__fish_seen_subcommand_from {' '.join(verb.spellings)}"
        seen = shlex.quote(follows)
        first = f"complete -c {PROGRAM} -f -n {unsaid} -d {shlex.quote(verb.summary)} -a"
        lines += [f"{first} {name}" for name in verb.names]
        for name, option in verb.options.items():
            kind = "-l" if name.startswith("--") else "-s"
            described = f" -d {shlex.quote(option.text)}" if option.text else ""
            value = f" -x -a {shlex.quote(' '.join(option.choices))}" if option.choices else " -r"
            value = value if option.takes_value else ""
            lines.append(f"complete -c {PROGRAM} -n {seen} {kind} {name.lstrip('-')}{value}{described}")
        if verb.words:
            every = " ".join(verb.words)
            # No files before the word, which the word itself may well take.
            still = shlex.quote(f"{follows}; and not __fish_seen_subcommand_from {every}")
            lines.append(f"complete -c {PROGRAM} -f -n {still} -a {shlex.quote(every)}")
    return "\n".join(lines)
