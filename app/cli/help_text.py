"""``--help`` in the language in force, made from the verb table; `help` keeps the English one as text."""

from collections.abc import Iterable

from agentic_rl_tui.app.cli.verbs import VERBS
from agentic_rl_tui.app.language import cells
from agentic_rl_tui.core.i18n import N_, _

GROUPS = (N_("Start"), N_("Functions and data"), N_("Jobs"), N_("Local platform"), N_("This program"))
OPTIONS = (
    ("--profile NAME", N_("local (default, needs no key), dashscope, or one of your own")),
    ("--base-url URL", N_("talk to this server instead of the profile's")),
    ("--api-key KEY", N_("use this key instead of DASHSCOPE_API_KEY")),
    ("--workspace DIR", N_("work on this directory instead of the current one")),
    ("--read-only", N_("open the app without any action that changes something")),
    ("--fresh", N_("open the app anew, not where it was left the last time")),
    ("--low-bandwidth", N_("open the app for a slow line: nothing moves by itself, fewer updates")),
    ("-V, --version", N_("print the version")),
    ("-h, --help", N_("print this text; `agentic-rl-tui VERB --help` tells more of a verb")),
)


def help_text() -> str:
    """The whole text, ending in a newline."""
    program = "agentic-rl-tui"
    called = (
        (f"{program} [OPTIONS]", _("open the full-screen app on this directory")),
        (f"{program} [OPTIONS] VERB ...", _("do one thing and leave")),
    )
    head = _("Usage:")
    first, second = _aligned(called, gap=5)
    blank = " " * cells(head)
    parts = [
        f"{program} - {_('a terminal cockpit for agentic reinforcement learning')}",
        f"{head} {first}\n{blank} {second}",
        *(_block(_(group), _verbs(group)) for group in GROUPS),
        _block(_("Options"), ((option, _(text)) for option, text in OPTIONS)),
        _("Exit codes: 0 ok, 1 rejected, 2 usage or configuration, 3 unreachable, 4 the job failed, 130 interrupted"),
    ]
    return "\n\n".join(parts) + "\n"


def _verbs(group: str) -> Iterable[tuple[str, str]]:
    for verb in VERBS:
        if verb.group == group:
            summary = _(verb.summary)
            if verb.aliases:
                summary = _("{summary} (also: {names})").format(summary=summary, names=", ".join(verb.aliases))
            yield verb.name, summary


def _block(title: str, rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join([title, *(f"  {line}" for line in _aligned(tuple(rows), gap=3))])


def _aligned(rows: tuple[tuple[str, str], ...], *, gap: int) -> list[str]:
    """Two columns; the left ones are names and options, one cell a character in every language."""
    width = max(len(left) for left, _text in rows) + gap
    return [f"{left:{width}}{text}" for left, text in rows]
