"""Reading the nodes of a job file against the schema: values out, and every value that does not fit."""

from collections.abc import Callable, Mapping
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.diagnostics import Severity
from agentic_rl_tui.core.jobfile.keys import Key, Kind
from agentic_rl_tui.core.jobfile.names import closest
from agentic_rl_tui.core.jobfile.render import render_inline
from agentic_rl_tui.core.jobfile.schema import ROOT
from agentic_rl_tui.core.jobfile.tree import (
    GIVEN,
    IMPLICIT,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    is_null,
    key_text,
)
from agentic_rl_tui.core.jobfile.values import DROP, ValueReader

_MAX_DEPTH = 24
_MAX_GUESSES = 200


class Walker(ValueReader):
    """One pass over the tree. Misspelt names are read as what they were meant to be, so that a correction of the
    name brings up nothing new."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._budget = 20_000 + len(context.source.text)
        self._guesses = 0

    def read(self) -> dict[str, Any]:
        """The values of the whole file; parts that could not be read are left out."""
        root = self.context.root
        if root is None:
            return {}
        if not isinstance(root, MappingNode):
            what = _("a list") if isinstance(root, SequenceNode) else _("a single value")
            self.context.report(
                "yaml-mapping", root, _("The file is {what}; a job file is keys with values.").format(what=what)
            )
            return {}
        value = self._section(root, ROOT, ())
        return value if isinstance(value, dict) else {}

    def _enter(self, node: Node, path: Path) -> bool:
        """Whether a collection may be read: not too deep, and not blown up by aliases."""
        self._budget -= 1 + len(node.value)
        if self._budget < 0:
            if self._budget > -(10**9):
                self._budget = -(10**9)
                self._report("yaml-alias", node, _("Aliases blow this file up beyond any use."))
            return False
        if len(path) > _MAX_DEPTH:
            self._report("yaml-depth", node, _("Nested too deeply, or an alias leads back to itself."))
            return False
        if node.tag not in (IMPLICIT, GIVEN):
            self._check_tag(node)
        return True

    def _section(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, MappingNode):
            return self._no_section(node, key, path)
        if not self._enter(node, path):
            return DROP
        self._check_duplicates(node)
        known = key.keys
        values: dict[str, Any] = {}
        entries = self.context.entries(node)
        for key_node, value_node in entries:
            name = key_text(key_node)
            entry = None if name is None else known.get(name)
            if entry is None:
                entry = self._unknown(key_node, value_node, key, entries, path, values)
                if entry is None:
                    continue
            name = entry.name
            if isinstance(value_node, ScalarNode) and value_node.value == "" and not value_node.style:
                value = self._null(key_node, entry, key, (*path, name))
            else:
                value = _READERS[entry.kind](self, value_node, entry, (*path, name))
            if value is not DROP:
                values[name] = value
        return values

    def _no_section(self, node: Node, key: Key, path: Path) -> Any:
        if is_null(node):
            if not key.is_nullable or isinstance(path[-1], int):
                self._report(
                    "null-value", node, _("{name} is empty.").format(name=key.name or _("This")), self._removal(path)
                )
                return DROP
            return DROP
        fix = None
        if path == ("model",) and isinstance(node, ScalarNode):
            fix = self.context.fix(_("Write it as model.name"), self.context.set(path, {"name": str(node.value)}))
            self._wrong(node, key, fix)
            return {"name": str(node.value)}
        return self._wrong(node, key)

    def _check_duplicates(self, node: Node) -> None:
        names = [key_node.value for key_node, _ in node.value if type(key_node) is ScalarNode]
        if len(set(names)) == len(names) and not self.context.has_merges:
            return
        first: dict[str, int] = {}
        for index, (key_node, value_node) in enumerate(node.value):
            name = key_text(key_node)
            if name == "<<" and isinstance(key_node, ScalarNode) and not key_node.style:
                self._check_merge(value_node)
            if name is None or name == "<<":
                continue
            if name in first:
                earlier = node.value[first[name]][0]
                line = self.context.source.lines.position(self.context.source.start(earlier))[0]
                edits = self.context.remove_entry(node, first[name]) if key_node.tag != GIVEN else None
                fix = self.context.fix(_("Remove the first {name}").format(name=name), edits)
                self._report(
                    "yaml-duplicate",
                    key_node,
                    _("{name} is given already in line {line}.").format(name=name, line=line),
                    fix,
                )
            first[name] = index

    def _check_merge(self, node: Node) -> None:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        if not all(isinstance(part, MappingNode) for part in parts):
            self._report("yaml-merge", node, _("'<<' needs a mapping to merge."))

    def _unknown(
        self,
        key_node: Node,
        value_node: Node,
        section: Key,
        entries: list[tuple[Node, Node]],
        path: Path,
        values: dict[str, Any],
    ) -> Key | None:
        """Deal with a key the schema does not name; the entry it was meant to be, if that is clear."""
        name = key_text(key_node)
        if name is None:
            self._report("yaml-key", key_node, _("A key must be a single text."))
            return None
        if name.startswith("x-") and len(name) > 2:
            self._foreign(key_node, value_node, section, path, values)
            return None
        guess = self._guess(name, section.keys)
        rivals = [value for key, value in entries if key_text(key) == guess]
        rule = "unknown-key" if guess or not section.is_open else "unknown-parameter"
        fix = None
        if guess and not rivals and key_node.tag != GIVEN:
            fix = self.context.fix(
                _("Rename to {guess}").format(guess=guess), self.context.patcher.rename(key_node, guess)
            )
        self._report(rule, key_node, _no_key(name, path, guess, is_given=bool(rivals)), fix)
        if guess and not rivals:
            key_node.value = guess
        if guess and all(map(is_null, rivals)):
            return section.keys[guess]
        if section.is_open:
            value = self._any(value_node, section, (*path, name))
            if value is not DROP:
                values[name] = value
        return None

    def _foreign(self, key_node: Node, value_node: Node, section: Key, path: Path, values: dict[str, Any]) -> None:
        name = str(key_node.value)
        value = self._any(value_node, section, (*path, name))
        if section.is_open:
            if value is not DROP:
                values[name[2:]] = value
            return
        self._report("foreign-key", key_node, _("{name} takes no part in the job.").format(name=name))

    def _guess(self, name: str, known: Mapping[str, Key]) -> str | None:
        self._guesses += 1
        return closest(name, known) if self._guesses <= _MAX_GUESSES else None

    def _null(self, key_node: Node, key: Key, section: Key, path: Path) -> Any:
        """A key with nothing behind it."""
        if not key.is_nullable:
            self._report("null-value", key_node, _("{name} is empty.").format(name=key.name), self._removal(path))
            return DROP
        if section.is_open:
            self._report(
                "null-value",
                key_node,
                _("{name} is empty, as if it were not there.").format(name=key.name),
                self._removal(path),
                Severity.WARNING,
            )
        return DROP

    def _list(self, node: Node, key: Key, path: Path) -> Any:
        if not isinstance(node, SequenceNode):
            if is_null(node):
                self._report("null-value", node, _("{name} is empty.").format(name=key.name), self._removal(path))
                return DROP
            return self._wrong(node, key)
        if not self._enter(node, path) or key.item is None:
            return DROP
        return [_READERS[key.item.kind](self, item, key.item, (*path, index)) for index, item in enumerate(node.value)]

    def _texts(self, node: Node, key: Key, path: Path) -> Any:
        if isinstance(node, SequenceNode):
            if not self._enter(node, path):
                return DROP
            found = [self._text(item, key, (*path, index)) for index, item in enumerate(node.value)]
            return [item for item in found if isinstance(item, str)]
        if isinstance(node, ScalarNode) and not is_null(node):
            value = self._text(node, key, path)
            fix = self._rewrite(_("Make it a list"), node, render_inline([value])) if isinstance(value, str) else None
            self._wrong(node, key, fix)
            return [value] if isinstance(value, str) else DROP
        if is_null(node):
            return self._null_value(node, key, path)
        return self._wrong(node, key)

    def _numbers(self, node: Node, key: Key, path: Path) -> Any:
        if is_null(node):
            return DROP
        if not isinstance(node, MappingNode):
            return self._wrong(node, key)
        if not self._enter(node, path):
            return DROP
        self._check_duplicates(node)
        number = Key(key.name, Kind.NUMBER, "", is_nullable=False)
        found: dict[str, Any] = {}
        for key_node, value_node in self.context.entries(node):
            name = key_text(key_node)
            if name is None:
                self._report("yaml-key", key_node, _("A key must be a single text."))
                continue
            value = self._number(value_node, number, (*path, name))
            if isinstance(value, (int, float)):
                found[name] = float(value)
        return found

    def _named_values(self, node: Node, key: Key, path: Path) -> Any:
        if is_null(node):
            return self._null_value(node, key, path)
        if not isinstance(node, MappingNode):
            return self._wrong(node, key)
        if key.name != "env":
            return self._any(node, key, path)
        if not self._enter(node, path):
            return DROP
        self._check_duplicates(node)
        found: dict[str, Any] = {}
        for key_node, value_node in self.context.entries(node):
            name = key_text(key_node)
            if name is None:
                self._report("yaml-key", key_node, _("A key must be a single text."))
            elif isinstance(value_node, ScalarNode):
                found[name] = self._scalar(value_node, name, is_text=True)
            else:
                self._report("wrong-type", value_node, _("{name} must be a single value.").format(name=name))
        return found

    def _any(self, node: Node, key: Key, path: Path) -> Any:
        if isinstance(node, ScalarNode):
            return self._scalar(node, str(path[-1]))
        if not self._enter(node, path):
            return DROP
        if isinstance(node, SequenceNode):
            items = [self._any(item, key, (*path, index)) for index, item in enumerate(node.value)]
            return [item for item in items if item is not DROP]
        self._check_duplicates(node)
        found: dict[str, Any] = {}
        for key_node, value_node in self.context.entries(node):
            name = key_text(key_node)
            if name is None:
                self._report("yaml-key", key_node, _("A key must be a single text."))
                continue
            value = self._any(value_node, key, (*path, name))
            if value is not DROP:
                found[name] = value
        return found


# Not in the walker: it would hold itself, and with it every node of a large file until the collector comes.
_READERS: Mapping[Kind, Callable[[Walker, Node, Key, Path], Any]] = {
    Kind.TEXT: Walker._text,
    Kind.INT: Walker._number,
    Kind.NUMBER: Walker._number,
    Kind.BOOL: Walker._bool,
    Kind.CHOICE: Walker._choice,
    Kind.SECTION: Walker._section,
    Kind.LIST: Walker._list,
    Kind.TEXTS: Walker._texts,
    Kind.NUMBERS: Walker._numbers,
    Kind.VALUES: Walker._named_values,
    Kind.ANY: Walker._any,
}


def _no_key(name: str, path: Path, guess: str | None, *, is_given: bool) -> str:
    said = _("{name} is no key in {section}") if path else _("{name} is no key")
    if is_given:
        message = _("{problem}; {guess} is given already.")
    elif guess:
        message = _("{problem}; did you mean {guess}?")
    else:
        message = _("{problem}.")
    problem = said.format(name=name, section=".".join(map(str, path)))
    return message.format(problem=problem, guess=guess)
