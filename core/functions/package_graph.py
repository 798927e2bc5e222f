"""What the code of a function imports, followed over the files of the workspace."""

import os
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentic_rl_tui.core.functions.discovery import SourceIndex
from agentic_rl_tui.core.functions.discovery_resolve import SDK_PACKAGES
from agentic_rl_tui.core.functions.discovery_source import Import, ModuleSource, absolute
from agentic_rl_tui.core.functions.package_plan import LeftOut, PackagePlan
from agentic_rl_tui.core.functions.package_rules import IGNORE_FILE, LeftOutRule
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.functions.requirements import ImportedModule, is_standard
from agentic_rl_tui.core.i18n import _

_PATH_TEXT = re.compile(rb"['\"]((?:[\w.-]+/)+[\w.-]+)['\"]")
_TRACING = "observability"


@dataclass(slots=True)
class ImportGraph:
    """reasons: why a file of the workspace is needed, by path. third_party: each foreign module at its first place."""

    reasons: dict[str, str] = field(default_factory=dict)
    third_party: dict[str, ImportedModule] = field(default_factory=dict)
    problems: list[SourceProblem] = field(default_factory=list)
    uses_tracing: bool = False


def follow(plan: PackagePlan, index: SourceIndex, roots: Iterable[tuple[str, str]]) -> ImportGraph:
    """Follow the imports of `roots`, pairs of a path and the reason why it is needed."""
    walk = _Walk(plan, index)
    for path, reason in roots:
        walk.need(path, reason)
    walk.run()
    return walk.graph


class _Walk:
    def __init__(self, plan: PackagePlan, index: SourceIndex) -> None:
        self.graph = ImportGraph()
        self._plan = plan
        self._index = index
        self._root = plan.workspace
        self._pending: deque[str] = deque()
        self._told: set[tuple[str, str]] = set()
        self._told_left_out: set[tuple[str, str]] = set()

    def need(self, path: str, reason: str) -> None:
        if path not in self.graph.reasons:
            self.graph.reasons[path] = reason
            self._pending.append(path)

    def run(self) -> None:
        while self._pending:
            path = self._pending.popleft()
            if self._plan.entry(path) is None:
                continue
            if (module := self._index.module(path)) is None:
                if (problem := self._index.syntax_problem(path)) is not None:
                    self.graph.problems.append(problem)
                continue
            for item in module.imports:
                self._import(module, item)
            self._path_texts(path)

    def _import(self, module: ModuleSource, item: Import) -> None:
        name = absolute(module.package, item.module, item.level)
        top = name.split(".")[0]
        if top in SDK_PACKAGES:
            self.graph.uses_tracing |= _TRACING in name or _TRACING in item.names
        elif item.level or self._is_here(top):
            self._local(module, item, name)
        elif top and not is_standard(top) and not item.is_optional:
            full = self._foreign_name(name, item)
            self.graph.third_party.setdefault(full, ImportedModule(full, module.path, item.line, item.col))

    @staticmethod
    def _foreign_name(name: str, item: Import) -> str:
        # `from google import protobuf` names its module in the second half.
        return f"{name}.{item.names[0]}" if name in ("google", "opentelemetry") and item.names else name

    def _is_here(self, top: str) -> bool:
        return bool(top) and (os.path.exists(self._root / f"{top}.py") or os.path.isdir(self._root / top))

    def _local(self, module: ModuleSource, item: Import, name: str) -> None:
        """Need the module itself, the packages above it, and those of the imported names that are modules."""
        parts = name.split(".") if name else []
        for length in range(1, len(parts)):
            package = "/".join(parts[:length])
            if os.path.exists(self._root / package / "__init__.py"):
                self._reach(module, item, f"{package}/__init__.py")
        target = self._file_of("/".join(parts)) if parts else None
        if target is not None:
            self._reach(module, item, target)
        elif parts and not os.path.isdir(self._root.joinpath(*parts)) and not item.is_optional:
            message = _("imports {name}, which is not in the workspace").format(name=name)
            advice = _("Correct the import; modules are found from the workspace's root.")
            self._tell(module.path, item, "import-missing", message, Severity.ERROR, advice)
        for inner in item.names:
            found = self._file_of("/".join([*parts, inner]))
            if found is not None and (target is None or found != target):
                self._reach(module, item, found)

    def _file_of(self, stem: str) -> str | None:
        return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if os.path.isfile(self._root / path)), None)

    def _reach(self, module: ModuleSource, item: Import, path: str) -> None:
        self.need(path, _("imported by {path}:{line}").format(path=module.path, line=item.line))
        if self._plan.entry(path) is not None:
            return
        left = self._plan.why_left_out(path)
        if (place := (module.path, left.path if left else path)) in self._told_left_out:
            return
        self._told_left_out.add(place)
        severity = Severity.WARNING if item.is_optional else Severity.ERROR
        message = _("imports {path}, which is not in the package: {reason}").format(
            path=path, reason=left.reason if left else _("left out")
        )
        self._tell(module.path, item, "import-left-out", message, severity, _bring_back(left))

    def _path_texts(self, path: str) -> None:
        """Texts that name a file which is left out: code that opens it works here and fails on the service."""
        try:
            data = (self._root / path).read_bytes()
        except OSError:
            return  # the file was read a moment ago; `write` says that it changed
        here = Path(path).parent
        for found in _PATH_TEXT.finditer(data):
            text = found[1].decode(errors="replace")
            for candidate in dict.fromkeys((text, (here / text).as_posix())):
                left = self._plan.why_left_out(candidate)
                if left is not None and os.path.isfile(self._root / candidate):
                    line = data.count(b"\n", 0, found.start()) + 1
                    place = Import("", (), 0, line, found.start() - data.rfind(b"\n", 0, found.start()))
                    message = _("names {candidate}, which is not in the package: {reason}").format(
                        candidate=candidate, reason=left.reason
                    )
                    self._tell(path, place, "path-left-out", message, Severity.WARNING, _bring_back(left))

    def _tell(self, path: str, item: Import, rule: str, message: str, severity: Severity, advice: str) -> None:
        if (path, message) not in self._told:
            self._told.add((path, message))
            self.graph.problems.append(SourceProblem(path, item.line, item.col, message, rule, severity, advice))


def _bring_back(left: LeftOut | None) -> str:
    if left is None or left.rule is LeftOutRule.LINK:
        return _("Copy it into the workspace.")
    slash = "/" if left.is_dir else ""
    return _("Rename {path}, or put the line !/{path}{slash} into {file}.").format(
        path=left.path, slash=slash, file=IGNORE_FILE
    )
