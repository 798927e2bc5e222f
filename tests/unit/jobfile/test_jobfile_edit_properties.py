"""Whatever is edited, the rest of the file stays byte for byte."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl_tui.core.jobfile.diagnostics import apply_edits
from agentic_rl_tui.core.jobfile.edit import CannotEdit, plain_value
from agentic_rl_tui.core.jobfile.operations import append_value, edits_between, remove_value, set_value
from agentic_rl_tui.core.jobfile.places import place_at
from agentic_rl_tui.core.jobfile.tree import MappingNode, Node, ScalarNode, Source, is_flow, parse

EXAMPLES = int(os.environ.get("AGENTIC_RL_EXAMPLES", "30"))
FIXED = "AGENTIC_RL_EXAMPLES" not in os.environ
"""The same examples in each run, unless more of them are asked for."""
NAMES = ["name", "model", "type", "functions", "训练", "x-a", "a b", "timeout", "weight"]
SCALARS = st.one_of(
    st.text("ab 文:#'\"-,[]{}&*!|>%@\\\n", max_size=8),
    st.sampled_from(["2e-6", "yes", "null", "1_000", "010", "", " x", "x ", "- a", "? b", "~", "2026-12-01", "1:30"]),
    st.integers(-1000, 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=5)


class Writer:
    """Writes a value as YAML in a style of its own choosing, with comments in between."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def scalar(self, value: Any) -> str:
        text = yaml.safe_dump(
            value, allow_unicode=True, width=10_000, default_style='"' if isinstance(value, str) else None
        )
        return text.removesuffix("\n").removesuffix("...").rstrip("\n")

    def flow(self, value: Any) -> str:
        gap = self.pick("", " ", "  ")
        if isinstance(value, dict):
            return "{" + gap + ", ".join(f"{self.scalar(k)}: {self.flow(v)}" for k, v in value.items()) + gap + "}"
        if isinstance(value, list):
            return "[" + gap + ", ".join(map(self.flow, value)) + gap + "]"
        return self.scalar(value)

    def comment(self) -> str:
        return self.pick("", "", "  # note", " # 注 # x: y")

    def between(self, lines: list[str], indent: int) -> None:
        count = self.pick(0, 0, 0, 1, 2)
        lines += [self.pick("", "# line", " " * indent + "# block: x") for _ in range(count)]

    def block(self, value: Any, indent: int) -> list[str]:
        lines: list[str] = []
        pad = " " * indent
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in entries:
            self.between(lines, indent)
            head = f"{pad}{key}:" if isinstance(value, dict) else f"{pad}-"
            lines += self.entry(head, item, indent, isinstance(value, dict))
        return lines

    def entry(self, head: str, item: Any, indent: int, in_mapping: bool) -> list[str]:
        if not isinstance(item, (dict, list)) or not item or self.pick(True, False, False):
            if item is None and self.pick(True, False):
                return [head + self.comment()]
            return [f"{head} {self.flow(item)}{self.comment()}"]
        step = self.pick(2, 4)
        if in_mapping:
            dashes_at_key = isinstance(item, list) and self.pick(True, False)
            return [head + self.comment(), *self.block(item, indent if dashes_at_key else indent + step)]
        below = self.block(item, indent + 2)
        if not below[0].lstrip().startswith("#") and below[0].strip() and self.pick(True, True, False):
            return [f"{head} {below[0].lstrip()}", *below[1:]]
        return [head + self.comment(), *below]


@st.composite
def texts(draw: Any) -> str:
    writer = Writer(draw)
    lines = writer.block(draw(DOCUMENTS), 0)
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    ending = draw(st.sampled_from(["", newline, newline * 2]))
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    return bom + newline.join(lines) + ending


def value_of(text: str) -> Any:
    source = parse(text)
    assert source.root is not None, text
    assert not source.problems, (text, source.problems)
    return plain_value(source.root)


def comments(text: str) -> int:
    return text.count("# ")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        found += places(item, (*path, key))
    return found


def with_value(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree) if isinstance(tree, list) else {}
    step = path[0]
    if isinstance(copy, dict):
        copy[step] = with_value(copy.get(step), path[1:], value)
    else:
        copy[step] = with_value(copy[step], path[1:], value)
    return copy


def without(tree: Any, path: tuple[Any, ...]) -> Any:
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = without(copy[path[0]], path[1:])
    return copy


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_the_writer_writes_what_is_read(data: st.DataObject) -> None:
    text = data.draw(texts())
    assert isinstance(value_of(text), dict)


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_setting_a_key_to_what_it_is_changes_no_byte(data: st.DataObject) -> None:
    text = data.draw(texts())
    tree = value_of(text)
    for path in places(tree):
        target = tree
        for step in path:
            target = target[step]
        assert set_value(text, path, target) == ()


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_setting_a_key_changes_that_key_alone(data: st.DataObject) -> None:
    text = data.draw(texts())
    tree = value_of(text)
    path = data.draw(st.sampled_from(places(tree)))
    value = data.draw(VALUES)
    edits = set_value(text, path, value)
    changed = apply_edits(text, edits)
    assert value_of(changed) == with_value(tree, path, value), (text, changed)
    assert len(edits) <= 1
    if "\r\n" in text:
        assert "\n" not in changed.replace("\r\n", "")


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_a_new_key_leaves_every_old_byte(data: st.DataObject) -> None:
    text = data.draw(texts())
    tree = value_of(text)
    homes = [(), *(path for path in places(tree) if _is_home(tree, path))]
    home = data.draw(st.sampled_from(homes))
    name = data.draw(st.sampled_from(["training", "new key", "fcmodel", "env"]))
    value = data.draw(VALUES)
    edits = set_value(text, (*home, name), value)
    changed = apply_edits(text, edits)
    assert value_of(changed) == with_value(tree, (*home, name), value), (text, changed)
    assert comments(changed) >= comments(text)


def _is_home(tree: Any, path: tuple[Any, ...]) -> bool:
    for step in path:
        tree = tree[step]
    return isinstance(tree, dict) or tree is None


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_removing_takes_only_what_is_named(data: st.DataObject) -> None:
    text = data.draw(texts())
    tree = value_of(text)
    path = data.draw(st.sampled_from(places(tree)))
    edits = remove_value(text, path)
    changed = apply_edits(text, edits)
    assert value_of(changed) == without(tree, path), (text, changed)
    assert all(edit.text in ("", "{}", "[]", "  []") for edit in edits)


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_appending_leaves_the_other_items(data: st.DataObject) -> None:
    text = data.draw(texts())
    tree = value_of(text)
    lists = [path for path in places(tree) if isinstance(_at(tree, path), list)]
    if not lists:
        return
    path = data.draw(st.sampled_from(lists))
    value = data.draw(VALUES)
    changed = apply_edits(text, append_value(text, path, value))
    assert value_of(changed) == with_value(tree, path, [*_at(tree, path), value]), (text, changed)
    assert comments(changed) >= comments(text)


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree


@given(st.text("ab\n\r ", max_size=30), st.text("ab\n\r ", max_size=30))
def test_patches_between_two_texts_lead_from_one_to_the_other(old: str, new: str) -> None:
    assert apply_edits(old, edits_between(old, new)) == new


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=FIXED)
def test_places_by_indentation_agree_with_the_tree(data: st.DataObject) -> None:
    text = data.draw(texts())
    source = parse(text)
    assert source.root is not None
    for path, key in block_keys(source, source.root, ()):
        line, col = source.lines.position(source.start(key))
        place = place_at(text, line, col)
        assert (*place.path, place.line.key) == path, (text, path)


def block_keys(source: Source, node: Node, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Node]]:
    if isinstance(node, ScalarNode) or is_flow(node) or not node.value:
        return
    for index, entry in enumerate(node.value):
        if isinstance(node, MappingNode):
            key, value = entry
            yield (*path, key.value), key
            yield from block_keys(source, value, (*path, key.value))
        else:
            yield from block_keys(source, entry, (*path, index))


def test_a_broken_text_is_not_edited() -> None:
    with pytest.raises(CannotEdit):
        set_value("a: [1\nb: 2\n", ("b",), 3)
