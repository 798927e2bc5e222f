"""The checks of a plan against the code of its functions: imports, requirements, the class itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentic_rl_tui.core.functions.discovery import Discovery, SourceIndex
from agentic_rl_tui.core.functions.package_graph import ImportGraph, follow
from agentic_rl_tui.core.functions.package_plan import PackagePlan, requirements_text
from agentic_rl_tui.core.functions.problems import Severity, SourceProblem
from agentic_rl_tui.core.functions.requirements import check, distributions, read
from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.kinds import FunctionKind
from agentic_rl_tui.core.models.processors import ClassPath

Function = tuple[FunctionKind | None, ClassPath]
"""A function as the job names it; without a kind, that of the class counts."""


def checked(plan: PackagePlan, *, functions: Sequence[Function], discovery: Discovery | None) -> PackagePlan:
    """The plan with why each file is needed, and with the problems that only the code can tell.

    Without functions, every processor of the workspace is looked at; what is wrong with one of them is then a warning,
    since nobody said that it will be used.
    """
    index = SourceIndex(plan.workspace) if discovery is None else discovery.index
    problems: list[SourceProblem] = []
    if functions:
        for kind, classpath in functions:
            problems += _check_class(plan, index, kind, classpath)
        roots = [(classpath.path, _holds(classpath.class_name)) for _kind, classpath in functions]
    else:
        found = (discovery or index.scan()).processors
        roots = [(info.path, _holds(info.class_name)) for info in found if plan.entry(info.path) is not None]
        problems += _check_left_out(plan, [info.path for info in found])
    graph = follow(plan, index, [*_packages(plan, roots), *roots])
    reasons = graph.reasons
    entries = tuple(
        replace(entry, reason=reasons[entry.path]) if entry.path in reasons else entry for entry in plan.entries
    )
    problems += graph.problems if functions else map(_as_warning, graph.problems)
    problems += _check_requirements(plan, graph)
    ordered = sorted({*plan.problems, *problems}, key=lambda item: (item.path, item.line, item.col, item.rule))
    return replace(plan, entries=entries, problems=tuple(ordered))


def _holds(class_name: str) -> str:
    return _("holds {class_name}").format(class_name=class_name)


def _as_warning(problem: SourceProblem) -> SourceProblem:
    return replace(problem, severity=Severity.WARNING) if problem.severity is Severity.ERROR else problem


def _packages(plan: PackagePlan, roots: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The ``__init__.py`` files that importing a root runs first."""
    for path, _why in roots:
        parts = path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            init = "/".join([*parts[:length], "__init__.py"])
            if plan.entry(init) is not None:
                yield init, _("package of {path}").format(path=path)


def _check_class(
    plan: PackagePlan, index: SourceIndex, kind: FunctionKind | None, classpath: ClassPath
) -> Iterator[SourceProblem]:
    path = classpath.path
    left = plan.why_left_out(path) if (plan.workspace / path).is_file() else None
    if left is not None:
        message = _("holds {class_name}, but is not in the package: {reason}").format(
            class_name=classpath.class_name, reason=left.reason
        )
        yield SourceProblem(path, 0, 0, message, "class-left-out", advice=_("Move the file, or rename its directory."))
        return
    if index.syntax_problem(path) is not None:
        return  # following the imports tells where
    info = index.explain(classpath, ()).info
    if info is None:
        resolution = index.scan().resolve(classpath)
        meant = (
            _("Perhaps {meant} is meant.").format(meant=", ".join(resolution.suggestions))
            if resolution.suggestions
            else ""
        )
        yield SourceProblem(path, 0, 0, resolution.message, "class-missing", advice=meant)
        return
    place = (info.path, info.line, 1)
    if kind is not None and info.kind is not kind:
        message = _("{class_name} is a {kind} and cannot be registered as {wanted}").format(
            class_name=info.class_name, kind=info.kind.value, wanted=kind.value
        )
        yield SourceProblem(
            *place, message, "kind-mismatch", advice=_("Register it with type {kind}.").format(kind=info.kind.value)
        )
    if info.is_abstract:
        message = _("{class_name} has no process and no @reward_func, so it cannot be made").format(
            class_name=info.class_name
        )
        yield SourceProblem(*place, message, "abstract-class", advice=_("Write its process method."))


def _check_left_out(plan: PackagePlan, paths: Sequence[str]) -> Iterator[SourceProblem]:
    for path in dict.fromkeys(paths):
        if plan.entry(path) is None and (left := plan.why_left_out(path)) is not None:
            message = _("holds a function, but is not in the package: {reason}").format(reason=left.reason)
            yield SourceProblem(path, 0, 0, message, "class-left-out", Severity.WARNING, _("Move it if it is needed."))


def _check_requirements(plan: PackagePlan, graph: ImportGraph) -> Iterator[SourceProblem]:
    found = read(requirements_text(plan), plan.requirements)
    imported = []
    by_name = {path.rpartition("/")[2].removesuffix(".py"): path for path in _modules(plan)}
    for item in graph.third_party.values():
        here = by_name.get(item.module.split(".")[0])
        if here is None or found.names & set(distributions(item.module)):
            imported.append(item)
            continue
        module = here.removesuffix(".py").replace("/", ".")
        message = _(
            "imports {module}, which is {here} in the workspace; only the root is searched on the service"
        ).format(module=item.module, here=here)
        yield SourceProblem(
            item.path,
            item.line,
            item.col,
            message,
            "import-path",
            advice=_("Import it as {module}.").format(module=module),
        )
    yield from check(found, imported, uses_tracing=graph.uses_tracing)


def _modules(plan: PackagePlan) -> Iterator[str]:
    """Module files below the root; a package counts under the name of its directory."""
    for entry in plan.entries:
        if entry.path.endswith("/__init__.py"):
            yield entry.path.removesuffix("/__init__.py")
        elif entry.path.endswith(".py") and "/" in entry.path:
            yield entry.path
