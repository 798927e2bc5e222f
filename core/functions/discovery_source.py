"""One Python file as discovery sees it: cheap facts from its bytes, and a compact record from its syntax tree."""

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from agentic_rl_tui.core.functions.problems import SourceProblem
from agentic_rl_tui.core.i18n import _

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_CLASS = re.compile(rb"class[ \t]+(\w+)[^\n(:]*\(((?:[^()]|\([^()]*\))*)\)")
_ALIAS = re.compile(rb" as (\w+)")
_ASSIGNED = re.compile(rb"\n(\w+)[ \t]*=[ \t]*([\w.]+)[ \t]*(?=[\r\n#])")
_WORD = re.compile(rb"\w+")
_DYNAMIC = (b"import_module", b"__import__")
_WARNINGS = threading.Lock()


def name_edges(data: bytes) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """(name, names it may stand for) for classes with bases, ``as`` aliases and plain assignments.

    Read from the bytes without parsing, so it may name too many; it misses only what no ordinary file contains.
    """
    edges = [(found[1], tuple(_WORD.findall(found[2]))) for found in _CLASS.finditer(data)]
    edges += [(found[1], (before,)) for found in _ALIAS.finditer(data) if (before := _word_before(data, found.start()))]
    edges += [(found[1], tuple(_WORD.findall(found[2])[-1:])) for found in _ASSIGNED.finditer(data)]
    return edges


def _word_before(data: bytes, end: int) -> bytes:
    words = _WORD.findall(data, max(0, end - 60), end)
    return words[-1] if words else b""


@dataclass(frozen=True, slots=True)
class Import:
    """What one import statement asks for. names is empty for ``import module``; level counts leading dots.

    is_optional: guarded by ``except ImportError``, so that its absence is planned for.
    """

    module: str
    names: tuple[str, ...]
    level: int
    line: int
    col: int
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Decorator:
    """A decorator by its dotted name; arguments are kept as syntax, since names in them need the module."""

    name: str
    line: int
    col: int
    is_call: bool
    args: tuple[ast.expr, ...] = ()
    keywords: Mapping[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    line: int
    col: int
    is_async: bool
    decorators: tuple[Decorator, ...]
    required_arguments: int
    calls_base_init: bool = False


@dataclass(frozen=True, slots=True)
class ClassSource:
    """A class at the top level of a module. bases are dotted names, ``?`` where the source has another expression."""

    name: str
    line: int
    col: int
    bases: tuple[str, ...]
    decorators: tuple[Decorator, ...]
    methods: Mapping[str, Method]
    attributes: Mapping[str, ast.expr]
    docstring: str | None


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that an import brought: the absolute module, and the name in it (None for the module itself)."""

    module: str
    name: str | None


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A parsed file. `package` is the dotted package that relative imports start from.

    hidden: classes that a later class of the same name replaces.
    """

    path: str
    package: str
    bindings: Mapping[str, Binding]
    stars: tuple[str, ...]
    classes: Mapping[str, ClassSource]
    values: Mapping[str, ast.expr]
    imports: tuple[Import, ...]
    hidden: tuple[ClassSource, ...] = ()


def absolute(package: str, module: str, level: int) -> str:
    """The absolute name of a module that an import with `level` leading dots names."""
    if not level:
        return module
    parts = package.split(".") if package else []
    return ".".join([*parts[: max(len(parts) - level + 1, 0)], *([module] if module else [])])


def parse(data: bytes, path: str) -> ModuleSource | SourceProblem:
    """Parse one file; a file that is no Python comes back as the problem that says where."""
    try:
        # A file's own SyntaxWarnings belong to its author's linter; the filter is process-wide state.
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data, filename=path)
        return _read(tree, data, path)
    except SyntaxError as error:
        message = _("no valid Python: {msg}").format(msg=error.msg)
        return SourceProblem(path, error.lineno or 1, max(error.offset or 1, 1), message, "syntax-error")
    except (ValueError, RecursionError, MemoryError) as error:
        message = _("cannot be parsed: {error}").format(error=str(error) or type(error).__name__)
        return SourceProblem(path, 1, 1, message, "syntax-error")


def _read(tree: ast.Module, data: bytes, path: str) -> ModuleSource:
    package = ".".join(path.split("/")[:-1])
    bindings: dict[str, Binding] = {}
    stars: list[str] = []
    classes: dict[str, ClassSource] = {}
    values: dict[str, ast.expr] = {}
    hidden: list[ClassSource] = []
    for node in _top_level(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                bindings[name] = Binding(alias.name if alias.asname else name, None)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(package, node.module or "", node.level)
            for alias in node.names:
                if alias.name == "*":
                    stars.append(origin)
                else:
                    bindings[alias.asname or alias.name] = Binding(origin, alias.name)
        elif isinstance(node, ast.ClassDef):
            if node.name in classes:
                hidden.append(classes[node.name])
            classes[node.name] = _class(node)
        else:
            _assign(node, values)
    imports = list(_imports(tree.body, is_optional=False))
    if any(word in data for word in _DYNAMIC):
        imports += _dynamic_imports(tree)
    return ModuleSource(path, package, bindings, tuple(stars), classes, values, tuple(imports), tuple(hidden))


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run on import, those inside ``if``, ``try`` and ``with`` included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _top_level(node.body + node.orelse)
        elif isinstance(node, ast.Try | ast.TryStar):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            # The body comes last: what it binds is what counts when nothing fails.
            yield from _top_level([*handlers, *node.orelse, *node.body, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _top_level(node.body)
        else:
            yield node


def _assign(node: ast.stmt, into: dict[str, ast.expr]) -> None:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    for target in targets:
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            into[target.id] = node.value


def dotted(node: ast.expr) -> str:
    """``a.b.c`` for a chain of names, the name before ``[…]`` for a subscript, else ``?``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    return "?"


def _decorators(nodes: list[ast.expr]) -> tuple[Decorator, ...]:
    found = []
    for node in nodes:
        line, col = node.lineno, node.col_offset + 1
        if isinstance(node, ast.Call):
            keywords = {item.arg: item.value for item in node.keywords if item.arg}
            found.append(Decorator(dotted(node.func), line, col, True, tuple(node.args), keywords))
        else:
            found.append(Decorator(dotted(node), line, col, False))
    return tuple(found)


def _class(node: ast.ClassDef) -> ClassSource:
    methods: dict[str, Method] = {}
    attributes: dict[str, ast.expr] = {}
    for item in _top_level(node.body):
        if isinstance(item, FunctionNode):
            methods[item.name] = _method(item)
        else:
            _assign(item, attributes)
    return ClassSource(
        node.name,
        node.lineno,
        node.col_offset + 1,
        tuple(dotted(base) for base in node.bases),
        _decorators(node.decorator_list),
        methods,
        attributes,
        ast.get_docstring(node),
    )


def _method(node: FunctionNode) -> Method:
    arguments = node.args
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults) - 1
    required += sum(default is None for default in arguments.kw_defaults)
    return Method(
        node.name,
        node.lineno,
        node.col_offset + 1,
        isinstance(node, ast.AsyncFunctionDef),
        _decorators(node.decorator_list),
        max(required, 0),
        node.name == "__init__" and any(map(_is_init_call, ast.walk(node))),
    )


def _is_init_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"


def _imports(body: list[ast.stmt], *, is_optional: bool) -> Iterator[Import]:
    """Every import that may run, in functions too; not those for type checkers or under a main guard."""
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), 0, node.lineno, node.col_offset + 1, is_optional)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(node.module or "", names, node.level, node.lineno, node.col_offset + 1, is_optional)
        elif isinstance(node, ast.Try | ast.TryStar):
            guarded = is_optional or any(_catches_import_error(handler) for handler in node.handlers)
            yield from _imports(node.body, is_optional=guarded)
            handlers = chain.from_iterable(handler.body for handler in node.handlers)
            yield from _imports([*handlers], is_optional=guarded)
            yield from _imports(node.orelse + node.finalbody, is_optional=is_optional)
        elif isinstance(node, ast.If) and _never_runs(node.test):
            yield from _imports(node.orelse, is_optional=is_optional)
        else:
            for holder in (node, *getattr(node, "cases", ())):
                inner = [*getattr(holder, "body", ()), *getattr(holder, "orelse", ())]
                yield from _imports(inner, is_optional=is_optional)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {dotted(kind) if kind is not None else "" for kind in kinds}
    return bool(names & {"", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def _never_runs(test: ast.expr) -> bool:
    if dotted(test).rpartition(".")[2] == "TYPE_CHECKING":
        return True
    return isinstance(test, ast.Compare) and dotted(test.left) == "__name__"


def _dynamic_imports(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and dotted(node.func).rpartition(".")[2] in ("import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
            and not node.args[0].value.startswith(".")
        ):
            yield Import(node.args[0].value, (), 0, node.lineno, node.col_offset + 1)
