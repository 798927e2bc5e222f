import sys
from collections.abc import Iterable

from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.redact import redact
from agentic_rl_tui.core.models.text import plain

GLYPHS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "·"}


def tell_problems(problems: Iterable[SourceProblem], note: str = "") -> None:
    """One line a problem on stderr, with its place first, so that editors can jump to it."""
    for problem in problems:
        place = f"{problem.path}:{problem.line}:{problem.col}" if problem.line else problem.path
        told = with_advice(problem.message, problem.advice)
        text = f"{GLYPHS[problem.severity]} {place}: {told} [{problem.rule}]"
        print(plain(redact(text), keep_newlines=False), file=sys.stderr)
    if note:
        print(plain(redact(note)), file=sys.stderr)


def with_advice(message: str, advice: str | None) -> str:
    return _("{message} {advice}").format(message=message, advice=advice) if advice else message


def problem_data(problem: SourceProblem) -> dict[str, object]:
    return {
        "file": problem.path,
        "line": problem.line,
        "col": problem.col,
        "severity": problem.severity.value,
        "rule": problem.rule,
        "message": problem.message,
        "advice": problem.advice,
    }
