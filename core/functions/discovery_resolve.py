"""Follows names through imports, aliases and base classes, over the files of one workspace."""

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass

from agentic_rl_tui.core.functions.discovery_source import Binding, ClassSource, ModuleSource, dotted
from agentic_rl_tui.core.models.kinds import FunctionKind

SDK_PACKAGES = ("dashscope", "agentic_rl_tui")

BASES: dict[str, FunctionKind | None] = {
    "AbstractProcessor": None,
    "AbstractRolloutProcessor": FunctionKind.ROLLOUT,
    "AbstractRewardProcessor": FunctionKind.REWARD,
    "AbstractGroupRewardProcessor": FunctionKind.GROUP_REWARD,
    "DemoRolloutProcessor": FunctionKind.ROLLOUT,
    "DemoRewardProcessor": FunctionKind.REWARD,
    "DemoGroupRewardProcessor": FunctionKind.GROUP_REWARD,
}
"""The SDK's classes that users inherit, with the kind of function that each makes."""

_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class SdkName:
    """A name of the SDK, or one that ends the same and whose origin lies outside the workspace."""

    name: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class ClassRef:
    module: ModuleSource
    source: ClassSource

    @property
    def key(self) -> tuple[str, str]:
        return self.module.path, self.source.name


@dataclass(frozen=True, slots=True)
class ValueRef:
    module: ModuleSource
    value: ast.expr


@dataclass(frozen=True, slots=True)
class ModuleRef:
    name: str


Target = SdkName | ClassRef | ValueRef | ModuleRef


class Resolver:
    """`load` gives the parsed file of a workspace path, None where there is no such file or it cannot be parsed;
    `is_dir` tells whether the workspace has such a directory."""

    def __init__(self, load: Callable[[str], ModuleSource | None], is_dir: Callable[[str], bool]) -> None:
        self._load = load
        self._is_dir = is_dir

    def module(self, name: str) -> ModuleSource | None:
        """The file of an absolute module name."""
        if not name or name.split(".")[0] in SDK_PACKAGES:
            return None
        path = name.replace(".", "/")
        return self._load(f"{path}.py") or self._load(f"{path}/__init__.py")

    def name(self, module: ModuleSource, text: str, depth: int = 0) -> Target | None:
        """What a dotted name means in a module; None when that cannot be told."""
        if depth > _MAX_DEPTH:
            return None
        head, _, rest = text.partition(".")
        target = self._head(module, head, depth)
        while rest and isinstance(target, ModuleRef):
            head, _, rest = rest.partition(".")
            target = self._member(target.name, head, depth)
        if target is None:
            last = text.rpartition(".")[2]
            return SdkName(last, is_certain=False) if last in BASES else None
        if isinstance(target, SdkName):
            return SdkName(text.rpartition(".")[2], target.is_certain) if rest else target
        return None if rest else target

    def class_of(self, module: ModuleSource, text: str) -> ClassRef | SdkName | None:
        target = self.name(module, text)
        return target if isinstance(target, ClassRef | SdkName) else None

    def _head(self, module: ModuleSource, name: str, depth: int) -> Target | None:
        if name in module.classes:
            return ClassRef(module, module.classes[name])
        if name in module.bindings:
            return self._binding(module.bindings[name], depth)
        if name in module.values:
            value = module.values[name]
            alias = dotted(value)
            if isinstance(value, ast.Name | ast.Attribute) and "?" not in alias and alias != name:
                return self.name(module, alias, depth + 1)
            return ValueRef(module, value)
        for star in module.stars:
            if star.split(".")[0] in SDK_PACKAGES:
                if name in BASES or name.endswith("_func"):
                    return SdkName(name)
            elif (found := self._member(star, name, depth)) is not None and not isinstance(found, ModuleRef):
                return found
        return None

    def _binding(self, binding: Binding, depth: int) -> Target | None:
        if binding.name is None:
            return ModuleRef(binding.module)
        found = self._member(binding.module, binding.name, depth)
        return SdkName(binding.name, is_certain=False) if found is None and binding.name in BASES else found

    def _member(self, module_name: str, name: str, depth: int) -> Target | None:
        """``name`` in a module: something it defines, or its submodule."""
        if depth > _MAX_DEPTH:
            return None
        if module_name.split(".")[0] in SDK_PACKAGES:
            # Lower-case names are modules on the way to a class, except for the decorators.
            is_module = name.islower() and not name.endswith("_func")
            return ModuleRef(f"{module_name}.{name}") if is_module else SdkName(name)
        module = self.module(module_name)
        if module is not None and (found := self._head(module, name, depth + 1)) is not None:
            return found
        full = f"{module_name}.{name}" if module_name else name
        is_module = self.module(full) is not None or self._is_dir(full.replace(".", "/"))
        return ModuleRef(full) if is_module else None

    def ancestors(self, ref: ClassRef) -> list[ClassRef | SdkName]:
        """The class and its bases in the order that Python looks attributes up; unknown bases are left out."""
        return self._linear(ref, ())

    def _linear(self, ref: ClassRef, path: tuple[tuple[str, str], ...]) -> list[ClassRef | SdkName]:
        """`path` holds the classes on the way here: a class that inherits itself ends the walk."""
        if ref.key in path or len(path) > _MAX_DEPTH:
            return []
        bases = [self.class_of(ref.module, text) for text in ref.source.bases]
        known = [base for base in bases if base is not None and not _equal(base, ref)]
        lines: list[list[ClassRef | SdkName]] = [
            self._linear(base, (*path, ref.key)) if isinstance(base, ClassRef) else [base] for base in known
        ]
        return [ref, *_merge([*lines, known])]

    def number(self, module: ModuleSource, scope: ClassSource | None, node: ast.expr, depth: int = 0) -> float | None:
        """The value of a number spelled as a literal, simple arithmetic, or the name of such a constant."""
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return _as_float(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.number(module, scope, node.operand, depth + 1)
            return value if value is None or isinstance(node.op, ast.UAdd) else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left = self.number(module, scope, node.left, depth + 1)
            right = self.number(module, scope, node.right, depth + 1)
            if left is None or right is None or (isinstance(node.op, ast.Div) and right == 0):
                return None
            return _ARITHMETIC[type(node.op)](left, right)
        found = self._constant(module, scope, node)
        return None if found is None else self.number(found.module, None, found.value, depth + 1)

    def text(self, module: ModuleSource, scope: ClassSource | None, node: ast.expr) -> str | None:
        """The value of a text spelled as a literal or the name of a constant."""
        if not isinstance(node, ast.Constant) and (found := self._constant(module, scope, node)) is not None:
            node = found.value
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def _constant(self, module: ModuleSource, scope: ClassSource | None, node: ast.expr) -> ValueRef | None:
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        if scope is not None and isinstance(node, ast.Name) and node.id in scope.attributes:
            return ValueRef(module, scope.attributes[node.id])
        target = self.name(module, dotted(node))
        return target if isinstance(target, ValueRef) else None


def _as_float(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _merge(lines: list[list[ClassRef | SdkName]]) -> list[ClassRef | SdkName]:
    """Python's method resolution order; a contradictory hierarchy, which Python refuses, is read left to right."""
    merged: list[ClassRef | SdkName] = []
    rest = [list(line) for line in lines if line]
    while rest:
        tails = [line[1:] for line in rest]
        head = next((line[0] for line in rest if not any(_has(tail, line[0]) for tail in tails)), rest[0][0])
        merged.append(head)
        rest = [kept for line in rest if (kept := [item for item in line if not _equal(item, head)])]
    return merged


def _equal(one: ClassRef | SdkName, two: ClassRef | SdkName) -> bool:
    if isinstance(one, ClassRef) and isinstance(two, ClassRef):
        return one.key == two.key
    return isinstance(one, SdkName) and isinstance(two, SdkName) and one.name == two.name


def _has(line: list[ClassRef | SdkName], item: ClassRef | SdkName) -> bool:
    return any(_equal(other, item) for other in line)
