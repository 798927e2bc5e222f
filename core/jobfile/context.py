"""What the checks share: the nodes, the values read from them, and the list of what was found."""

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.diagnostics import Diagnostic, Fix, Severity
from agentic_rl_tui.core.jobfile.edit import CannotEdit, Edits, Patcher
from agentic_rl_tui.core.jobfile.facts import WorkspaceFacts
from agentic_rl_tui.core.jobfile.rules import RULES
from agentic_rl_tui.core.jobfile.tree import (
    GIVEN,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Source,
    child,
    is_null,
    key_text,
)
from agentic_rl_tui.core.models.functions import FunctionKind

_MAX_MERGES = 32


@dataclass(slots=True)
class FunctionView:
    """A function as the checks see it: where it stands and the values that could be read."""

    index: int
    values: dict[str, Any]
    kind: FunctionKind = FunctionKind.ROLLOUT

    @property
    def path(self) -> Path:
        return ("functions", self.index)

    @property
    def label(self) -> str:
        name = self.values.get("name")
        return f"{self.kind.value} {name!r}" if name else f"{self.kind.value} {self.index + 1}"


@dataclass(slots=True)
class Context:
    """One check. root is the tree with overrides laid over it; the source keeps the tree of the text alone.

    expected holds the hyper-parameters with the values that would be put in for those that are missing: rules that
    look at several of them use it, so that filling the gaps brings up nothing new.
    """

    source: Source
    root: Node | None
    path: FilePath
    facts: WorkspaceFacts | None = None
    values: dict[str, Any] = field(default_factory=dict)
    functions: list[FunctionView] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    training_rows: int | None = None
    expected: dict[str, Any] = field(default_factory=dict)
    has_merges: bool = False
    model_guess: str | None = None
    _merged: dict[int, list[tuple[Node, Node]]] = field(default_factory=dict)
    _patcher: Patcher | None = None

    def __post_init__(self) -> None:
        self.has_merges = "<<" in self.source.text

    @property
    def patcher(self) -> Patcher:
        if self._patcher is None:
            self._patcher = Patcher(self.source)
        return self._patcher

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyper-parameters that could be read."""
        found = self.values.get("training", {}).get("hyper_parameters")
        return found if isinstance(found, dict) else {}

    @property
    def model_name(self) -> str | None:
        """The base model; of a misspelt name, the model it was meant to be."""
        if self.model_guess is not None:
            return self.model_guess
        model = self.values.get("model")
        name = model.get("name") if isinstance(model, dict) else None
        return name if isinstance(name, str) and name else None

    def entries(self, node: Node) -> list[tuple[Node, Node]]:
        """The entries of a mapping with merges followed; own keys come last and win."""
        if not self.has_merges:
            found: list[tuple[Node, Node]] = node.value
            return found
        known = self._merged.get(id(node))
        if known is None:
            known = self._merged[id(node)] = self._merge(node, 0)
        return known

    def _merge(self, node: Node, depth: int) -> list[tuple[Node, Node]]:
        bases: list[tuple[Node, Node]] = []
        own: list[tuple[Node, Node]] = []
        for key, value in node.value:
            if key_text(key) != "<<":
                own.append((key, value))
                continue
            parts = list(reversed(value.value)) if isinstance(value, SequenceNode) else [value]
            for part in parts:
                if isinstance(part, MappingNode) and depth < _MAX_MERGES:
                    bases += self._merge(part, depth + 1)
        names = {key_text(key) for key, _ in own}
        last = {key_text(key): (key, value) for key, value in bases}
        return [entry for name, entry in last.items() if name not in names] + own

    def child(self, node: Node | None, step: str | int) -> Node | None:
        if isinstance(node, MappingNode) and isinstance(step, str):
            for key, value in reversed(self.entries(node)):
                if key.value == step:
                    return value
            return None
        return child(node, step)

    def node(self, path: Path) -> Node | None:
        node = self.root
        for step in path:
            node = self.child(node, step)
        return node

    def has(self, path: Path) -> bool:
        return self.node(path) is not None

    def is_filled(self, path: Path) -> bool:
        """Whether something is written at a path, readable or not."""
        node = self.node(path)
        return node is not None and not is_null(node)

    def names(self, path: Path) -> set[str]:
        """The keys of the section at a path, readable or not."""
        node = self.node(path)
        if not isinstance(node, MappingNode):
            return set()
        return {name for key, _ in self.entries(node) if (name := key_text(key)) is not None}

    def key(self, path: Path) -> Node | None:
        """The key node of a path that ends in a key."""
        parent = self.node(path[:-1])
        if not isinstance(parent, MappingNode):
            return None
        return next((key for key, _ in reversed(self.entries(parent)) if key_text(key) == path[-1]), None)

    def report(
        self,
        rule_id: str,
        place: Node | tuple[int, int] | None,
        message: str,
        *,
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Note a problem at a node, at offsets, or (None) at the top of the file."""
        rule = RULES[rule_id]
        if isinstance(place, Node):
            if place.tag == GIVEN:
                fix = None
                message = _("{message} (given outside the file)").format(message=message)
            start, end = self._span(place)
        else:
            start, end = place or (self.source.shift, self.source.shift + 1)
        line, col = self.source.lines.position(start)
        line_end = self.source.lines.offset(line + 1, 1) if line < len(self.source.lines.starts) else None
        visible = self.source.text[start : min(end, line_end) if line_end is not None else end].rstrip("\r\n")
        end = start + max(len(visible), 0)
        if line == 1:
            col -= self.source.shift
        self.diagnostics.append(
            Diagnostic(
                file=str(self.path),
                line=line,
                col=max(col, 1),
                end_col=max(col, 1) + max(end - start, 1),
                severity=severity or rule.severity,
                rule=rule_id,
                message=message,
                why=rule.reason,
                fix=fix,
                start=start,
                end=end,
            )
        )

    def _span(self, node: Node) -> tuple[int, int]:
        if node.tag == GIVEN or isinstance(node, ScalarNode):
            start = self.source.start(node)
            return start, max(self.source.end(node) if node.tag != GIVEN else start + 1, start)
        if isinstance(node, MappingNode) and node.value and not node.flow_style:
            key = node.value[0][0]
            return self.source.start(key), self.source.end(key)
        start = self.source.start(node)
        return start, start + 1

    def report_at(
        self, rule_id: str, path: Path, message: str, *, fix: Fix | None = None, severity: Severity | None = None
    ) -> None:
        """Note a problem at the value of a path, or at the nearest section above it that exists."""
        node = self.node(path)
        if node is None or (not isinstance(node, ScalarNode) and path):
            node = self._nearest_key(path)
        self.report(rule_id, node, message, fix=fix, severity=severity)

    def _nearest_key(self, path: Path) -> Node | None:
        for length in range(len(path), 0, -1):
            part = path[:length]
            if isinstance(part[-1], str):
                key = self.key(part)
                if key is not None:
                    return key
            else:
                item = self.node(part)
                if item is not None:
                    return item
        return None

    def fix(self, label: str, *edits: Edits | None, is_safe: bool = True) -> Fix | None:
        """A fix of several patches; None when one of them could not be made."""
        joined: list[Any] = []
        for part in edits:
            if part is None:
                return None
            joined += part
        return Fix(label, tuple(joined), is_safe) if joined else None

    def set(self, path: Path, value: Any) -> Edits | None:
        """A patch, or None when the text has no place for it or the value came from outside the file."""
        if self.is_given(path):
            return None
        try:
            return self.patcher.set(path, value)
        except CannotEdit:
            return None

    def fill(self, path: Path, values: dict[str, Any]) -> Edits | None:
        """A patch that adds keys which a section lacks; the section is made where it is missing."""
        if self.is_given(path):
            return None
        try:
            return self.patcher.fill(path, values)
        except CannotEdit:
            return None

    def remove(self, path: Path) -> Edits | None:
        if self.is_given(path):
            return None
        try:
            return self.patcher.remove(path)
        except CannotEdit:
            return None

    def remove_entry(self, mapping: Node, index: int) -> Edits | None:
        """A patch that takes one of several equal keys away."""
        if mapping.value[index][0].tag == GIVEN:
            return None
        try:
            return self.patcher.remove_entry(mapping, index)
        except CannotEdit:
            return None

    def rewrite(self, node: Node, text: str) -> Edits | None:
        if node.tag == GIVEN:
            return None
        try:
            return self.patcher.rewrite(node, text)
        except CannotEdit:
            return None

    def is_given(self, path: Path) -> bool:
        node = self.root
        for step in path:
            node = self.child(node, step)
            if node is None:
                return False
            if node.tag == GIVEN:
                return True
        return False
