"""Sentences that people read are marked for translation: no literal sentence stands bare where texts are shown."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "app",
    "core/client",
    "core/datasets",
    "core/functions",
    "core/jobfile",
    "core/models",
    "core/sdk",
    "core/templates",
)
FILES = ("core/settings.py", "core/textfile.py", "core/drafts.py", "core/workspaces.py", "core/launch.py")
LEFT_OUT = (
    "built-in",
    "app/docs",
    "app/cli/help.py",
    # These speak in the user's process or as the service does, whose words are English.
    "core/functions/worker/",
    "core/functions/processors/",
    "core/functions/server.py",
    "core/functions/stacks.py",
    "core/functions/package_script.py",
    "core/tracing/",
    # These write the problems of the templates.
    "core/templates/arithmetic.py",
    "core/templates/errands.py",
    "core/templates/stories.py",
)

NO_SENTENCES = {
    "app/cli/completion.py": r"bash|fish",
    "app/cli/completion_scripts.py": r".",  # scripts of shells
    "app/cli/dry_run.py": r"^<",  # stand-ins for ids inside requests
    "app/screens/palette.py": r"Page (up|down)",  # names of keys, compared
    "core/client/failures.py": r"complete message body",  # words of the HTTP library
    "core/client/plain.py": r".",  # words that the HTTP library would have used
    "core/functions/harness_answer.py": r"the whole|the answer$",  # words of the worker
    "core/functions/harness_inputs.py": r"I do not know",  # an answer that a model might give
    "core/functions/environments.py": r"^import sys",
    "core/functions/package_rules.py": r"^(ignore file|too big)$",  # words of the JSON output
    "core/jobfile/catalog.py": r"^(rl |student )",
    "core/jobfile/keys.py": r"model-studio|Agentic RL user guide|dashscope 2",  # names of sources
    "core/jobfile/tree.py": r"find expected|allowed|unexpected end|cannot start|found|maximum nesting",  # of the parser
    "core/sdk/origins.py": r" bytes, ",
    "core/settings.py": r"^profile $|^ in $",  # origins are words of the JSON output
}
"""Literals that look like sentences and are none, by file."""

MARKS = {"_", "N_", "ngettext", "pgettext"}
FOR_PROGRAMMERS = {"AssertionError", "ValueError", "TypeError", "RuntimeError", "KeyError", "AttributeError", "warn"}
LOG_METHODS = {"debug", "info", "warning", "error", "exception", "log"}
SENTENCE = re.compile(r"(?<![\w.$/-])(?:[A-Za-z]{2,},?|[aAI]) [a-z]{2,}|^[A-Z][a-z]+ …|^ ?(?:or|and|to|in) ?$")
NO_TEXT = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ALTER|DROP|BEGIN|WITH)\b")


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found += [ROOT / name for name in FILES]
    return [path for path in found if not any(part in path.as_posix() for part in LEFT_OUT)]


def bare_sentences(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every literal sentence that is no docstring, no mark's argument and not for programmers."""
    yield from _bare(ast.parse(source))


def _bare(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and _name(node.func) in MARKS | FOR_PROGRAMMERS:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOG_METHODS:
        owner = node.func.value
        if _name(owner).lower().lstrip("_") in ("log", "logger", "logging"):
            return
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _bare(node.value)
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for child in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            yield from _bare(child)
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, of a class or of a name
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and SENTENCE.search(node.value) and not NO_TEXT.match(node.value):
            yield node.lineno, node.value
        return
    for child in ast.iter_child_nodes(node):
        yield from _bare(child)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_sentence_is_marked(path: Path) -> None:
    known = NO_SENTENCES.get(path.relative_to(ROOT).as_posix(), "$^")
    found = bare_sentences(path.read_text(encoding="utf-8"))
    assert [(line, text) for line, text in found if not re.search(known, text)] == []


def test_a_bare_sentence_is_found_and_a_marked_one_is_not() -> None:
    source = '''
"""A docstring of words."""
TITLE = "Keys that work here"
MARKED = N_("Keys that work here")
def told(count: "int | None" = None) -> str:
    """What it tells of."""
    log.info("written for the log")
    raise ValueError("never more than one")
    return f"there are {count} jobs" + _("all is well") + "SELECT id FROM jobs" + "the-name of"
'''
    assert list(bare_sentences(source)) == [(3, "Keys that work here"), (9, "there are ")]
