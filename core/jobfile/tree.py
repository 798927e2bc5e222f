"""The YAML text as nodes that know where they stand, and what is wrong with its syntax.

PyYAML's C parser composes the nodes; values are left as text, so that they can be read by our own rules.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.diagnostics import Lines
from agentic_rl_tui.core.jobfile.scalars import read_plain

__all__ = ["MappingNode", "Node", "Path", "ScalarNode", "SequenceNode", "Source", "SyntaxProblem", "parse"]

Path = tuple[str | int, ...]

IMPLICIT = "?"
"""The tag of a node without an explicit one."""

GIVEN = "given"
"""The tag of a node made from a value that came from outside the file; a scalar's `value` is then the value itself."""

_MAX_REPAIRS = 4
_TOP_KEY = re.compile(
    r"^[^\s#\-\[\]{},&*!|>'\"%@`][^\r\n]*?:(?=[ \t\r\n]|$)|^[\"'][^\r\n]*?[\"']:(?=[ \t\r\n]|$)", re.M
)
_NOT_BREAK = re.compile(r"[^\r\n]")
_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:\s+(?:#[^\r\n]*\s+)*|$))+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADING_TAB = re.compile(r"^ *\t[\t ]*(?=[^\s#])", re.M)


class _Untyped:
    """A resolver that leaves every node untyped: half of the time to compose goes into types we read ourselves."""

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> str:
        return IMPLICIT

    def descend_resolver(self, *_: Any) -> None: ...

    def ascend_resolver(self) -> None: ...


class _PureComposer(_Untyped, Reader, Scanner, Parser, Composer):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


_composer: Any = _PureComposer
if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _CComposer(_Untyped, CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)

    _composer = _CComposer


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """start and end are offsets into the text of the source."""

    kind: str
    message: str
    start: int
    end: int


@dataclass(slots=True)
class Source:
    """A parsed text. shift is what has to be added to the parser's offsets (1 after a byte order mark)."""

    text: str
    lines: Lines
    root: Node | None = None
    problems: list[SyntaxProblem] = field(default_factory=list)
    shift: int = 0

    @property
    def is_whole(self) -> bool:
        """False when parts of the text had to be left out because of their syntax."""
        return not any(problem.kind in {"syntax", "tab"} for problem in self.problems)

    def start(self, node: Node) -> int:
        return int(node.start_mark.index) + self.shift

    def content(self, node: Node) -> int:
        """The offset where a node's own text begins, behind its anchor and tag."""
        start = self.start(node)
        match = _PROPERTIES.match(self.text, start)
        return match.end() if match and match.end() <= int(node.end_mark.index) + self.shift else start

    def end(self, node: Node) -> int:
        """The offset after the last character that belongs to a node: no comment or blank line behind it."""
        while True:  # downwards along the last values, which may be many levels deep
            stop = int(node.end_mark.index) + self.shift
            if isinstance(node, ScalarNode):
                if node.style in ("|", ">"):
                    start = self.start(node)
                    return start + len(self.text[start:stop].rstrip())
                return stop
            if is_flow(node) or not node.value:
                return stop
            if isinstance(node, MappingNode):
                key, value = node.value[-1]
                after = self.end(key)
                if self.start(value) < after:
                    return self.alias_span(after)[1]
                node = value
            elif self.is_alias(node, -1):
                return self.alias_span(self._end_before_last(node))[1]
            else:
                node = node.value[-1]

    def _end_before_last(self, sequence: Node) -> int:
        if len(sequence.value) > 1 and not self.is_alias(sequence, -2):
            return self.end(sequence.value[-2])
        return self.start(sequence)

    def is_alias(self, sequence: Node, index: int) -> bool:
        """An alias leads to a node that stands before the place where it is used."""
        return self.start(sequence.value[index]) < self.start(sequence)

    def alias_span(self, after: int) -> tuple[int, int]:
        """Where the first alias behind an offset stands."""
        match = _ALIAS.search(self.text, after)
        return match.span() if match else (after, after)

    def value_span(self, key: Node, value: Node) -> tuple[int, int]:
        """Where a mapping's value is written: an alias stands here, its node elsewhere."""
        after = self.end(key)
        start = self.start(value)
        return self.alias_span(after) if start < after else (start, self.end(value))

    def newline(self) -> str:
        """The line end that the text uses."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


def parse(text: str) -> Source:
    """Parse a text; never raises. On a syntax error the other top-level sections are still read."""
    with uncollected():
        return _parse(text)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: tens of thousands of objects are made here and none of them is garbage.

    Collecting costs a third of the time, and holds up every other thread while it lasts.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _parse(text: str) -> Source:
    source = Source(text, Lines(text))
    body = _SURROGATE.sub("\ufffd", text)
    if body.startswith("\ufeff"):
        source.shift = 1
        body = body[1:]
    if not body.strip():
        source.problems.append(SyntaxProblem("empty", _("the file is empty"), 0, len(text)))
        return source
    for _round in range(_MAX_REPAIRS):
        problem = _compose(source, body)
        if problem is None:
            break
        if not _note_tabs(source, problem):
            source.problems.append(problem)
        repaired = _without_section(body, problem.start - source.shift)
        if repaired is None:
            break
        body = repaired
    source.problems.sort(key=lambda problem: problem.start)
    return source


def _compose(source: Source, body: str) -> SyntaxProblem | None:
    """Set the root of the source, or return what the parser stumbled over."""
    composer = None
    try:
        composer = _composer(body)
        if not composer.check_node():
            source.problems.append(SyntaxProblem("empty", _("the file holds nothing but comments"), 0, 0))
            return None
        source.root = composer.get_node()
        _note_more_documents(source, composer)
        return None
    except yaml.YAMLError as error:
        return _syntax_problem(source, body, error)
    except RecursionError:
        return SyntaxProblem("syntax", _("the file is nested too deeply"), source.shift, source.shift)
    finally:
        if composer is not None and hasattr(composer, "dispose"):
            composer.dispose()


def _note_more_documents(source: Source, composer: Any) -> None:
    """A second document is not read; an error inside it does not matter."""
    try:
        if not composer.check_node():
            return
        start = int(composer.get_node().start_mark.index) + source.shift
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        start = (mark.index if mark is not None else 0) + source.shift
    dashes = source.text.rfind("\n---", 0, start + 3)
    place = dashes + 1 if dashes >= 0 else start
    source.problems.append(SyntaxProblem("documents", _("a second document starts here"), place, place + 3))


def _syntax_problem(source: Source, body: str, error: yaml.YAMLError) -> SyntaxProblem:
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    words = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    context = getattr(error, "context", None)
    position = getattr(error, "position", 0)
    at = int(mark.index) if mark is not None else (position if isinstance(position, int) else 0)
    is_far = at >= len(body.rstrip()) or "could not find expected" in words or "flow" in str(context)
    if context_mark is not None and is_far:
        at = int(context_mark.index)
    at = min(max(at, 0), max(len(body) - 1, 0))
    message = _plain_words(words, str(context or ""))
    start = at + source.shift
    return SyntaxProblem("syntax", message, start, min(start + 1, len(source.text)))


_PLAIN_WORDS = (
    (
        "did not find expected key",
        N_("the indentation does not fit, or a value with ': ' or '#' in it needs quotes"),
    ),
    ("mapping values are not allowed", N_("a second ': ' in this line: quote the value, or check the indentation")),
    ("could not find expected ':'", N_("a key without ': ' behind it")),
    ("found unexpected end of stream", N_("a quote is not closed")),
    (
        "found character that cannot start any token",
        N_("this character cannot start a value; put the value in quotes"),
    ),
    ("cannot start any token", N_("this character cannot start a value; put the value in quotes")),
    ("did not find expected '-' indicator", N_("the list items do not line up")),
    ("block sequence entries are not allowed", N_("a list item cannot stand here; start it on a line of its own")),
    ("did not find expected ',' or ']'", N_("a ',' or ']' is missing")),
    ("did not find expected ',' or '}'", N_("a ',' or '}' is missing")),
    ("found undefined alias", N_("the alias has no anchor of this name before it")),
    ("found duplicate anchor", N_("this anchor name is taken")),
    ("control characters are not allowed", N_("a control character, which YAML does not allow")),
    ("special characters are not allowed", N_("a control character, which YAML does not allow")),
    ("exceeded maximum nesting depth", N_("the file is nested too deeply")),
    ("found unknown escape character", N_("an unknown escape in double quotes; use single quotes")),
)


def _plain_words(words: str, context: str) -> str:
    for needle, plain in _PLAIN_WORDS:
        if needle in words:
            return _(plain)
    return f"{context}: {words}" if context else words


def _note_tabs(source: Source, problem: SyntaxProblem) -> bool:
    """Whether a tab in the indentation explains a problem; every such tab is then noted, once."""
    line = source.lines.position(problem.start)[0]
    tabs = [match for match in _LEADING_TAB.finditer(source.text) if "\t" in match[0]]
    if not any(source.lines.position(tab.start())[0] in (line, line - 1) for tab in tabs):
        return False
    if not any(known.kind == "tab" for known in source.problems):
        source.problems += [SyntaxProblem("tab", _("a tab indents this line"), tab.start(), tab.end()) for tab in tabs]
    return True


def _without_section(body: str, at: int) -> str | None:
    """The text with the top-level section around an offset blanked out, or None when nothing would be left."""
    starts = [match.start() for match in _TOP_KEY.finditer(body)]
    if len(starts) < 2:
        return None
    before = [start for start in starts if start <= at]
    start = before[-1] if before else 0
    end = next((other for other in starts if other > start and other > at), len(body))
    blanked = _NOT_BREAK.sub(" ", body[start:end])
    rest = body[:start] + blanked + body[end:]
    return rest if rest != body and rest.strip() else None


def is_flow(node: Node) -> bool:
    """Whether a collection is written with brackets."""
    return bool(getattr(node, "flow_style", False))


def is_null(node: Node) -> bool:
    """Whether a node is nothing: empty, ``~`` or ``null``, or None from outside."""
    if not isinstance(node, ScalarNode):
        return False
    if node.tag == GIVEN:
        return node.value is None
    return not node.style and read_plain(node.value).value is None


def key_text(node: Node) -> str | None:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else None


def child(node: Node | None, step: str | int) -> Node | None:
    """The value under a key (the last of that name, as a loader would take it) or at an index."""
    if isinstance(node, MappingNode) and isinstance(step, str):
        return next((value for key, value in reversed(node.value) if key.value == step), None)
    if isinstance(node, SequenceNode) and isinstance(step, int) and -len(node.value) <= step < len(node.value):
        item: Node = node.value[step]
        return item
    return None


def find(root: Node | None, path: Path) -> Node | None:
    node = root
    for step in path:
        node = child(node, step)
    return node
