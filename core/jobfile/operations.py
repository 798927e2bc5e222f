"""Changes to the text of a job file, for editors and other callers that hold only the text."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from agentic_rl_tui.core.jobfile.diagnostics import TextEdit, apply_edits
from agentic_rl_tui.core.jobfile.edit import Edits, Patcher
from agentic_rl_tui.core.jobfile.tree import Path, SequenceNode, child, parse

REMOVED: Any = object()
"""Stands for "no value" in a list of changes."""


def set_value(text: str, path: Path, value: Any) -> Edits:
    """Patches that give a key (``("training", "hyper_parameters", "n_epochs")``) or list item a value."""
    return Patcher(parse(text)).set(path, value)


def remove_value(text: str, path: Path) -> Edits:
    """Patches that take a key or list item away; none when it is not there."""
    return Patcher(parse(text)).remove(path)


def append_value(text: str, path: Path, value: Any) -> Edits:
    """Patches that add an item to a list."""
    return Patcher(parse(text)).append(path, value)


def add_function(text: str, function: Mapping[str, Any]) -> Edits:
    """Patches that add a function block. The keys of `function` are those of the file, in any order."""
    order = ("type", "name", "entity_id", "timeout", "weight", "reward_metric_weight", "fcmodel", "runtime")
    known = {key: function[key] for key in order if function.get(key) is not None}
    return append_value(text, ("functions",), known | {k: v for k, v in function.items() if k not in order})


def remove_function(text: str, index: int) -> Edits:
    """Patches that take a function block away; with the last one the key `functions` goes too."""
    source = parse(text)
    functions = child(source.root, "functions")
    alone = isinstance(functions, SequenceNode) and len(functions.value) == 1 and index == 0
    return Patcher(source).remove(("functions",) if alone else ("functions", index))


def edits_between(old: str, new: str) -> Edits:
    """The patches, by whole lines, that turn one text into another."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        TextEdit(offsets[i1], offsets[i2], "".join(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def apply_all(text: str, changes: Sequence[tuple[Path, Any]]) -> str:
    """The text after several values were set one after another; `REMOVED` takes a key away."""
    for path, value in changes:
        edits = remove_value(text, path) if value is REMOVED else set_value(text, path, value)
        text = apply_edits(text, edits)
    return text
