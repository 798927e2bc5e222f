"""Values from code and command lines, laid over the tree of a job file.

They win over the file. Mappings merge key by key, everything else replaces.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any

import yaml
from pydantic import BaseModel

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.jobfile.context import Context
from agentic_rl_tui.core.jobfile.schema import ROOT
from agentic_rl_tui.core.jobfile.tree import (
    GIVEN,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    child,
    key_text,
)

_NAMES: Mapping[str, Path] = {
    "job_name": ("name",),
    "model_name": ("model", "name"),
    "hyper_parameters": ("training", "hyper_parameters"),
    "resources": ("training", "resources"),
    "resource_config": ("training", "resources"),
    "training_type": ("training", "type"),
}
_DATA_FLAGS = {
    "training_files": "training",
    "validation_files": "validation",
    "training_datasets": "training",
    "validation_datasets": "validation",
}
_FUNCTION_FLAGS = {
    f"{kind}_{part}": (kind, key)
    for kind in ("rollout", "reward", "group_reward")
    for part, key in (
        ("classpath", "classpath"),
        ("classpaths", "classpath"),
        ("name", "name"),
        ("names", "name"),
        ("weight", "weight"),
        ("weights", "weight"),
        ("timeout", "timeout"),
        ("timeouts", "timeout"),
        ("runtime", "runtime"),
        ("runtimes", "runtime"),
        ("metric_weights", "reward_metric_weight"),
    )
}
_JSON_FLAGS = frozenset({"runtime", "reward_metric_weight"})


def lay_over(context: Context, overrides: Mapping[str, Any]) -> Node | None:
    """The tree with the overrides in it; the nodes of the text stay as they are. Misfits are reported."""
    return _Overlay(context).apply(overrides)


class _Overlay:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.root = context.root
        self.zipdir: str | None = None
        top = context.source.shift
        line, col = context.source.lines.position(top)
        self.top = yaml.Mark("", top - context.source.shift, line - 1, col - 1, None, 0)

    def apply(self, overrides: Mapping[str, Any]) -> Node | None:
        flags: dict[str, dict[str, list[Any]]] = {}
        if overrides.get("workspace_dir") is not None:
            self.zipdir = str(overrides["workspace_dir"])
        for name, value in overrides.items():
            if value is None or name == "workspace_dir":
                continue
            try:
                self._apply_one(name, _plain(value), flags)
            except _Misfit as misfit:
                self.context.report("override", None, f"{name}: {misfit}")
        for kind, parts in flags.items():
            self._apply_functions(kind, parts)
        return self.root

    def _apply_one(self, name: str, value: Any, flags: dict[str, dict[str, list[Any]]]) -> None:
        if name in _DATA_FLAGS:
            self._replace_data(_DATA_FLAGS[name], value)
        elif name in _FUNCTION_FLAGS and name not in ROOT.keys:
            kind, key = _FUNCTION_FLAGS[name]
            items = value if isinstance(value, list) else _split(value, key)
            flags.setdefault(kind, {})[key] = [_from_json(item) if key in _JSON_FLAGS else item for item in items]
        elif name == "model" and not isinstance(value, dict):
            self._set(("model", "name"), value)
        else:
            path = _NAMES.get(name) or tuple(name.split("."))
            if name in ("hyper_parameters", "resources", "resource_config"):
                value = _from_json(value)
            if name == "functions" and isinstance(value, dict):
                value = [value]
            self._set(path, value)

    def _set(self, path: Path, value: Any) -> None:
        self.root = self._with(self.root, path, value)

    def _with(self, node: Node | None, path: Path, value: Any) -> Node:
        """A copy of a node with a value at a path; mappings are merged into what is there."""
        mark = self.top if node is None else node.start_mark
        if not path:
            if isinstance(value, dict) and isinstance(node, MappingNode):
                merged: Node = node
                for key, item in value.items():
                    merged = self._with(merged, (key,), item)
                return merged
            return self._node(value, mark)
        step, rest = path[0], path[1:]
        if isinstance(node, SequenceNode) and isinstance(step, str) and step.isdecimal():
            index = int(step)
            if index >= len(node.value):
                raise _Misfit(_("there is no item {index}").format(index=index))
            items = list(node.value)
            items[index] = self._with(items[index], rest, value)
            return SequenceNode(node.tag, items, node.start_mark, node.end_mark, node.flow_style)
        if not isinstance(node, MappingNode):
            inner = self._with(None, rest, value)
            return MappingNode(GIVEN, [(self._node(step, mark), inner)], mark, mark, True)
        entries = [(key, item) for key, item in node.value if key_text(key) != step]
        old = child(node, step)
        fresh_key = next((key for key, _ in reversed(node.value) if key_text(key) == step), None)
        inner = self._with(old, rest, value)
        entries.append((fresh_key or self._node(step, mark), inner))
        return MappingNode(node.tag, entries, node.start_mark, node.end_mark, node.flow_style)

    def _node(self, value: Any, mark: Any) -> Node:
        if isinstance(value, dict):
            entries = [(self._node(str(key), mark), self._node(item, mark)) for key, item in value.items()]
            return MappingNode(GIVEN, entries, mark, mark, True)
        if isinstance(value, list):
            return SequenceNode(GIVEN, [self._node(item, mark) for item in value], mark, mark, True)
        node = ScalarNode(GIVEN, value, mark, mark)
        node.style = '"' if isinstance(value, str) else ""
        return node

    def _items(self, key: str) -> list[Node]:
        node = child(self.root, key)
        return list(node.value) if isinstance(node, SequenceNode) else []

    def _put_items(self, key: str, items: list[Node]) -> None:
        old = child(self.root, key)
        mark = self.top if old is None else old.start_mark
        self._set((key,), [])
        assert isinstance(self.root, MappingNode)
        fresh = SequenceNode(GIVEN if old is None else old.tag, items, mark, mark, True)
        self.root.value[-1] = (self.root.value[-1][0], fresh)

    def _replace_data(self, kind: str, value: Any) -> None:
        """Data sets of one type, as file names or whole entries, instead of those in the file."""
        values = value if isinstance(value, list) else [value]
        fresh = [
            {"type": kind, **item} if isinstance(item, dict) else {"type": kind, "file_name": item} for item in values
        ]
        kept = [node for node in self._items("datasets") if _kind(node, "training") != kind]
        self._put_items("datasets", kept + [self._node(item, self.top) for item in fresh])

    def _apply_functions(self, kind: str, parts: dict[str, list[Any]]) -> None:
        """Classes replace the functions of their kind; the other lists belong to them, or to those of the file."""
        classes = parts.pop("classpath", None)
        items = self._items("functions")
        if classes is not None:
            blocks = [self._block(kind, str(text)) for text in classes]
            items = [node for node in items if _kind(node, "rollout") != kind] + [
                self._node(block, self.top) for block in blocks
            ]
        places = [index for index, node in enumerate(items) if _kind(node, "rollout") == kind]
        for key, values in parts.items():
            if len(values) != len(places):
                message = _("{count} values of {key} for {functions} functions of type {kind}.").format(
                    count=len(values), key=key, functions=len(places), kind=kind
                )
                self.context.report("list-length", None, message)
                continue
            for index, value in zip(places, values, strict=True):
                items[index] = self._with(items[index], (key,), value)
        self._put_items("functions", items)

    def _block(self, kind: str, classpath: str) -> dict[str, Any]:
        model = {"classpath": classpath}
        if self.zipdir is not None:
            model["zipdir"] = self.zipdir
        return {"type": kind, "fcmodel": model}


class _Misfit(Exception):
    """An override that has no place; the text says why."""


def _kind(node: Node, default: str) -> str:
    value = child(node, "type")
    return str(value.value) if isinstance(value, ScalarNode) else default


def _split(value: Any, key: str) -> list[Any]:
    """One text may hold several names or weights with commas between them."""
    if isinstance(value, str) and key not in _JSON_FLAGS:
        parts: list[Any] = [part.strip() for part in value.split(",") if part.strip()]
        return parts
    parsed = _from_json(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, list) else [parsed]


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise _Misfit(_("this is no JSON: {error}").format(error=error)) from error


_PLAIN: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (BaseModel, lambda value: _plain(value.model_dump(exclude_none=True, exclude_unset=True))),
    (Enum, lambda value: _plain(value.value)),
    ((str, bool, int, float, type(None)), lambda value: value),
    (PurePath, str),
    (Mapping, lambda value: {str(key): _plain(item) for key, item in value.items()}),
    ((list, tuple, set, frozenset, Sequence), lambda value: [_plain(item) for item in value]),
)


def _plain(value: Any) -> Any:
    """A value as texts, numbers, lists and mappings."""
    for kinds, convert in _PLAIN:
        if isinstance(value, kinds):
            return convert(value)
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise _Misfit(_("{kind} is no value of a job file").format(kind=type(value).__name__))
